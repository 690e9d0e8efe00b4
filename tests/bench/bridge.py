"""Cost of control on the live kernel, and how soon decisions take effect.

Counts all CPU time: both ends of a flow, the daemon, and the kernel's packet threads.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from leogym.common import digests
from leogym.kernel_bridge.bridge.process import BridgeProcess, missing
from tests.bench.row import Row
from tests.support.lateness import Lateness
from tests.support.veth import SERVER, Pair

TRAINED = Path("agents/trained/astraea/policy")
"""Its networks control the measured flow, as in an evaluation."""
FIXTURE = Path("core/control/tests/fixtures/perceptron")
INTERVAL_MS = 20
ROUNDS = 5
SECONDS = 2.0
GROW_S = 3.0
"""Time for the policy to open its window before measuring."""
BEGUN_BYTES = 10_000
FIRST = ("nice", "-n", "-20")
LEAST_OF_CUBICS = 0.95
MANY = 200
LATEST_MS = 1.0
LATEST_OF_MANY_MS = 5.0
LATENCY_S = 8
CUBIC = "the kernel's Cubic, in turns"


@dataclass(frozen=True)
class _Moved:
    gbit_per_cpu_s: float
    gbit_per_s: float


def rows() -> Iterator[Row]:
    """Yield throughput relative to Cubic's (more is better) and lateness of decisions (less is better)."""
    if (lack := missing()) is not None:
        print(f"bench: bridge: skipped: {lack}", file=sys.stderr)
        return
    yield from _throughput()
    yield from _latency(1)
    yield from _latency(MANY)


def _throughput() -> Iterator[Row]:
    """Yield medians of a controlled flow and one without an agent, measured in turns with Cubic."""
    lead_s = {"cubic": 0.0, "leo_steered": GROW_S, "leo_fallback": 0.0}
    moved: dict[str, list[_Moved]] = {scheme: [] for scheme in lead_s}
    with (
        tempfile.TemporaryDirectory() as folder,
        Pair() as pair,
        BridgeProcess({"leo_steered": _opening(Path(folder)), "leo_fallback": None}) as bridge,
    ):
        for turn in range(ROUNDS):
            # Rotate the order.
            order = list(lead_s)[turn % 3 :] + list(lead_s)[: turn % 3]
            for scheme in order:
                moved[scheme].append(_flow(pair, scheme, lead_s[scheme], [bridge.pid]))
    for figure, unit, bar in (
        ("gbit_per_cpu_s", "Gbit/CPU s", LEAST_OF_CUBICS),
        ("gbit_per_s", "Gbit/s", None),
    ):
        median = {
            scheme: statistics.median(getattr(run, figure) for run in runs) for scheme, runs in moved.items()
        }
        name = "throughput" if bar else "goodput-cpu-bound"
        for scheme in ("leo_steered", "leo_fallback"):
            bench = f"bridge.{name}-{scheme.removeprefix('leo_')}"
            yield Row(bench, median[scheme], unit, median["cubic"], CUBIC, bar)


def _opening(folder: Path) -> Path:
    """Return a policy with `TRAINED`'s networks that always opens its window.

    The trained one, trained on milliseconds, closes it on a path of microseconds, which is no cost of the
    bridge.
    """
    policy = folder / "policy"
    shutil.copytree(TRAINED, policy)
    model = onnx.load(policy / "policy.onnx")
    *_, weight, bias = model.graph.initializer
    for tensor, value in ((weight, 0.0), (bias, 10.0)):
        tensor.CopyFrom(numpy_helper.from_array(np.full(list(tensor.dims), value, np.float32), tensor.name))
    onnx.save(model, policy / "policy.onnx")
    (policy / digests.NAME).unlink()  # of the original
    return policy


def described(policy: Path, folder: Path, **entries: Any) -> Path:
    """Return a copy of ``policy`` in ``folder`` with other entries in policy.json; None drops one."""
    copy = folder / "policy"
    shutil.copytree(policy, copy)
    description = json.loads((copy / "policy.json").read_text()) | entries
    text = json.dumps({name: value for name, value in description.items() if value is not None})
    (copy / "policy.json").write_text(text)
    (copy / digests.NAME).unlink(missing_ok=True)  # of the original
    return copy


