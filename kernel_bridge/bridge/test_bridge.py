"""Agents on real TCP: commands, policies, outages, access control.

Flows run between two network namespaces over a veth pair, or behind mahimahi's delay.
"""

import itertools
import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.bridge.client import (
    PROTOCOL,
    REPORT_FIELDS,
    BridgeError,
    Closed,
    Opened,
    Refused,
    Report,
)
from leogym.kernel_bridge.bridge.process import BridgeProcess, program
from tests.support.bridge_world import (
    LIMIT_S,
    MSS,
    POLICY,
    SCHEME,
    Steering,
    congestion_controls,
    eventually,
    flow_when,
    intervals_ended,
    iperf3,
    needs_bridge,
    needs_mahimahi,
    steered_flow,
)
from tests.support.lateness import Lateness

pytestmark = pytest.mark.real_time


@needs_bridge
def test_a_report_has_the_fields_of_a_simulated_flows():
    with BridgeProcess({SCHEME: None}) as bridge, bridge.client() as client:
        status = client.status()
    assert tuple(status["report_fields"]) == REPORT_FIELDS
    assert status["protocol"] == PROTOCOL


@needs_bridge
def test_a_report_has_the_names_and_units_that_python_schemes_get():
    measured = Report(7, tuple(float(value) for value in range(1, 20)), 0).measured
    assert (measured.rtt_ms, measured.cwnd_packets, measured.lost_packets) == (7e-3, 12.0, 5 / 15)


def test_ss_shows_the_window_and_the_pacing_rate_that_were_commanded(pair):
    with (
        BridgeProcess({SCHEME: None}) as bridge,
        pair.transfer(SCHEME),
        bridge.client() as client,
        Steering(bridge.address, cwnd=37, pacing_bytes_per_s=1_250_000) as steering,
    ):
        assert steering.steered.wait(LIMIT_S)
        expected = {"cwnd:37", "pacing_rate 10000000bps"}
        eventually(pair.sockets, "ss", lambda sockets: all(f" {words} " in sockets for words in expected))
        assert steered_flow(client, 37).pacing_bytes_per_s == 1_250_000
        # The first interval may have begun before the client asked for 20 ms.
        eventually(lambda: intervals_ended(steering.reports[1:], 20), "intervals", lambda ends: 1 in ends)


@needs_bridge
@needs_mahimahi
@pytest.mark.parametrize("cwnd", [20, 100])
def test_a_flow_held_at_a_window_carries_a_window_a_round_trip_within_3_percent(cwnd):
    one_way_ms, seconds, skip, least_s = 20, 8, 1, 3
    lateness = Lateness(prompt=False)
    with BridgeProcess({SCHEME: None}) as bridge, Steering(bridge.address, cwnd) as steering, lateness:
        iperf3([mahimahi.Delay(one_way_ms)], seconds)
    holds = _undisturbed(
        [report for report in steering.reports if skip < report["time_ns"] / 1e9 < seconds], cwnd, one_way_ms
    )
    held_s = sum(report["interval_ns"] for report in holds) / 1e9
    # mm-delay holds packets longer if it wakes late.
    lateness.skip_above(one_way_ms / 2)
    assert held_s >= least_s
    delivered_bytes = sum(report["delivered_bytes"] for report in holds)
    mbps = 8e3 * delivered_bytes / sum(report["interval_ns"] for report in holds)
    # Little's law needs the mean RTT over packets. When one ACK covers several packets, as behind a late
    # shell, congestion control gets the last packet's RTT and the smoothed RTT the first one's
    # (tcp_clean_rtx_queue()). The mean lies in between; on a quiet machine all agree.
    samples = sum(report["rtt_samples"] for report in holds)
    last_us = sum(report["avg_rtt_us"] * report["rtt_samples"] for report in holds) / samples
    first_us = sum(report["srtt_us"] * report["rtt_samples"] for report in holds) / samples
    print(f"cwnd {cwnd}: {mbps:.3f} Mbit/s over {last_us / 1e3:.2f} to {first_us / 1e3:.2f} ms")
    assert last_us > 1.9e3 * one_way_ms
    assert 0.97 * 8 * cwnd * MSS / first_us <= mbps <= 1.03 * 8 * cwnd * MSS / last_us


def _undisturbed(reports, cwnd, one_way_ms):
    """Return the reports of all stretches in which no process stalled.

    A stall builds a queue, leaves the flow to Cubic or starves it: then four intervals (two RTTs) deliver
    hardly anything.
    """
    edge = 4
    runs = [[]]
    for index, report in enumerate(reports):
        delivered_bytes = sum(
            earlier["delivered_bytes"] for earlier in reports[max(0, index - edge + 1) : index + 1]
        )
        is_held = report["avg_rtt_us"] < 2.5e3 * one_way_ms and report["cwnd_packets"] == cwnd
        if is_held and delivered_bytes > 0.5 * cwnd * MSS:
            runs[-1].append(report)
        elif runs[-1]:
            runs.append([])
    return [report for run in runs for report in run[edge:-edge]]


