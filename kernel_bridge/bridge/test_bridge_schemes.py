"""The bridge's schemes on real TCP: the simulator's, SaTCP, and agents over Cubic."""

import itertools
import json
import shutil
import statistics

import pytest

from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.bridge.client import Opened, Report
from leogym.kernel_bridge.bridge.process import OVER_CUBIC, BridgeProcess
from tests.support.bridge_world import (
    LIMIT_S,
    MSS,
    POLICY,
    SCHEME,
    Listening,
    Steering,
    flow_of,
    flow_when,
    iperf3,
    needs_bridge,
    needs_mahimahi,
    over_12_mbps,
)
from tests.support.lateness import Lateness

pytestmark = pytest.mark.real_time

LATE_MS = 50.0  # a flow may time out if an end or shell sleeps for so long (Linux: 200 ms after a round trip)
QUEUE_MS = 10.0  # a delay-based scheme backs off if packets wait in a shell for so long
NO_THRESHOLD = 2**31 - 1  # TCP_INFINITE_SSTHRESH: no loss and no command has set a threshold yet


@needs_bridge
@needs_mahimahi
@pytest.mark.parametrize(("scheme", "least_mbps"), [("vivace", 1.3), ("vivace-proteus", 3), ("copa", 6)])
def test_a_scheme_of_the_simulators_uses_a_real_path_and_paces(scheme, least_mbps, tmp_path):
    seconds, skip, capacity_mbps = 6, 3, 12 * MSS / 1504
    messages = []
    lateness = Lateness(prompt=False)
    with BridgeProcess({SCHEME: scheme}, seed=1) as bridge, bridge.client() as client:
        with Listening(bridge.address, messages.append), lateness:
            iperf3(over_12_mbps(tmp_path), seconds)
        (status,) = client.status()["schemes"]
    assert status["controller"] == "scheme"
    reports = [message for message in messages if isinstance(message, Report)]
    late = [report for report in reports if skip < report["time_ns"] / 1e9 < seconds]
    # The other end of iperf3's connection sends hardly any data.
    delivered_bits = 8 * sum(report["delivered_bytes"] for report in late)
    mbps = 1e3 * delivered_bits / sum(report["interval_ns"] for report in late)
    print(f"{scheme}: {mbps:.2f} of {capacity_mbps:.2f} Mbit/s")
    lateness.skip_above(QUEUE_MS)
    # runner/test_laws.py has tighter bounds. Vivace-Latency reacts to every slope of the RTT: behind
    # mahimahi's clock of 1 ms it backs off to its minimum, 1.3 Mbit/s of whole packets.
    assert least_mbps * MSS / 1500 < mbps < 1.05 * capacity_mbps
    assert all(report["pacing_rate_bytes_per_s"] > 0 for report in late)
    # A scheme that probes rates does not hold one.
    assert len({report["pacing_rate_bytes_per_s"] for report in late}) > 5


class OnceSmaller(Listening):
    """Leave the window to Cubic, but command 20 packets from 100 on, until the window is smaller."""

    def __init__(self, address):
        super().__init__(address, self.answer, interval_ms=20)
        self.before, self.after = [], []
        """Reports before and from the first one with a smaller window than the last."""
        self.timeouts = 0
        self.commanded = False

    def answer(self, message):
        if not isinstance(message, Report):
            return
        if not self.after:
            # On a machine that stalls, a timeout may shrink the window instead.
            self.timeouts += sum(flow.timeouts for flow in self.bridge.flows())
        window = message["cwnd_packets"]
        fell = bool(self.before) and window < self.before[-1]["cwnd_packets"]
        (self.after if self.after or fell else self.before).append(message)
        # Repeat the command: another one might replace it before the connection takes a step.
        self.commanded |= window > 100
        self.bridge.command(message.flow, 20 if self.commanded and not self.after else 0)


@needs_bridge
@needs_mahimahi
def test_over_cubic_a_command_is_what_cubic_goes_on_from():
    lateness = Lateness(prompt=False)
    with BridgeProcess({SCHEME: OVER_CUBIC}) as bridge, OnceSmaller(bridge.address) as agent, lateness:
        iperf3([mahimahi.Delay(40)], 3)
    lateness.skip_above(LATE_MS)
    assert not agent.timeouts
    # Cubic's slow start from the initial window, without any command.
    assert agent.before[-1]["cwnd_packets"] > 100
    # The window grows from there at once, by the ACKs of the hundred packets still in flight.
    windows = [report["cwnd_packets"] for report in agent.after]
    assert 20 <= windows[0] <= 20 + agent.after[0]["delivered_bytes"] / MSS
    assert max(windows) > windows[0]


