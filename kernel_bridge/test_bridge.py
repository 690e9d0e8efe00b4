"""Agents on real TCP: commands, policies, outages, faults, and that nothing stays behind.

Flows run between two network namespaces over a veth pair, or behind mahimahi's delay.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from configs.errors import InputError
from kernel_bridge import mahimahi
from kernel_bridge.bridge_process import BridgeProcess, missing, program
from kernel_bridge.client import PROTOCOL, REPORT_FIELDS, Bridge, BridgeError, Closed, Opened, Refused, Report

LACK = missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
POLICY = Path(__file__).parent.parent / "core/control/tests/fixtures/perceptron"
SCHEME = f"leo_t{os.getpid() % 100_000}"
"""Of this test process alone, so that several may run."""
LIMIT_S = 60
"""Against hanging only."""
MSS = 1448


def _congestion_controls():
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Pair:
    """Two namespaces with a veth pair; the server's end is 10.77.0.2."""

    def __init__(self):
        self.names = [f"leo-test-{os.getpid()}-{end}" for end in "ab"]

    def __enter__(self):
        first, second = self.names
        for name in self.names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", first, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", second)
        for name, address in zip(self.names, ("10.77.0.1/24", "10.77.0.2/24"), strict=True):
            _ip("-n", name, "addr", "add", address, "dev", "veth0")
            _ip("-n", name, "link", "set", "veth0", "up")
        return self

    def __exit__(self, *_):
        for name in self.names:
            _ip("netns", "del", name)

    def inside(self, end, *command):
        return ["ip", "netns", "exec", self.names[end], *command]

    def ss(self):
        """Return what `ss` says of the client's connections to the server's data port."""
        line = self.inside(0, "ss", "-tinH", "dport", "=", ":5201", "and", "dst", "10.77.0.2")
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    @contextmanager
    def transfer(self, scheme=SCHEME, seconds=LIMIT_S, rate=None):
        """Send through `scheme` for as long as the block."""
        sink = "import socket as s; l = s.create_server(('10.77.0.2', 5201)); print(flush=True)\n"
        sink += "c = l.accept()[0]\nwhile c.recv(1 << 20): pass"
        pace = f"time.sleep({MSS * 8 / rate})" if rate else "pass"
        source = "import socket as s, time; c = s.socket()\n"
        source += f"c.setsockopt(s.IPPROTO_TCP, s.TCP_CONGESTION, {scheme.encode()!r})\n"
        source += "c.connect(('10.77.0.2', 5201))\n"
        source += (
            f"end = time.monotonic() + {seconds}\nwhile time.monotonic() < end: c.send(bytes({MSS})); {pace}"
        )
        server = subprocess.Popen(
            self.inside(1, sys.executable, "-c", sink), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline(), "the server did not come up"
            client = subprocess.Popen(self.inside(0, sys.executable, "-c", source), stderr=subprocess.PIPE)
            try:
                yield client
            finally:
                client.kill()
                client.communicate()
        finally:
            server.kill()
            server.communicate()


@pytest.fixture
def pair():
    with Pair() as pair:
        yield pair


class Steering(threading.Thread):
    """Answers every report of an offered scheme's flows with the same window and rate, until told to stop."""

    def __init__(self, address, cwnd, pacing_bytes_per_s=0, interval_ms=20):
        super().__init__(daemon=True)
        self.bridge = Bridge(address)
        self.bridge.subscribe(SCHEME, interval_ms=interval_ms)
        self.answer = (cwnd, pacing_bytes_per_s)
        self.reports = []
        self.steered = threading.Event()
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            message = self.bridge.message(0.1)
            if isinstance(message, Report):
                self.reports.append(message)
                self.bridge.command(message.flow, *self.answer)
                if len(self.reports) > 3:
                    self.steered.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.bridge.close()


def _eventually(what, of, wanted):
    """Return `what()`'s answer once it satisfies `wanted`: a state to come, not a duration to guess."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        answer = what()
        if wanted(answer):
            return answer
        assert time.monotonic() < deadline, f"{of}: still {answer}"
        time.sleep(0.01)


def _flow(client):
    """Return the sending flow of this test's scheme."""
    sending = [flow for flow in client.flows() if flow.scheme == SCHEME and flow.remote.endswith(":5201")]
    return sending[0] if sending else None


@needs_bridge
def test_a_report_has_the_fields_of_a_simulated_flows():
    with BridgeProcess({SCHEME: None}) as bridge, bridge.client() as client:
        status = client.status()
    assert tuple(status["report_fields"]) == REPORT_FIELDS
    assert status["protocol"] == PROTOCOL


@needs_bridge
def test_ss_shows_the_window_and_the_pacing_rate_that_were_commanded(pair):
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer(), bridge.client() as client:
        with Steering(bridge.address, cwnd=37, pacing_bytes_per_s=1_250_000) as steering:
            assert steering.steered.wait(LIMIT_S)
            shown = pair.ss()
            flow = _flow(client)
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
    # Little's law wants the mean over packets. Where one ACK covers several, as behind a shell served late,
    # the kernel's samples for congestion control are those of the last and the smoothed RTT is fed with those
    # of the first (tcp_clean_rtx_queue()): the mean is in between, on a quiet machine the same.
    samples = sum(report["rtt_samples"] for report in held)
    last_us = sum(report["avg_rtt_us"] * report["rtt_samples"] for report in held) / samples
    first_us = sum(report["srtt_us"] * report["rtt_samples"] for report in held) / samples
    print(f"cwnd {cwnd}: {mbps:.3f} Mbit/s over {last_us / 1e3:.2f} to {first_us / 1e3:.2f} ms")
    assert last_us > 1.9e3 * one_way_ms
    assert 0.97 * 8 * cwnd * MSS / first_us <= mbps <= 1.03 * 8 * cwnd * MSS / last_us


@needs_bridge
def test_a_policy_in_the_daemon_steers_its_flows(pair):
    with BridgeProcess({SCHEME: POLICY}) as bridge, pair.transfer(), bridge.client() as client:
        client.subscribe(SCHEME)
        opened = (
            [message for message in iter(client.message, None) if isinstance(message, Opened)][:2]
            if 0
            else []
        )
        assert not opened
        reports = []
        while len(reports) < 20:
            message = client.message()
            assert message is not None, "no reports"
            if isinstance(message, Report):
                reports.append(message)
        flow = _flow(client)
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
def test_a_silent_agents_flow_is_cubics_until_commands_come_again(pair):
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer(), bridge.client() as client:
        with Steering(bridge.address, cwnd=5) as steering:
            assert steering.steered.wait(LIMIT_S)
        fallen = _eventually(lambda: _flow(client), "flow", lambda flow: flow and flow.mode == "fallen_back")
        assert fallen.fallbacks == 1
        # Cubic goes on from there, and grows.
        _eventually(lambda: _flow(client), "flow", lambda flow: flow.cwnd_packets > 10)
        with Steering(bridge.address, cwnd=6) as steering:
            assert steering.steered.wait(LIMIT_S)
            again = _eventually(lambda: _flow(client), "flow", lambda flow: flow.mode == "steered")
            assert again.cwnd_packets == 6


@needs_bridge
def test_an_agents_window_survives_a_timeout(pair):
    with (
        BridgeProcess({SCHEME: None}) as bridge,
        pair.transfer(),
        bridge.client() as client,
        Steering(bridge.address, cwnd=24, pacing_bytes_per_s=1_250_000) as steering,
    ):
        assert steering.steered.wait(LIMIT_S)
        _ip("-n", pair.names[1], "link", "set", "veth0", "down")
        timed_out = _eventually(lambda: _flow(client), "flow", lambda flow: flow.timeouts >= 2)
        assert (timed_out.cwnd_packets, timed_out.mode) == (24, "steered")
        assert " cwnd:24 " in pair.ss()
        # A command that comes in the outage holds at its next timeout, without any ACK.
        steering.answer = (31, 2_500_000)
        seen = timed_out.timeouts
        told = _eventually(lambda: _flow(client), "flow", lambda flow: flow.timeouts >= seen + 2)
        assert told.cwnd_packets == 31
        assert " cwnd:31 " in pair.ss()
        _ip("-n", pair.names[1], "link", "set", "veth0", "up")
        sent = told.sent_packets
        _eventually(lambda: _flow(client), "flow", lambda flow: flow.sent_packets > sent + 100)


@needs_bridge
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_flow_outlives_its_daemon_and_then_nothing_is_left(pair, sign):
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text()
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer():
        with Steering(bridge.address, cwnd=5) as steering:
            assert steering.steered.wait(LIMIT_S)
            assert SCHEME in _congestion_controls()
            steering.over.set()
            steering.join()
            os.kill(bridge.pid, sign)
            assert bridge.process is not None
            bridge.process.wait(LIMIT_S)

        def acked():
            return int(pair.ss().split("bytes_acked:")[1].split()[0])

        before = acked()
        _eventually(acked, "bytes acknowledged", lambda now: now > before + 10_000_000)
        assert SCHEME in pair.ss()
        _eventually(_congestion_controls, "congestion controls", lambda names: SCHEME not in names)
    assert Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text() == allowed
    with pytest.raises(InputError, match="no bridge answers there"):
        Bridge(bridge.address)


@needs_bridge
def test_a_client_that_dies_leaves_its_flow_to_cubic(pair):
    code = "from kernel_bridge.client import *\nb = Bridge(__import__('sys').argv[1])\n"
    code += f"b.subscribe({SCHEME!r})\n"
    code += (
        "while True:\n m = b.message()\n if isinstance(m, Report): b.command(m.flow, 5); print(flush=True)"
    )
    with BridgeProcess({SCHEME: None}) as bridge, pair.transfer(), bridge.client() as client:
        agent = subprocess.Popen([sys.executable, "-c", code, bridge.address], stdout=subprocess.PIPE)
        assert agent.stdout is not None
        agent.stdout.readline()
        _eventually(lambda: _flow(client), "flow", lambda flow: flow and flow.mode == "steered")
        agent.kill()
        agent.communicate()
        _eventually(lambda: _flow(client), "flow", lambda flow: flow.mode == "fallen_back")
        status = client.status()["schemes"][0]
        assert status["flows"] == 1


@needs_bridge
def test_flows_are_announced_when_they_open_and_when_they_close(pair):
    with BridgeProcess({SCHEME: None}) as bridge, bridge.client() as client:
        client.subscribe(SCHEME)
        with pair.transfer():
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
            assert (
                status["uid"] == int(Path(f"/proc/{status['pid']}").stat().st_uid or 1) or status["uid"] == 1
            )
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
        ({"a" * 16: None}, "a congestion control's name has 1 to 15 visible characters"),
        ({"cubic": None}, "cubic: the kernel did not register the scheme: .*File exists"),
    ],
)
def test_a_bridge_that_cannot_serve_says_why_in_one_line(schemes, rule):
    with pytest.raises(InputError, match=rule), BridgeProcess(schemes):
        pass
    assert SCHEME not in _congestion_controls()
