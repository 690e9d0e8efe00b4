"""Optional packages, and the extra of leogym that installs each."""

from collections.abc import Iterator
from contextlib import contextmanager

from leogym.configs.errors import InputError

EXTRAS = {
    "grpc": ("Ray", "rllib"),
    "itur": ("ITU-Rpy", "weather"),
    "ray": ("Ray", "rllib"),
    "sb3_contrib": ("SB3-Contrib", "sb3"),
    "stable_baselines3": ("Stable-Baselines3", "sb3"),
    "wandb": ("Weights & Biases", "tracking"),
}
"""Top-level module to the package's title and its extra in pyproject.toml."""


class MissingPackageError(InputError, ModuleNotFoundError):
    """An optional package is not installed; one line with the command that installs it."""


@contextmanager
def needed_by(feature: str) -> Iterator[None]:
    """Run a block that imports optional packages for ``feature``, such as ``--engine rllib``.

    Raises:
        MissingPackageError: a package of `EXTRAS` is missing. Other import errors pass.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        found = EXTRAS.get((error.name or "").partition(".")[0])
        if found is None:
            raise
        title, extra = found
        raise MissingPackageError(f"{feature}: needs {title}: pip install 'leogym[{extra}]'") from None
