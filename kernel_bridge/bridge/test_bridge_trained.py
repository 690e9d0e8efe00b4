"""The project's trained Astraea in the daemon, on real TCP over a path within its training ranges."""

import itertools
from pathlib import Path

import pytest

from leogym import agents
from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.bridge.client import Report
from leogym.kernel_bridge.bridge.process import BridgeProcess
from tests.support.bridge_world import MSS, SCHEME, Listening, iperf3, needs_bridge, needs_mahimahi
from tests.support.lateness import Lateness

pytestmark = pytest.mark.real_time

TRAINED = Path(agents.__file__).parent / "trained/astraea/policy"
INTERVAL_NS = 30_000_000  # the policy's interval (policy.json: interval_ms)
LATE_MS = 20.0  # a shell that sleeps for so long makes the RTT of 40 ms half as long again
OFTEN_LATE_MS = 1.0
"""Such jitter looks like a queue and the policy backs off: in the simulator, 1 ms costs a third of the
throughput on this path. mm-leo has the same limit."""


@needs_bridge
@needs_mahimahi
def test_trained_astraea_uses_a_real_path_and_leaves_most_of_its_queue_empty(tmp_path):
    seconds, skip, one_way_ms, capacity_mbps = 10, 6, 20, 48 * MSS / 1504
    trace = tmp_path / "48.trace"
    trace.write_text("1\n1\n1\n1\n")  # four opportunities a millisecond: 48 Mbit/s, a BDP of 160 packets
    queue = mahimahi.Queue("droptail", {"packets": 640})
    reports = []

    def hear(message):
        if isinstance(message, Report):
            reports.append(message)

    lateness = Lateness(prompt=False)
    with BridgeProcess({SCHEME: TRAINED}) as bridge, bridge.client() as client:
        with Listening(bridge.address, hear), lateness:
            iperf3([mahimahi.Delay(one_way_ms), mahimahi.Link(trace, trace, queue, queue)], seconds)
        (status,) = client.status()["schemes"]
    assert status["controller"] == "policy"
    # Leave out the other end of iperf3's connection, which sends hardly any data.
    data = [report for report in reports if report["delivered_bytes"] > 10 * MSS]
    late = [report for report in data if skip < report["time_ns"] / 1e9 < seconds]
    mbps = 8 * sum(report["delivered_bytes"] for report in late) / 1e6 / (seconds - skip)
    samples = sum(report["rtt_samples"] for report in late)
    rtt_ms = sum(report["avg_rtt_us"] * report["rtt_samples"] for report in late) / samples / 1e3
    window = late[-1]["cwnd_packets"]
    print(f"{mbps:.2f} of {capacity_mbps:.2f} Mbit/s, RTT {rtt_ms:.1f} ms, window {window} packets")
    lateness.skip_above(LATE_MS, often_ms=OFTEN_LATE_MS)
    # The rate may still be growing, by less than 2.5 % an interval.
    assert 0.4 * capacity_mbps < mbps < 1.05 * capacity_mbps
    # A full queue would make the RTT 200 ms.
    assert rtt_ms < 100
    # Only actions move the window, by at most 2.5 % or one packet. `late` lacks reports without deliveries.
    for before, after in itertools.pairwise(late):
        low = high = before["cwnd_packets"]
        for _ in range(max(1, round((after["time_ns"] - before["time_ns"]) / INTERVAL_NS))):
            low, high = low / 1.025 - 1, high * 1.025 + 1
        assert low <= after["cwnd_packets"] <= high
