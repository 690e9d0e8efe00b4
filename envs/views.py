"""Copies and pickles of objects that hold views of a batch's arrays."""

from typing import Any, ClassVar


class Viewing:
    """An object with attributes that are views of a batch's arrays.

    A copy has a separate batch, so it takes these attributes from that batch.
    """

    _VIEWS: ClassVar[tuple[str, ...]]
    """Names of the attributes that `_set_views` sets. They are listed because reading ``__dict__`` in the
    constructor slows down every later access to attributes."""

    def _set_views(self) -> None:
        """Set the attributes that are views."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes but the views."""
        return {name: value for name, value in self.__dict__.items() if name not in self._VIEWS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over ``state`` and the views of its batch."""
        for name, value in state.items():
            setattr(self, name, value)
        self._set_views()