def _flow(pair: Pair, scheme: str, lead_s: float, daemons: Sequence[int]) -> _Moved:
    """Return a bulk flow's progress in `SECONDS`, from ``lead_s`` after its start."""
    with pair.transfer(scheme, FIRST) as ends:
        idle_bytes = pair.received_bytes()
        while (before_bytes := pair.received_bytes()) < idle_bytes + BEGUN_BYTES:
            if (status := ends[0].poll()) is not None:
                raise RuntimeError(f"{scheme}: the sender ended with {status}")
        time.sleep(lead_s)
        processes = [*(end.pid for end in ends), *daemons, *_softirq_threads()]
        before_bytes = pair.received_bytes() if lead_s else before_bytes
        before_ns, before_s = ran_ns(processes), time.monotonic()
        time.sleep(SECONDS)
        gbit = (pair.received_bytes() - before_bytes) * 8e-9
        cpu_s, wall_s = (ran_ns(processes) - before_ns) / 1e9, time.monotonic() - before_s
    return _Moved(gbit / cpu_s, gbit / wall_s)


def _softirq_threads() -> list[int]:
    rows = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (folder / "cmdline").exists():
            try:
                if (folder / "comm").read_text().startswith("ksoftirqd/"):
                    rows.append(int(folder.name))
            except OSError:
                continue
    return rows


def ran_ns(processes: Sequence[int]) -> int:
    """Return the CPU time in ns of processes and their threads (proc(5), schedstat)."""
    files = [file for pid in processes for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(file.read_text().split()[0]) for file in files)


def _latency(flows: int) -> Iterator[Row]:
    """Yield the 99th percentile of the delay until the kernel has a policy's decision and until it is in use.

    A decision is in use with the first ACK or attempt to send under the new window and pacing. A flow without
    data delays that, so the limit applies only to a backlogged flow.
    """
    with tempfile.TemporaryDirectory() as folder:
        policy = described(FIXTURE, Path(folder), interval_ms=INTERVAL_MS)
        machine = Lateness(prompt=True)
        with (
            Pair() as pair,
            BridgeProcess({"leo_bench": policy}) as bridge,
            bridge.client() as client,
            machine,
        ):
            running = streams(pair, "leo_bench", flows)
            for processes in running:
                finish(processes)
            status = client.status()["schemes"][0]
    if status["too_late"]:
        print(f"bench: bridge: {status['too_late']}", file=sys.stderr)
    of_flows = f"p99-{flows}-flow{'s' * (flows > 1)}"
    in_kernel_ms, in_use_ms = (status[name][1] / 1e3 for name in ("commanded_us", "applied_us"))
    intervals = f"the most that is allowed; {INTERVAL_MS} ms intervals"
    if flows == 1:
        yield Row(f"bridge.in-use-{of_flows}", in_use_ms, "ms", LATEST_MS, intervals, 1.0, True)
    else:
        name = f"bridge.in-kernel-{of_flows}"
        yield Row(name, in_kernel_ms, "ms", LATEST_OF_MANY_MS, intervals, 1.0, True)
    slept = "how late the machine woke a real-time loop meanwhile, 99th percentile"
    yield Row(f"bridge.in-use-{of_flows}-of-wake-up", in_use_ms, "ms", machine.quantile_ms(0.99), slept)


def streams(pair: Pair, scheme: str, flows: int) -> list[list[subprocess.Popen[str]]]:
    """Start ``flows`` of iperf3 for `LATENCY_S`: one as fast as it can, or many of 2 Mbit/s."""
    # iperf3 starts at most 128 streams; 2 Mbit/s each leave the machine idle time.
    parts = [flows] if flows <= 100 else [100] * (flows // 100)
    rate = ["--bitrate", "2M"] if flows > 1 else []
    line = ["--congestion", scheme, "--time", str(LATENCY_S), *rate]
    return [_iperf3(pair, 5300 + part, *line, "--parallel", str(number)) for part, number in enumerate(parts)]


def _iperf3(pair: Pair, port: int, *arguments: str) -> list[subprocess.Popen[str]]:
    server = subprocess.Popen(
        # No interval lines: those of 100 streams would fill the pipe, which is not read meanwhile.
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


def finish(processes: list[subprocess.Popen[str]]) -> None:
    server, client = processes
    result = json.loads(client.communicate()[0])
    server.communicate()
    if "error" in result:
        raise RuntimeError(f"iperf3: {result['error']}")
