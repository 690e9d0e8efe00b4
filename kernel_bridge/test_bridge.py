"""Agents on real TCP: commands, policies, schemes, outages, and who may ask for what.

Flows run between two network namespaces over a veth pair, or behind mahimahi's delay.
"""

import itertools
import json
import pwd
import shutil
import statistics
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from configs.errors import InputError
from kernel_bridge import mahimahi
from kernel_bridge.bridge_process import OVER_CUBIC, BridgeProcess, program
from kernel_bridge.bridge_world import (
    LIMIT_S,
    MSS,
    POLICY,
    SCHEME,
    Collecting,
    Steering,
    congestion_controls,
    eventually,
    flow_of,
    needs_bridge,
)
from kernel_bridge.client import PROTOCOL, REPORT_FIELDS, Bridge, BridgeError, Closed, Opened, Refused, Report
from kernel_bridge.veth import Pair


@pytest.fixture
def pair():
    with Pair() as pair:
        yield pair


@needs_bridge
def test_a_report_has_the_fields_of_a_simulated_flows():
    with BridgeProcess({SCHEME: None}) as bridge, bridge.client() as client:
        status = client.status()
    assert tuple(status["report_fields"]) == REPORT_FIELDS
    assert status["protocol"] == PROTOCOL


@needs_bridge
def test_ss_shows_the_window_and_the_pacing_rate_that_were_commanded(pair):
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        with Steering(bridge.address, cwnd=37, pacing_bytes_per_s=1_250_000) as steering:
            assert steering.steered.wait(LIMIT_S)
            shown = pair.sockets()
            flow = flow_of(client)
        assert " cwnd:37 " in shown
        assert " pacing_rate 10000000bps " in shown
        assert flow is not None
        assert (flow.mode, flow.cwnd_packets, flow.pacing_bytes_per_s) == ("steered", 37, 1_250_000)
        intervals = [report["interval_ns"] / 1e6 for report in steering.reports]
        assert sum(intervals) / len(intervals) == pytest.approx(20, rel=0.05)


@needs_bridge
@pytest.mark.skipif(mahimahi.missing() is not None, reason=mahimahi.missing() or "")
@pytest.mark.parametrize("cwnd", [20, 100])
def test_a_flow_held_at_a_window_carries_a_window_a_round_trip_within_3_percent(cwnd):
    one_way_ms, seconds, skip = 20, 6, 1
    with BridgeProcess({SCHEME: None}) as bridge, Steering(bridge.address, cwnd) as steering:
        finished = mahimahi.run(
            [mahimahi.Delay(one_way_ms)],
            ["sh", "-c", f"exec iperf3 -c $MAHIMAHI_BASE -C {SCHEME} -t {seconds}"],
            servers=[mahimahi.Server(["iperf3", "--server", "--one-off"], 5201)],
            timeout_s=LIMIT_S,
        )
    assert finished.status == 0, finished.stdout + finished.stderr
    held = [report for report in steering.reports if skip < report["time_ns"] / 1e9 < seconds]
    delivered_bytes = sum(report["delivered_bytes"] for report in held)
    mbps = 8e3 * delivered_bytes / sum(report["interval_ns"] for report in held)
    # Little's law wants the mean over packets. Where one ACK covers several, as behind a shell that is late,
    # the kernel's samples for congestion control are those of the last, and the smoothed RTT is fed with
    # those of the first (tcp_clean_rtx_queue()): the mean is in between; on a quiet machine all agree.
    samples = sum(report["rtt_samples"] for report in held)
    last_us = sum(report["avg_rtt_us"] * report["rtt_samples"] for report in held) / samples
    first_us = sum(report["srtt_us"] * report["rtt_samples"] for report in held) / samples
    print(f"cwnd {cwnd}: {mbps:.3f} Mbit/s over {last_us / 1e3:.2f} to {first_us / 1e3:.2f} ms")
    assert last_us > 1.9e3 * one_way_ms
    assert 0.97 * 8 * cwnd * MSS / first_us <= mbps <= 1.03 * 8 * cwnd * MSS / last_us


