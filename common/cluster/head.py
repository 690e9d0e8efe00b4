"""Ask the head of a Ray cluster, with a deadline: Ray's own calls wait for minutes if it does not answer."""

from dataclasses import dataclass
from typing import Any

import grpc
import ray
from ray._private import services
from ray._private.grpc_utils import init_grpc_channel
from ray.core.generated import gcs_service_pb2
from ray.exceptions import AuthenticationError

from leogym.common.errors import InputError

REPLY_TIMEOUT_S = 5.0
"""Deadline of a call to the head."""
CLIENT = "ray://"
NO_TOKEN = (
    "the cluster rejects this token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH "
    "as on its head"
)


@dataclass(frozen=True)
class Node:
    """A living node."""

    id: str
    """In hexadecimal digits."""
    address: str
    """IP address."""
    cpus: int


def resolved(address: str) -> str:
    """Return HOST:PORT for an address as for `ray.init`: HOST:PORT, ray://HOST:PORT, or auto.

    Raises:
        InputError: the address is not valid, or ``auto`` finds no cluster.
    """
    where = address.removeprefix(CLIENT)
    if address == "auto":
        try:
            resolved_address = services.canonicalize_bootstrap_address("auto")
        except (ConnectionError, ValueError) as error:
            raise InputError(f"--ray: auto: {first_line(error)}") from None
        if resolved_address is None:
            raise InputError("--ray: auto: no cluster runs on this machine: ray start --head starts one")
        return resolved_address
    host, _, port = where.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise InputError(f"--ray: {address}: must be HOST:PORT, ray://HOST:PORT, auto or local")
    if address.startswith(CLIENT):
        return where
    # As Ray does: for 127.0.0.1 it takes this machine's own address.
    return services.canonicalize_bootstrap_address(where) or where


class Head:
    """The head at HOST:PORT."""

    def __init__(self, where: str) -> None:
        self._channel: Any = init_grpc_channel(where)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def require(self, address: str) -> None:
        """Check that a head of our version of Ray answers and accepts our token.

        Raises:
            InputError: it does not; the message has the address as the user gave it.
        """
        try:
            version = self._call("CheckAlive").ray_version
        except AuthenticationError:
            raise InputError(f"--ray: {address}: {NO_TOKEN}") from None
        except grpc.RpcError as error:
            raise InputError(f"--ray: {address}: {_reason(error)}") from None
        if version and version != ray.__version__:
            raise InputError(
                f"--ray: {address}: the cluster runs Ray {version}, here is {ray.__version__}: "
                "install the same version"
            )

    def nodes(self) -> list[Node]:
        """Return the living nodes.

        Raises:
            ConnectionError: the head does not answer; one line says why.
        """
        try:
            reply = self._call("GetAllNodeInfo")
        except (grpc.RpcError, AuthenticationError) as error:
            reason = _reason(error) if isinstance(error, grpc.RpcError) else NO_TOKEN
            raise ConnectionError(reason) from None
        return [
            Node(node.node_id.hex(), node.node_manager_address, int(node.resources_total.get("CPU", 0)))
            for node in reply.node_info_list
            if node.state == node.ALIVE
        ]

    def _call(self, name: str) -> Any:
        request, reply = (getattr(gcs_service_pb2, f"{name}{kind}") for kind in ("Request", "Reply"))
        ask = self._channel.unary_unary(
            f"/ray.rpc.NodeInfoGcsService/{name}",
            request_serializer=request.SerializeToString,
            response_deserializer=reply.FromString,
        )
        return ask(request(), timeout=REPLY_TIMEOUT_S)


def require_listening(where: str, address: str) -> None:
    """Check that a server of gRPC, which Ray's client talks to, listens at HOST:PORT; else `InputError`."""
    channel: Any = init_grpc_channel(where)
    try:
        grpc.channel_ready_future(channel).result(timeout=REPLY_TIMEOUT_S)
    except grpc.FutureTimeoutError:
        raise InputError(f"--ray: {address}: no cluster answers within {REPLY_TIMEOUT_S:g} s") from None
    finally:
        channel.close()


def _reason(error: grpc.RpcError) -> str:
    """Return why a call failed, and the remedy."""
    code, details = error.code(), str(error.details() or "")  # type: ignore[attr-defined]
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return NO_TOKEN
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"no cluster answers within {REPLY_TIMEOUT_S:g} s"
    if code == grpc.StatusCode.UNIMPLEMENTED:
        return "answers, but is not the head of a cluster: name the head's port, 6379 by default"
    if code == grpc.StatusCode.UNAVAILABLE and "HTTP/2" in details:
        return "answers, but is not Ray: name the head's port, 6379 by default"
    reason = details.rpartition("last error: ")[2].rpartition(": ")[2] or code.name
    return f"no cluster answers: {reason}"


def first_line(error: BaseException) -> str:
    """Return an error's first line, without its full stop."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
