"""Join a Ray cluster, or start Ray on this machine, for the time of a block."""

import logging
import os
import platform
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leogym.common import extras
from leogym.common.errors import InputError

if TYPE_CHECKING:  # importing Ray takes seconds
    from leogym.common.cluster.watched import Cluster

LOCAL = "local"
"""The address that starts Ray on this machine."""

_joined: "Cluster | None" = None


def current() -> "Cluster":
    """Return the cluster of the enclosing `joined`."""
    assert _joined is not None
    return _joined


@contextmanager
def joined(
    address: str | None,
    *,
    resume: str | Callable[[], str],
    packages: Sequence[str] = (),
    folder: Path | None = None,
    feature: str = "--ray",
    store_bytes: int | None = None,
) -> Iterator[None]:
    """Join the cluster at ``address``, as for `ray.init`, and leave it afterwards; None: none.

    ``local`` starts Ray on this machine. Nested in another `joined`, this does nothing, because joining takes
    seconds.

    While the block runs, nodes that join are checked, and the head is watched. If the head is lost or a node
    differs, an exception in the main thread ends the block.

    Args:
        address: HOST:PORT, ray://HOST:PORT, auto or local.
        resume: how to continue after the cluster has failed, for the message.
        packages: distributions whose versions determine results, besides leogym and leosim.
        folder: an existing folder that all nodes must see.
        feature: what needs Ray, for the message if Ray is not installed.
        store_bytes: the object store of a Ray started here; by default Ray chooses.

    Raises:
        InputError: no cluster answers, Ray does not start here, a node differs, or the cluster fails.
    """
    global _joined
    if address is None or _joined is not None:
        yield
        return
    # By default Ray sends usage statistics to a server.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # gRPC reports each connection that the other side closes.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    with extras.needed_by(feature):
        import grpc  # noqa: F401
        import ray
    from leogym.common.cluster import messages
    from leogym.common.cluster.watched import Cluster

    with ExitStack() as leaving:
        cluster = Cluster(address, resume)
        leaving.callback(cluster.cancel_exit)
        try:
            leaving.enter_context(messages.shortened())
            if not ray.is_initialized():
                _start(address, store_bytes, leaving)
            cluster.open()
            leaving.callback(cluster.close)
            leaving.callback(_leave)
            _joined = cluster
            with cluster.watched(packages, folder):
                yield
        except BaseException:
            if cluster.fault is None:
                raise
        if cluster.fault is not None:
            raise InputError(cluster.fault) from None


def _leave() -> None:
    global _joined
    _joined = None


def _start(address: str, store_bytes: int | None, leaving: ExitStack) -> None:
    """Join the cluster or start Ray here; ``leaving`` leaves it."""
    import ray

    from leogym.common.cluster.head import CLIENT, Head, require_listening, resolved
    from leogym.common.cluster.reaper import Reaper

    silence_ray()
    options: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "configure_logging": False,
    }
    if address == LOCAL:
        # Use loopback for Gloo: learners on one machine must not depend on resolving its host name.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        options |= {"include_dashboard": False, "object_store_memory": store_bytes}
        where, reaper = LOCAL, Reaper()
        leaving.callback(reaper.end)
    else:
        where, reaper = resolved(address), None
        if address.startswith(CLIENT):
            require_listening(where, address)
            where = address  # with ray://
        else:
            head = Head(where)
            try:
                head.require(address)
            finally:
                head.close()
    leaving.callback(ray.shutdown)
    with _signal_handlers_kept():
        try:
            ray.init(where, **options)
        except Exception as error:  # Ray raises a plain Exception when one of its processes is late
            raise _not_joined(address, error) from None
    if reaper is not None:
        reaper.settle()


def silence_ray() -> None:
    """Silence Ray's developer warnings, such as those about its new interfaces."""
    for name in ("ray", "ray.rllib", "ray.tune"):
        logging.getLogger(name).setLevel(logging.ERROR)


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Restore this process's handlers afterwards: Ray's own exits with status 15 and prints a stack."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in numbers if in_main_thread}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _not_joined(address: str, error: Exception) -> InputError:
    """Return the error to raise when Ray does not start or the cluster does not let us join."""
    import ray
    from ray.exceptions import AuthenticationError

    from leogym.common.cluster.head import NO_TOKEN, first_line

    text, reason = str(error), first_line(error)
    if address == LOCAL:
        advice = "end other work here and try again, or name a running cluster with --ray (ray start --head)"
        return InputError(f"Ray did not start on this machine: {reason}; {advice}")
    if isinstance(error, AuthenticationError):
        return InputError(f"--ray: {address}: {NO_TOKEN}")
    if "ersion" in text and (versions := re.findall(r"(Ray|Python):? (\d[\w.]*)", text)):
        there = " and ".join(f"{name} {version}" for name, version in versions[:2])
        here = f"Ray {ray.__version__} and Python {platform.python_version()}"
        return InputError(
            f"--ray: {address}: the cluster runs {there}, here are {here}: install the same versions"
        )
    if "expects this IP address" in text:
        reason = (
            f"this machine is not a node of the cluster: run ray start --address={address} here, "
            "or use ray://HOST:10001"
        )
        return InputError(f"--ray: {address}: {reason}")
    return InputError(f"--ray: {address}: no cluster answers: {reason}")
