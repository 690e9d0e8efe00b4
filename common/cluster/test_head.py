"""Addresses that are not, or do not let us join, a Ray cluster: one line each, within seconds."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

grpc = pytest.importorskip("grpc")
ray = pytest.importorskip("ray")

from ray.core.generated import gcs_service_pb2  # noqa: E402

from leogym.common.cluster import head, joining  # noqa: E402
from leogym.common.errors import InputError  # noqa: E402

Answer = Callable[[object, "grpc.ServicerContext"], object]


@contextmanager
def served(reply: Answer | None) -> Iterator[str]:
    """Serve the first call that a head gets with ``reply``, or no call at all; yield HOST:PORT."""
    server = grpc.server(ThreadPoolExecutor(1))
    if reply is not None:
        call = grpc.unary_unary_rpc_method_handler(
            reply,
            gcs_service_pb2.CheckAliveRequest.FromString,
            gcs_service_pb2.CheckAliveReply.SerializeToString,
        )
        service = grpc.method_handlers_generic_handler("ray.rpc.NodeInfoGcsService", {"CheckAlive": call})
        server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("0.0.0.0:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None)


def refused(address: str) -> str:
    with pytest.raises(InputError) as raised, joining.joined(address, resume=""):
        pass
    line = str(raised.value)
    assert "\n" not in line
    return line.removeprefix(f"--ray: {address}: ")


@pytest.fixture(autouse=True)
def _not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test of this process may have left a Ray that runs."""
    monkeypatch.setattr(joining, "_joined", None)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)


def test_a_rejected_token_is_named() -> None:
    def reject(request: object, context: "grpc.ServicerContext") -> None:
        # As Ray 2.60 answers with RAY_AUTH_MODE=token.
        context.abort(
            grpc.StatusCode.UNAUTHENTICATED,
            "InvalidAuthToken: Authentication token is missing or incorrect",
        )

    with served(reject) as address:
        assert refused(address) == (
            "the cluster rejects this token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or "
            "RAY_AUTH_TOKEN_PATH as on its head"
        )


def test_a_cluster_of_another_ray_is_named() -> None:
    def older(request: object, context: "grpc.ServicerContext") -> object:
        return gcs_service_pb2.CheckAliveReply(ray_version="2.9.0")

    with served(older) as address:
        assert refused(address) == (
            f"the cluster runs Ray 2.9.0, here is {ray.__version__}: install the same version"
        )


def test_a_cluster_of_another_python_is_named() -> None:
    error = RuntimeError(
        "Version mismatch: The cluster was started with:\n    Ray: 2.60.0\n    Python: 3.12.3\n"
        "This process on node 10.0.0.2 was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\n"
    )
    line = str(joining._not_joined("10.0.0.1:6379", error))
    assert line.startswith(
        "--ray: 10.0.0.1:6379: the cluster runs Ray 2.60.0 and Python 3.12.3, here are Ray "
    )
    assert line.endswith(": install the same versions")


def test_a_server_that_is_no_head_is_named() -> None:
    with served(None) as address:
        assert refused(address) == (
            "answers, but is not the head of a cluster: name the head's port, 6379 by default"
        )


def test_a_server_that_is_not_ray_is_named() -> None:
    with socket.create_server(("0.0.0.0", 0)) as web, ThreadPoolExecutor(1) as pool:

        def answer() -> None:
            connection, _ = web.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        pool.submit(answer)
        line = refused(f"127.0.0.1:{web.getsockname()[1]}")
    assert line == "answers, but is not Ray: name the head's port, 6379 by default"


def test_a_port_without_a_server_and_one_that_is_silent_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "REPLY_TIMEOUT_S", 0.3)
    with socket.socket() as mute:
        mute.bind(("0.0.0.0", 0))
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        assert refused(address) == "no cluster answers: Connection refused"
        assert refused(f"ray://{address}") == "no cluster answers within 0.3 s"
        mute.listen()
        assert refused(address) == "no cluster answers within 0.3 s"


@pytest.mark.parametrize("address", [":6379", "localhost:99999", "nonsense", "ray://", "host:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert refused(address) == "must be HOST:PORT, ray://HOST:PORT, auto or local"


def test_auto_without_a_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head.services, "canonicalize_bootstrap_address", lambda address: None)
    assert refused("auto") == "no cluster runs on this machine: ray start --head starts one"


def test_missing_tokens_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    error = ray.exceptions.AuthenticationError("Token authentication is enabled but there is no token")
    assert "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN" in str(joining._not_joined("10.0.0.1:6379", error))
