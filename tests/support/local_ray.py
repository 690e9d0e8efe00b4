"""A Ray on this machine for all tests with the mark ``local_ray``: each start takes 4 s of a core.

A command that joins ``local`` uses the Ray of its process and leaves it running. Tests of the start itself
lack the mark.
"""

import os
from contextlib import ExitStack

import pytest

MARKS = (pytest.mark.slow, pytest.mark.local_ray, pytest.mark.xdist_group("ray"))

_started = ExitStack()


def start() -> None:
    """Start Ray unless it runs."""
    import ray  # imported here: it takes seconds

    from leogym.agents.engines.ray_cluster import OBJECT_STORE_BYTES
    from leogym.common.cluster import joining

    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # as `joining.joined` does
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
        joining._start(joining.LOCAL, OBJECT_STORE_BYTES, _started)


def stop() -> None:
    """Stop what `start` started."""
    _started.close()
