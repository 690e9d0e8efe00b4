"""mm-leo compared with mm-delay and mm-link: throughput, exactness of delay, and BBR's queueing.

Needs root, mahimahi, iperf3 and both cores.
"""

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.mahimahi import Delay, Link, Queue, Server
from leogym.kernel_bridge.mahimahi.shell import Shell
from leogym.kernel_bridge.shell import Leo, missing
from tests.bench.row import Row
from tests.support.lateness import Lateness

LEAST_OF_MAHIMAHIS = 0.95
"""Minimum share of mahimahi's throughput; on a fast machine both carry everything."""
MOST_OF_MAHIMAHIS_ERROR = 0.5
MOST_OF_WAKE_UPS = 4.0
"""Maximum delay error: each direction wakes two shells and crosses the kernel between them."""
MOST_OF_MAHIMAHIS_QUEUE = 1.0

MAHIMAHI = "mm-delay + mm-link, here and now"
WAKE_UP = "how late the machine woke a real-time loop meanwhile, 99th percentile"
LIMIT_S = 120

FAST_MBPS = 600
"""Above the requirement, and below a full core: a shell that cannot keep up gives no result."""
FAST_S, LEAD_S = 8, 3
RATE_MBPS, ONE_WAY_MS, BDP_PACKETS = 100, 25, 417
BBR_S, BBR_LEAD_S = 15, 5

PROBES, GAP_MS = 800, 5
SERIALIZATION_MS = 1500 * 8 / (RATE_MBPS * 1e3)

Floats = NDArray[np.float64]


