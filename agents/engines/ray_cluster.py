"""The Ray cluster of a run: an existing one, or one started on this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# By default Ray sends usage statistics to a server.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import grpc
import ray

from leogym.configs.errors import InputError

OBJECT_STORE_BYTES = 256 << 20
"""For a Ray started here: rollouts are small, and containers have little shared memory."""

CONNECT_S = 5.0


def not_started(error: Exception) -> InputError:
    """Return the error to raise when Ray does not start, such as on a busy or full machine."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    advice = "end other work here and retry, or name a running cluster with --ray (ray start --head)"
    return InputError(f"Ray did not start on this machine: {reason}; {advice}")


def quieten() -> None:
    """Silence Ray's developer warnings, such as those about its new interfaces."""
    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


def start_ray(address: str | None) -> None:
    """Connect to the cluster at ``address`` or start Ray on this machine, unless Ray already runs.

    Raises:
        InputError: the cluster does not answer, or Ray does not start here.
    """
    if ray.is_initialized():
        return
    quieten()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        # Use loopback for Gloo: learners on one machine must not depend on resolving its host name.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        try:
            ray.init("local", include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES, **quiet)
        except Exception as error:  # Ray raises a bare Exception if one of its processes is late
            raise not_started(error) from None
        return
    _require_cluster(address)
    try:
        ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"--ray: {address}: no cluster there: {error}") from None


@contextmanager
def running(address: str | None) -> Iterator[None]:
    """Call `start_ray`; afterwards shut Ray down if this started it."""
    ours = not ray.is_initialized()
    start_ray(address)
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def _require_cluster(address: str) -> None:
    """Raise `InputError` unless ``address`` ([ray://]host:port) speaks gRPC: Ray would retry for minutes."""
    where = address.removeprefix("ray://")
    host, colon, port = where.rpartition(":")
    if not colon or not port.isdigit():
        return  # such as "auto", which Ray resolves
    if not host or int(port) >= 1 << 16:
        raise InputError(f"--ray: {address}: must be HOST:PORT")
    with grpc.insecure_channel(where) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=CONNECT_S)
        except grpc.FutureTimeoutError:
            raise InputError(
                f"--ray: {address}: no cluster there: no answer within {CONNECT_S:g} s"
            ) from None
