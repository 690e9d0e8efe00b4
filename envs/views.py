"""Copies and pickles of objects that hold views of a batch's arrays."""

from typing import Any


class Viewing:
    """An object with attributes that are views of a batch's arrays.

    A copy has a batch of its own, so it takes these attributes from that one.
    """

    def _set_views(self) -> None:
        """Set the attributes that are views."""
        raise NotImplementedError

    def _take_views(self) -> None:
        others = set(self.__dict__)
        self._set_views()
        self._viewed = frozenset(self.__dict__.keys() - others)

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes but the views."""
        left_out = {*self._viewed, "_viewed"}
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over ``state`` and the views of its batch."""
        self.__dict__.update(state)
        self._take_views()