@needs_bridge
def test_over_cubic_a_timeout_is_cubics_affair(pair):
    # RFC 5681, section 3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1 full-sized
    # segment".
    with (
        BridgeProcess({SCHEME: OVER_CUBIC}) as bridge,
        pair.transfer(SCHEME),
        bridge.client() as client,
        Steering(bridge.address, cwnd=0) as steering,
    ):
        assert steering.steered.wait(LIMIT_S)
        pair.cut()
        timed_out = flow_when(client, lambda flow: flow.timeouts >= 2)
        assert timed_out.cwnd_packets == 1
        assert " cwnd:1 " in pair.sockets()
        pair.mend()
        sent = timed_out.sent_packets
        flow_when(client, lambda flow: flow.sent_packets > sent + 100)


@needs_bridge
def test_a_policy_with_orcas_action_acts_over_cubic(pair, tmp_path):
    policy = tmp_path / "policy"
    shutil.copytree(POLICY, policy)
    description = json.loads((policy / "policy.json").read_text())
    (policy / "policy.json").write_text(json.dumps({**description, "agent": "astraea+cubic_ratio"}))
    with BridgeProcess({SCHEME: policy}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        client.subscribe(SCHEME)
        flow_when(client, lambda flow: flow.mode == "steered")
        # A timeout gives every flow a threshold. One before the cut does not: if acknowledgements were only
        # late, as on a machine that stands still, Linux restores the threshold that was, which is none.
        pair.cut()
        before = flow_of(client).timeouts
        sent = flow_when(client, lambda flow: flow.timeouts > before).sent_packets
        pair.mend()
        flow_when(client, lambda flow: flow.sent_packets > sent + 100)
        while client.message(0) is not None:
            pass  # drop reports of the outage: they have the commanded window and the old threshold
        reports = (message for message in iter(client.message, None) if isinstance(message, Report))
        # Without Cubic beneath, the agent's window is also the threshold; Cubic sets its own.
        pairs = ((report["ssthresh_packets"], report["cwnd_packets"]) for report in reports)
        assert any(
            threshold not in {window, NO_THRESHOLD} for threshold, window in itertools.islice(pairs, 100)
        )


def _times_to_come_back(folder, frozen):
    """Return how long, in s, a SaTCP flow's window took to return to 95 % of each peak of its sawtooth."""
    seconds, skip = 12, 2
    windows = []

    def hear(message):
        if isinstance(message, Opened) and frozen:
            listening.bridge.freeze(message.flow.id, 1e3 * (seconds + 10))
        elif isinstance(message, Report) and skip < message["time_ns"] / 1e9 < seconds:
            windows.append((message["time_ns"] / 1e9, message["cwnd_packets"]))

    with BridgeProcess({SCHEME: "satcp"}) as bridge, Listening(bridge.address, hear) as listening:
        iperf3(over_12_mbps(folder), seconds)
    times, peak, highest, reduced_s = [], 0, 0, None
    for time_s, window in windows:
        if window < 0.5 * highest:
            # A timeout, as on a machine that stalls: Cubic recovers from it in another way.
            peak, highest, reduced_s = 0, window, None
        elif window < 0.8 * highest:
            # A reduction, perhaps before the window had recovered from the last one.
            peak, highest, reduced_s = highest, window, time_s
        elif reduced_s is not None and window >= 0.95 * peak:
            times.append(time_s - reduced_s)
            reduced_s = None
        highest = max(highest, window)
    return times


@needs_bridge
@pytest.mark.soak
@needs_mahimahi
def test_a_frozen_satcp_flow_is_back_at_its_window_in_a_fraction_of_cubics_time(tmp_path):
    # Algorithm 1: K <- K / 9. Pipe and queue hold some 110 packets, so Cubic returns to the lossy window
    # after K = 4.4 s, the cube root of 0.3 x 110 / 0.4, and to 95 % of it after 2 s, the cube root of 0.05 x
    # 110 / 0.4 earlier. Frozen, K is 0.5 s and Cubic reaches 95 % as fast as it ever grows.
    with Lateness(prompt=False) as lateness:
        times_s = [_times_to_come_back(tmp_path, frozen=frozen) for frozen in (False, True)]
    lateness.skip_above(LATE_MS)
    assert all(times_s), times_s
    usual, frozen = map(statistics.median, times_s)
    print(f"back at 95 % after {usual:.2f} s usually, {frozen:.2f} s frozen")
    # A busy machine causes more losses, with other recovery times.
    assert usual > 0.6
    assert frozen < usual / 2
