"""Optional packages, and the extra of leogym that installs each."""

from collections.abc import Iterator
from contextlib import contextmanager

from leogym.common.errors import InputError

EXTRAS = {
    "grpc": ("Ray", "rllib"),
    "itur": ("ITU-Rpy", "weather"),
    "onnx": ("ONNX", "train"),
    "ray": ("Ray", "rllib"),
    "sb3_contrib": ("SB3-Contrib", "sb3"),
    "stable_baselines3": ("Stable-Baselines3", "sb3"),
    "tensorboard": ("TensorBoard", "train"),
    "torch": ("PyTorch", "train"),
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
        if isinstance(error, MissingPackageError) or (remedy := remedy_for(error)) is None:
            raise
        raise MissingPackageError(f"{feature}: {remedy}") from None


def remedy_for(error: ModuleNotFoundError) -> str | None:
    """Return which package is missing and the command that installs it; None for a module of no extra."""
    package = EXTRAS.get((error.name or "").partition(".")[0])
    if package is None:
        return None
    title, extra = package
    return f"needs {title}: {install(extra)}"


def install(extra: str) -> str:
    """Return the command that installs an extra of pyproject.toml."""
    return f"pip install 'leogym[{extra}]'"
