"""What steering costs on the live kernel, and how soon a decision holds there."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_bridge.bridge_process import BridgeProcess, missing
from kernel_bridge.client import Bridge, Report
from kernel_bridge.veth import SERVER, Pair
from tests.bench.row import Row

POLICY = Path("core/control/tests/fixtures/perceptron")
INTERVAL_MS = 20
ROUNDS = 7
SECONDS = 2
WINDOW_PACKETS = 4000
"""As many as Cubic has out on such a pair: fewer would be kinder to the caches."""
MANY = 200
FIRST = ("nice", "-n", "-20")
"""So that other work on the machine counts as little as it can."""
MUST_HOLD_P99_MS = {1: 1.0, MANY: 5.0}


def _iperf3(pair: Pair, port: int, *arguments: str) -> list[subprocess.Popen[str]]:
    """Start a server and, once it listens, a client; return both."""
    server = subprocess.Popen(
        # Without lines for intervals: those of 100 streams would fill the pipe that nobody reads meanwhile.
        pair.inside(
            1, *FIRST, "iperf3", "--server", "--one-off", "--port", str(port), "--forceflush", "-i", "0"
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    while "listening" not in server.stdout.readline():
        pass
    client = pair.inside(0, *FIRST, "iperf3", "--client", SERVER, "--port", str(port), "--json", *arguments)
    return [server, subprocess.Popen(client, stdout=subprocess.PIPE, text=True)]


def _finished(processes: list[subprocess.Popen[str]]) -> dict:
    _, client = processes
    result = json.loads(client.communicate()[0])
    processes[0].communicate()
    if "error" in result:
        raise RuntimeError(f"iperf3: {result['error']}")
    return result["end"]


def gbit_per_cpu_s(pair: Pair, scheme: str) -> float:
    """Return Gbit moved per second of processor time, both ends together: other work does not count."""
    end = _finished(_iperf3(pair, 5201, "--congestion", scheme, "--time", str(SECONDS)))
    used = end["cpu_utilization_percent"]
    busy_s = SECONDS * (used["host_total"] + used["remote_total"]) / 100
    return end["sum_received"]["bytes"] * 8e-9 / busy_s


@contextmanager
def _held(bridge: BridgeProcess, scheme: str) -> Iterator[None]:
    """Answer every report as an agent would that keeps its window: the window, paced over a smoothed RTT."""
    over = threading.Event()

    def answer(client: Bridge) -> None:
        while not over.is_set():
            message = client.message(0.1)
            if isinstance(message, Report):
                rtt_s = max(message["srtt_us"], 1.0) / 1e6
                rate = WINDOW_PACKETS * message["mss_bytes"] / rtt_s
                client.command(message.flow, WINDOW_PACKETS, int(rate))

    with bridge.client() as client:
        client.subscribe(scheme, interval_ms=INTERVAL_MS)
        thread = threading.Thread(target=answer, args=(client,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _throughput() -> Iterator[Row]:
    """Yield steered and fallen-back flows beside Cubic; schemes take turns, the median counts."""
    measured: dict[str, list[float]] = {"cubic": [], "leo_steered": [], "leo_fallback": []}
    with (
        Pair() as pair,
        BridgeProcess({"leo_steered": None, "leo_fallback": None}) as bridge,
        _held(bridge, "leo_steered"),
    ):
        for _ in range(ROUNDS):
            for scheme, values in measured.items():
                values.append(gbit_per_cpu_s(pair, scheme))
    cubic = statistics.median(measured.pop("cubic"))
    for scheme, against in (
        ("leo_steered", "the kernel's Cubic; must hold 0.95"),
        ("leo_fallback", "the kernel's Cubic"),
    ):
        name = f"bridge.throughput-{scheme.removeprefix('leo_')}"
        yield Row(name, statistics.median(measured[scheme]), "Gbit/CPU s", cubic, against)


def _latency(flows: int) -> Row:
    """Return how late the 99th percentile of a policy's decisions was in the kernel's hands.

    From then on each attempt to send obeys; when the next one comes is the flow's own affair.
    """
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy"
        shutil.copytree(POLICY, policy)
        description = json.loads((policy / "policy.json").read_text())
        (policy / "policy.json").write_text(json.dumps({**description, "interval_ms": INTERVAL_MS}))
        with Pair() as pair, BridgeProcess({"leo_bench": policy}) as bridge, bridge.client() as client:
            # iperf3 starts at most 128 streams; 2 Mbit/s each leave the machine some air.
            parts = [flows] if flows <= 100 else [100] * (flows // 100)
            rate = ["--bitrate", "2M"] if flows > 1 else []
            line = ["--congestion", "leo_bench", "--time", "8", *rate]
            running = [
                _iperf3(pair, 5300 + part, *line, "--parallel", str(streams))
                for part, streams in enumerate(parts)
            ]
            for processes in running:
                _finished(processes)
            status = client.status()["schemes"][0]
    if status["too_late"]:
        print(f"bench: bridge: {status['too_late']}", file=sys.stderr)
    name = f"bridge.interval-end-to-kernel-p99-{flows}-flow{'s' * (flows > 1)}"
    against = f"must hold, at most; {INTERVAL_MS} ms intervals"
    return Row(name, status["commanded_us"][1] / 1e3, "ms", MUST_HOLD_P99_MS[flows], against)


def rows() -> Iterator[Row]:
    """Yield throughput against Cubic, more is better, and how late decisions were, less is better."""
    if (lack := missing()) is not None:
        print(f"bench: bridge: skipped: {lack}", file=sys.stderr)
        return
    yield from _throughput()
    for flows in (1, MANY):
        yield _latency(flows)
