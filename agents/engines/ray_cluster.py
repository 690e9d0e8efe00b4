"""The Ray that a run works on: one that is there already, or one that is started on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Ray asks a server for usage statistics by default; a training run talks to nobody unasked.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import grpc
import ray

from configs.errors import InputError

OBJECT_STORE_BYTES = 256 << 20
"""Of a Ray that is started here: rollouts are small, and containers have little shared memory."""

CONNECT_S = 5.0
"""How long a cluster may take to answer."""


def not_started(error: Exception) -> InputError:
    """Return what to tell whose machine was too busy, or too full, for Ray to start on it."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    advice = "end other work here and try again, or name a Ray that runs already by --ray (ray start --head)"
    return InputError(f"Ray did not start on this machine: {reason}; {advice}")


def quieten() -> None:
    """Keep Ray's advice to its developers, such as which of its interfaces is new, from the terminal."""
    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


def start_ray(address: str | None) -> None:
    """Connect to the cluster at ``address``, or start Ray on this machine, unless Ray runs already.

    Raises:
        InputError: the cluster does not answer, or Ray does not start here.
    """
    if ray.is_initialized():
        return
    quieten()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        # Processes that learn together need no other machine, nor a name of this one that is an address.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        try:
            ray.init("local", include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES, **quiet)
        except Exception as error:  # where a process of Ray's is late it raises just that
            raise not_started(error) from None
        return
    _require_cluster(address)
    try:
        ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"--ray: {address}: no cluster there: {error}") from None


@contextmanager
def running(address: str | None) -> Iterator[None]:
    """Have Ray run as `start_ray` does; one that was started for this is ended afterwards."""
    ours = not ray.is_initialized()
    start_ray(address)
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def _require_cluster(address: str) -> None:
    """Check that something at ``address``, ``[ray://]host:port``, speaks gRPC: Ray would try for minutes.

    Raises:
        InputError: nothing does.
    """
    where = address.removeprefix("ray://")
    host, colon, port = where.rpartition(":")
    if not colon or not port.isdigit():
        return  # "auto" and the like, which Ray knows how to look up
    if not host or int(port) >= 1 << 16:
        raise InputError(f"--ray: {address}: must be HOST:PORT")
    with grpc.insecure_channel(where) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=CONNECT_S)
        except grpc.FutureTimeoutError:
            raise InputError(
                f"--ray: {address}: no cluster there: no answer within {CONNECT_S:g} s"
            ) from None