@needs_bridge
def test_a_policy_in_the_daemon_steers_its_flows(pair):
    with BridgeProcess({SCHEME: POLICY}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        client.subscribe(SCHEME)
        reports, ends = [], []
        while ends.count(1) < 20:
            message = client.message()
            assert message is not None, "no reports"
            if isinstance(message, Report):
                reports.append(message)
                ends = intervals_ended(reports, 30)
        flow = flow_when(client, lambda flow: flow.mode == "steered")
        # An action moves the window by at most 2.5 % or one packet. After four intervals of a stalled daemon,
        # Cubic has moved it.
        for before, after in itertools.pairwise(reports):
            if after["interval_ns"] < 4 * 30e6:
                window = before["cwnd_packets"]
                assert window / 1.025 - 1 <= after["cwnd_packets"] <= window * 1.025 + 1
        with pytest.raises(BridgeError, match="interval_ms: the scheme is not offered"):
            client.subscribe(SCHEME, interval_ms=10)
        client.command(flow.id, 10)
        refused = next(m for m in iter(client.message, None) if isinstance(m, Refused))
        assert "the bridge itself decides" in refused.reason


@needs_bridge
def test_a_silent_agents_flow_is_cubics_until_commands_come_again(pair):
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer(SCHEME), bridge.client() as client:
        with Steering(bridge.address, cwnd=5) as steering:
            assert steering.steered.wait(LIMIT_S)
        fallen = flow_when(client, lambda flow: flow.mode == "fallen_back")
        assert fallen.fallbacks > 0
        # Cubic continues from this window and grows.
        flow_when(client, lambda flow: flow.cwnd_packets > 10)
        with Steering(bridge.address, cwnd=6) as steering:
            assert steering.steered.wait(LIMIT_S)
            steered_flow(client, 6)


@needs_bridge
def test_without_an_agent_a_flow_is_cubics_from_its_first_packet(pair):
    with BridgeProcess({SCHEME: None}, interval_ms=10_000) as bridge, bridge.client() as client:
        with pair.transfer(SCHEME):
            # Without an agent the flow does not wait for 40 s (four intervals).
            alone = flow_when(client, lambda flow: flow.sent_packets > 100)
            assert alone.mode == "fallen_back"
            flow_when(client, lambda flow: flow.cwnd_packets > 20)
        client.subscribe(SCHEME)
        with pair.transfer(SCHEME):
            held = ("held", 10)
            flow_when(client, lambda flow: (flow.mode, flow.cwnd_packets) == held and flow.sent_packets > 100)


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
        timed_out = steered_flow(client, 24, lambda flow: flow.timeouts >= 2)
        eventually(pair.sockets, "ss", lambda sockets: " cwnd:24 " in sockets)
        # A command during the outage takes effect at the next timeout, without an ACK.
        steering.command = (31, 2_500_000)
        timeouts = timed_out.timeouts
        steered = steered_flow(client, 31, lambda flow: flow.timeouts >= timeouts + 2)
        eventually(pair.sockets, "ss", lambda sockets: " cwnd:31 " in sockets)
        pair.mend()
        sent = steered.sent_packets
        flow_when(client, lambda flow: flow.sent_packets > sent + 100)


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
@pytest.mark.parametrize(
    ("family", "host", "expected"),
    [(socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]")],
)
def test_a_flow_is_shown_with_both_its_ends_its_user_and_its_namespace(family, host, expected):
    with BridgeProcess({SCHEME: None}) as bridge, bridge.client() as client:
        client.subscribe(SCHEME)
        with socket.create_server((host, 0), family=family) as listener, socket.socket(family) as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, SCHEME.encode())
            sender.connect(listener.getsockname()[:2])
            opened = client.message()
            assert isinstance(opened, Opened)
            (flow,) = client.flows()
            assert flow.local == f"{expected}:{sender.getsockname()[1]}"
            assert flow.remote == f"{expected}:{listener.getsockname()[1]}"
            assert (flow.uid, flow.netns) == (os.getuid(), Path("/proc/self/ns/net").stat().st_ino)


@needs_bridge
def test_the_socket_refuses_other_users():
    # Root imports the client, because other users may not be able to read the project's folder.
    code = (
        "import os, pwd, sys\nfrom kernel_bridge.bridge.client import Bridge\n"
        "os.setgroups([])\nos.setuid(pwd.getpwnam(sys.argv[2]).pw_uid)\nprint(Bridge(sys.argv[1]).status())"
    )
    with BridgeProcess({SCHEME: None}, user="daemon") as bridge:
        for uid, answer in (("daemon", "'protocol': 1"), ("nobody", "may not use this bridge")):
            line = [sys.executable, "-c", code, bridge.address, uid]
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
            "leo-bridge: the right to load it: it needs root, or CAP_BPF and CAP_NET_ADMIN: run it with sudo",
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