def rows() -> Iterator[Row]:
    """Yield throughput (more is better), delay error and queueing (less is better)."""
    if (lack := missing() or mahimahi.missing()) is not None:
        print(f"bench: shell: left out: {lack}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield from _rows(Path(folder))


def _rows(folder: Path) -> Iterator[Row]:
    leo_mbps = throughput_mbps([Leo(delay_ms=10, rate_mbps=FAST_MBPS, options=("--queue-packets=4000",))])
    mahimahi_mbps = throughput_mbps([Delay(10), mahimahi_link(folder, FAST_MBPS, 4000)])
    yield Row("shell.throughput", leo_mbps, "Mbit/s", mahimahi_mbps, MAHIMAHI, LEAST_OF_MAHIMAHIS)

    trace, log = folder / "trace.csv", folder / "log"
    trace.write_text(varying_trace())
    with Lateness(prompt=True) as machine:
        error = delay_error_ms([Leo(trace, log=log)], lambda: traced_ms(trace, log))
    slept_ms = machine.quantile_ms(0.99)
    yield Row("shell.delay-error-p99-of-wake-up", error, "ms", slept_ms, WAKE_UP, MOST_OF_WAKE_UPS, True)
    link = mahimahi_link(folder, RATE_MBPS, BDP_PACKETS)
    fixed = delay_error_ms([Delay(ONE_WAY_MS), link], lambda: lambda times: np.full(len(times), ONE_WAY_MS))
    against = f"{MAHIMAHI}, at one fixed delay"
    yield Row("shell.delay-error-p99", error, "ms", fixed, against, MOST_OF_MAHIMAHIS_ERROR, True)

    leo = Leo(delay_ms=ONE_WAY_MS, rate_mbps=RATE_MBPS, options=(f"--queue-packets={BDP_PACKETS}",))
    leo_ms = queueing_ms([leo])
    mahimahi_ms = queueing_ms([Delay(ONE_WAY_MS), link])
    yield Row("shell.bbr-queueing", leo_ms, "ms", mahimahi_ms, MAHIMAHI, MOST_OF_MAHIMAHIS_QUEUE, True)


def throughput_mbps(shells: Sequence[Shell]) -> float:
    """Return one BBR flow's throughput after start-up, in Mbit/s of IP packets."""
    intervals = flow(shells, FAST_S)["intervals"][LEAD_S:]
    seconds = sum(interval["sum"]["seconds"] for interval in intervals)
    return sum(interval["sum"]["bytes"] for interval in intervals) * 1500 / 1448 * 8e-6 / seconds


def queueing_ms(shells: Sequence[Shell]) -> float:
    intervals = flow(shells, BBR_S, "--interval", "0.1")["intervals"]
    streams = [stream for interval in intervals for stream in interval["streams"]]
    rtt_ms = [stream["rtt"] / 1e3 for stream in streams if stream["start"] >= BBR_LEAD_S]
    return float(np.mean(rtt_ms)) - 2 * ONE_WAY_MS


def flow(shells: Sequence[Shell], duration_s: int, *options: str) -> dict:
    """Return iperf3's report of one BBR flow from inside the shells."""
    words = ["iperf3", "--json", "--congestion", "bbr", "--time", str(duration_s), *options]
    finished = mahimahi.run(
        shells,
        ["sh", "-c", f"exec {' '.join(words)} --client $MAHIMAHI_BASE"],
        servers=[Server(["iperf3", "--server", "--one-off"], 5201)],
        timeout_s=LIMIT_S,
    )
    report = json.loads(finished.stdout)
    if "error" in report:
        raise RuntimeError(f"iperf3: {report['error']}")
    return report


def delay_error_ms(shells: Sequence[Shell], expected: Callable[[], Callable[[Floats], Floats]]) -> float:
    """Return the 99th percentile error of both directions' delay against propagation and serialization.

    ``expected``, called after the run, gives propagation in ms at times in ns since the epoch.
    """
    # The user inside the shells can access /tmp, but not this file's folder.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        probe = Path(shutil.copy(Path(__file__).with_name("probe.py"), folder))
        probe.chmod(0o644)
        finished = mahimahi.run(
            shells,
            ["sh", "-c", f"exec python3 {probe} client $MAHIMAHI_BASE {PROBES} {GAP_MS}"],
            servers=[Server(["python3", str(probe), "server"], 7000)],
            timeout_s=LIMIT_S,
        )
    times = np.array(json.loads(finished.stdout), dtype=np.float64).reshape(-1, 2)
    sent, received = times.T
    error = (received - sent) / 1e6 - expected()(sent) - SERIALIZATION_MS
    return float(np.percentile(np.abs(error), 99))


def varying_trace() -> str:
    """Return a path trace whose delay varies between 20 and 30 ms in 0.1 s steps, like a LEO path's."""
    metadata = json.dumps({"format": "leogym-path-trace", "version": 1})
    columns = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event"
    rows = [
        f"{row / 10},{25 - 5 * math.cos(row / 50 * math.pi):.6f},{RATE_MBPS},{RATE_MBPS},0,1,0,"
        for row in range(101)
    ]
    return "\n".join([f"# {metadata}", columns, *rows]) + "\n"


def traced_ms(trace: Path, log: Path) -> Callable[[Floats], Floats]:
    """Return the trace's delay as a function of time since the epoch; the log has its start."""
    began_ns = json.loads(log.read_text().split("\n", 1)[0].removeprefix("# "))["began_unix_ns"]
    rows = [line.split(",") for line in trace.read_text().splitlines()[2:]]
    time_ns = np.array([float(row[0]) * 1e9 for row in rows])
    delay_ms = np.array([float(row[1]) for row in rows])

    def at(times: Floats) -> Floats:
        # A packet's delay is that of the time when its last bit leaves.
        left_ns = (times - began_ns + SERIALIZATION_MS * 1e6) % time_ns[-1]
        return delay_ms[np.searchsorted(time_ns, left_ns, side="right") - 1]

    return at


def mahimahi_link(folder: Path, rate_mbps: int, packets: int) -> Link:
    """Return mm-link at a constant rate with drop-tail queues in both directions."""
    path = folder / f"{rate_mbps}.trace"
    # 1 Mbit/s is a quarter of an opportunity (12,000 bits) per 3 ms.
    opportunities = rate_mbps * 3 // 12
    path.write_text("".join(f"{1 + index * 3 // opportunities}\n" for index in range(opportunities)))
    queue = Queue("droptail", {"packets": packets})
    return Link(path, path, queue, queue)
