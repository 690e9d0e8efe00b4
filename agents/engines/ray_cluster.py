"""The Ray cluster of a training: an existing one, or one started on this machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from leogym.agents.training.run_folder import RunFolder
from leogym.common.cluster import joining

OBJECT_STORE_BYTES = 256 << 20
"""For a Ray started here: rollouts are small, and containers have little shared memory."""
PACKAGES = ("numpy", "scipy", "torch", "gymnasium")
"""Distributions besides leogym and leosim whose versions can change what is learned."""


@contextmanager
def running(
    address: str | None,
    *,
    resume: str | Callable[[], str] = "start again",
    folder: Path | None = None,
    feature: str = "--engine rllib",
) -> Iterator[None]:
    """Join the cluster at ``address``, or start Ray on this machine, as `joining.joined` does.

    Args:
        address: as for ``--ray``; None starts Ray on this machine.
        resume: how to continue after the cluster has failed.
        folder: an existing folder that all nodes must see.
        feature: what needs Ray, for the message if Ray is not installed.
    """
    with joining.joined(
        address or joining.LOCAL,
        resume=resume,
        packages=PACKAGES,
        folder=folder,
        feature=feature,
        store_bytes=OBJECT_STORE_BYTES,
    ):
        yield


def how_to_resume(run: RunFolder) -> str:
    """Return how to continue ``run`` after its cluster has failed."""
    latest = run.latest_checkpoint()
    if latest is None:
        return "there is no checkpoint yet: start again"
    return f"--resume continues from {int(latest.name):,} steps"