@needs_bridge
def test_a_policy_in_the_daemon_steers_its_flows(pair):
    with BridgeProcess({SCHEME: POLICY}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        client.subscribe(SCHEME)
        reports = []
        while len(reports) < 20:
            message = client.message()
            assert message is not None, "no reports"
            if isinstance(message, Report):
                reports.append(message)
        flow = flow_of(client)
        assert flow is not None
        assert flow.mode == "steered"
        for report in reports:
            assert report["interval_ns"] / 1e6 == pytest.approx(30, rel=0.5)
        # An action moves the window by at most 2.5 %, and by a packet at least.
        windows = [report["cwnd_packets"] for report in reports]
        for before, after in itertools.pairwise(windows):
            assert before / 1.025 - 1 <= after <= before * 1.025 + 1
        with pytest.raises(BridgeError, match="interval_ms: the scheme is not offered"):
            client.subscribe(SCHEME, interval_ms=10)
        client.command(flow.id, 10)
        refused = next(m for m in iter(client.message, None) if isinstance(m, Refused))
        assert "the bridge itself decides" in refused.reason


@needs_bridge
@pytest.mark.skipif(mahimahi.missing() is not None, reason=mahimahi.missing() or "")
@pytest.mark.parametrize(("scheme", "least_mbps"), [("vivace", 1.3), ("vivace-proteus", 3), ("copa", 6)])
def test_a_scheme_of_the_simulators_uses_a_real_path_and_paces(scheme, least_mbps, tmp_path):
    seconds, skip, capacity_mbps = 6, 3, 12 * MSS / 1504
    trace = tmp_path / "12.trace"
    trace.write_text("1\n")  # an opportunity a millisecond: 12 Mbit/s
    queue = mahimahi.Queue("droptail", {"packets": 60})
    reports = []
    with BridgeProcess({SCHEME: scheme}, seed=1) as bridge, bridge.client() as client:
        client.subscribe(SCHEME)
        with Collecting(client, reports):
            finished = mahimahi.run(
                [mahimahi.Delay(25), mahimahi.Link(trace, trace, queue, queue)],
                ["sh", "-c", f"exec iperf3 -c $MAHIMAHI_BASE -C {SCHEME} -t {seconds}"],
                servers=[mahimahi.Server(["iperf3", "--server", "--one-off"], 5201)],
                timeout_s=LIMIT_S,
            )
        (status,) = client.status()["schemes"]
    assert finished.status == 0, finished.stdout + finished.stderr
    assert status["controller"] == "scheme"
    late = [report for report in reports if skip < report["time_ns"] / 1e9 < seconds]
    # The other end of iperf3's connection sends nothing worth a report.
    delivered_bits = 8 * sum(report["delivered_bytes"] for report in late)
    mbps = delivered_bits / 1e6 / (seconds - skip)
    print(f"{scheme}: {mbps:.2f} of {capacity_mbps:.2f} Mbit/s")
    # This is about moving, not about how well: behind a shell that is late now and then Vivace-Latency, for
    # which any slope of the RTT counts, gives way down to its least, 1.3 Mbit/s of whole packets.
    assert least_mbps * MSS / 1500 < mbps < 1.05 * capacity_mbps
    assert all(report["pacing_rate_bytes_per_s"] > 0 for report in late)
    # A rate that is tried is not one that is held.
    assert len({report["pacing_rate_bytes_per_s"] for report in late}) > 5


@needs_bridge
def test_a_silent_agents_flow_is_cubics_until_commands_come_again(pair):
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        with Steering(bridge.address, cwnd=5) as steering:
            assert steering.steered.wait(LIMIT_S)
        fallen = eventually(lambda: flow_of(client), "flow", lambda flow: flow and flow.mode == "fallen_back")
        assert fallen.fallbacks == 1
        # Cubic goes on from there, and grows.
        eventually(lambda: flow_of(client), "flow", lambda flow: flow.cwnd_packets > 10)
        with Steering(bridge.address, cwnd=6) as steering:
            assert steering.steered.wait(LIMIT_S)
            again = eventually(lambda: flow_of(client), "flow", lambda flow: flow.mode == "steered")
            assert again.cwnd_packets == 6


@needs_bridge
def test_an_agents_window_survives_a_timeout(pair):
    with (
        BridgeProcess({SCHEME: None}) as bridge,
        pair.transfer(SCHEME),
        bridge.client() as client,
        Steering(bridge.address, cwnd=24, pacing_bytes_per_s=1_250_000) as steering,
    ):
        assert steering.steered.wait(LIMIT_S)
        pair.cut()
        timed_out = eventually(lambda: flow_of(client), "flow", lambda flow: flow.timeouts >= 2)
        assert (timed_out.cwnd_packets, timed_out.mode) == (24, "steered")
        assert " cwnd:24 " in pair.sockets()
        # A command that comes in the outage holds at its next timeout, without any ACK.
        steering.answer = (31, 2_500_000)
        seen = timed_out.timeouts
        told = eventually(lambda: flow_of(client), "flow", lambda flow: flow.timeouts >= seen + 2)
        assert told.cwnd_packets == 31
        assert " cwnd:31 " in pair.sockets()
        pair.mend()
        sent = told.sent_packets
        eventually(lambda: flow_of(client), "flow", lambda flow: flow.sent_packets > sent + 100)


class OnceSmaller(threading.Thread):
    """Leaves the window to Cubic, but for one command when it has grown to 100 packets: 20."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.bridge = Bridge(address)
        self.bridge.subscribe(SCHEME, interval_ms=20)
        self.before, self.after = [], []
        self.over = threading.Event()

    def run(self):
        """Steer until it is over."""
        while not self.over.is_set():
            message = self.bridge.message(0.1)
            if not isinstance(message, Report):
                continue
            window = message["cwnd_packets"]
            (self.after if self.before and self.before[-1] > 100 else self.before).append(window)
            self.bridge.command(message.flow, 20 if not self.after and window > 100 else 0)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.bridge.close()


@needs_bridge
@pytest.mark.skipif(mahimahi.missing() is not None, reason=mahimahi.missing() or "")
def test_over_cubic_a_command_is_what_cubic_goes_on_from():
    with BridgeProcess({SCHEME: OVER_CUBIC}) as bridge, OnceSmaller(bridge.address) as agent:
        finished = mahimahi.run(
            [mahimahi.Delay(40)],
            ["sh", "-c", f"exec iperf3 -c $MAHIMAHI_BASE -C {SCHEME} -t 3"],
            servers=[mahimahi.Server(["iperf3", "--server", "--one-off"], 5201)],
            timeout_s=LIMIT_S,
        )
    assert finished.status == 0, finished.stdout + finished.stderr
    # Cubic's slow start from the initial window, without any command.
    assert agent.before == sorted(agent.before)
    assert agent.before[-1] > 100
    # It grows from there at once, by the ACKs of the hundred packets that are still under way.
    assert 20 <= agent.after[0] <= 80
    assert max(agent.after) > agent.after[0]


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
        timed_out = eventually(lambda: flow_of(client), "flow", lambda flow: flow.timeouts >= 2)
        assert timed_out.cwnd_packets == 1
        assert " cwnd:1 " in pair.sockets()
        pair.mend()
        sent = timed_out.sent_packets
        eventually(lambda: flow_of(client), "flow", lambda flow: flow.sent_packets > sent + 100)


@needs_bridge
def test_a_policy_with_orcas_action_acts_over_cubic(pair, tmp_path):
    policy = tmp_path / "policy"
    shutil.copytree(POLICY, policy)
    description = json.loads((policy / "policy.json").read_text())
    (policy / "policy.json").write_text(json.dumps({**description, "agent": "astraea+cubic_ratio"}))
    with BridgeProcess({SCHEME: policy}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        client.subscribe(SCHEME)
        reports = itertools.islice((m for m in iter(client.message, None) if isinstance(m, Report)), 10)
        # With nothing beneath it an agent's window is its threshold, too; Cubic's is its own.
        assert sum(report["ssthresh_packets"] != report["cwnd_packets"] for report in reports) >= 8
        eventually(lambda: flow_of(client), "flow", lambda flow: flow.mode == "steered")


@needs_bridge
def test_flows_are_announced_when_they_open_and_when_they_close(pair):
    with BridgeProcess({SCHEME: None}) as bridge, bridge.client() as client:
        client.subscribe(SCHEME)
        with pair.transfer(SCHEME):
            opened = client.message()
            assert isinstance(opened, Opened)
        closed = next(m for m in iter(client.message, None) if isinstance(m, Closed))
        assert closed.flow == opened.flow.id
        client.command(opened.flow.id, 10)
        refused = next(m for m in iter(client.message, None) if isinstance(m, Refused))
        assert refused.reason == "flow: no such open flow"
        assert not client.flows()


@needs_bridge
def test_the_socket_refuses_other_users():
    code = "from kernel_bridge.client import *\nprint(Bridge(__import__('sys').argv[1]).status())"
    with BridgeProcess({SCHEME: None}, user="daemon") as bridge:
        for uid, answer in (("daemon", "'protocol': 1"), ("nobody", "may not use this bridge")):
            line = ["setpriv", "--reuid", uid, "--clear-groups", sys.executable, "-c", code, bridge.address]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            assert answer in done.stdout + done.stderr
        with bridge.client() as client:
            status = client.status()
            assert status["uid"] == pwd.getpwnam("daemon").pw_uid
        capabilities = Path(f"/proc/{bridge.pid}/status").read_text()
        assert "CapEff:\t0000000000000000" in capabilities
        assert "NoNewPrivs:\t1" in capabilities


@needs_bridge
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["run"],
            "leo-bridge: the right to load it: it takes root, or CAP_BPF and CAP_NET_ADMIN: run it with sudo",
        ),
        (["status", "--socket", "@nobody-is-here"], "leo-bridge: @nobody-is-here: no bridge answers there"),
    ],
)
def test_an_unprivileged_user_gets_one_clear_line(arguments, line):
    path = program()
    assert path is not None
    done = subprocess.run(
        ["setpriv", "--reuid", "nobody", "--clear-groups", path, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


@needs_bridge
@pytest.mark.parametrize(
    ("schemes", "rule"),
    [
        ({SCHEME: Path("/no/such/folder")}, "/no/such/folder/policy.json: file: cannot be read"),
        ({"a" * 16: None}, "a congestion control's name has 1 to 15 letters, digits, _ or ."),
        ({"cubic": None}, "cubic: the kernel did not register the scheme: .*File exists"),
    ],
)
def test_a_bridge_that_cannot_serve_says_why_in_one_line(schemes, rule):
    with pytest.raises(InputError, match=rule), BridgeProcess(schemes):
        pass
    assert SCHEME not in congestion_controls()


def _times_to_come_back(folder, frozen):
    """Return how long a SaTCP flow's window took to come back to 95 % of each peak of its sawtooth, in s."""
    seconds, skip = 12, 2
    trace = folder / "12.trace"
    trace.write_text("1\n")  # an opportunity a millisecond: 12 Mbit/s
    queue = mahimahi.Queue("droptail", {"packets": 60})
    windows = []
    with BridgeProcess({SCHEME: "satcp"}) as bridge, bridge.client() as client:
        client.subscribe(SCHEME)
        over = threading.Event()

        def watch():
            while not over.is_set():
                message = client.message(0.1)
                if isinstance(message, Opened) and frozen:
                    client.freeze(message.flow.id, 1e3 * (seconds + 10))
                elif isinstance(message, Report) and skip < message["time_ns"] / 1e9 < seconds:
                    windows.append((message["time_ns"] / 1e9, message["cwnd_packets"]))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            finished = mahimahi.run(
                [mahimahi.Delay(25), mahimahi.Link(trace, trace, queue, queue)],
                ["sh", "-c", f"exec iperf3 -c $MAHIMAHI_BASE -C {SCHEME} -t {seconds}"],
                servers=[mahimahi.Server(["iperf3", "--server", "--one-off"], 5201)],
                timeout_s=LIMIT_S,
            )
        finally:
            over.set()
            watcher.join()
    assert finished.status == 0, finished.stdout + finished.stderr
    times, peak, highest, reduced_s = [], 0, 0, None
    for time_s, window in windows:
        if window < 0.8 * highest:
            # Reduced: again, perhaps, before it was back.
            peak, highest, reduced_s = highest, window, time_s
        elif reduced_s is not None and window >= 0.95 * peak:
            times.append(time_s - reduced_s)
            reduced_s = None
        highest = max(highest, window)
    return times


@needs_bridge
@pytest.mark.skipif(mahimahi.missing() is not None, reason=mahimahi.missing() or "")
def test_a_frozen_satcp_flow_is_back_at_its_window_in_a_fraction_of_cubics_time(tmp_path):
    # Algorithm 1: K <- K / 9. Some 110 packets fit in pipe and queue. So Cubic takes K = 4.4 s, the cube root
    # of 0.3 x 110 / 0.4, from a loss back to where it happened, and to 95 % of that the cube root of
    # 0.05 x 110 / 0.4 less: 2 s. Frozen, K is 0.5 s and the way to 95 % as fast as Cubic ever grows.
    usual = statistics.median(_times_to_come_back(tmp_path, frozen=False))
    frozen = statistics.median(_times_to_come_back(tmp_path, frozen=True))
    print(f"back at 95 % after {usual:.2f} s usually, {frozen:.2f} s frozen")
    # A machine that is busy has losses of its own, from which the way back is another.
    assert usual > 0.6
    assert frozen < usual / 2
