"""Kill daemons and agents at any moment: flows keep moving and nothing stays behind."""

import contextlib
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.common.processes import descendants
from leogym.kernel_bridge.bridge.client import Bridge
from leogym.kernel_bridge.bridge.process import BridgeProcess, clean, program
from tests.support import bpf_objects
from tests.support.bridge_world import (
    LIMIT_S,
    SCHEME,
    Steering,
    congestion_controls,
    eventually,
    flow_when,
    needs_bridge,
)

pytestmark = pytest.mark.real_time

TRIALS = [3, pytest.param(20, marks=pytest.mark.soak)]
MOVED_BYTES = 10_000_000

AGENT = """
import sys
from leogym.kernel_bridge.bridge.client import Bridge, Report

with Bridge(sys.argv[1]) as bridge:
    bridge.subscribe(sys.argv[2], interval_ms=20)
    while True:
        message = bridge.message()
        if isinstance(message, Report):
            bridge.command(message.flow, 5)
            print(flush=True)
"""


def _settings():
    """Return the machine's settings that a bridge might change, without other schemes' names."""
    folder = Path("/proc/sys/net/ipv4")
    values = {}
    for path in sorted(folder.glob("tcp_*")):
        with contextlib.suppress(OSError):  # some can only be written
            values[path.name] = path.read_text().split()
    for name in ("tcp_available_congestion_control", "tcp_allowed_congestion_control"):
        values[name] = SCHEME in values[name]
    values["jit"] = Path("/proc/sys/net/core/bpf_jit_enable").read_text()
    pinned = Path("/sys/fs/bpf")
    values["pinned"] = sorted(path.name for path in pinned.iterdir()) if pinned.exists() else []
    return values


def _acked(pair):
    # ss omits the field while it is 0.
    match = re.search(r"bytes_acked:(\d+)", pair.sockets())
    return int(match[1]) if match else 0


def _keeps_moving(pair):
    before = _acked(pair)
    eventually(lambda: _acked(pair), "bytes acknowledged", lambda now: now > before + MOVED_BYTES)


def _assert_gone(address, objects):
    remaining = eventually(
        lambda: bpf_objects.still_there(objects), "BPF objects", lambda remaining: not remaining
    )
    assert not remaining
    # A guardian removes the scheme a moment later.
    eventually(congestion_controls, "schemes", lambda names: SCHEME not in names)
    eventually(Path("/proc/net/unix").read_text, "sockets", lambda sockets: address not in sockets)
    with pytest.raises(InputError, match="no bridge answers there"):
        Bridge(address)


@needs_bridge
@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("link", [True, False])
def test_a_flow_outlives_its_daemon_and_then_nothing_is_left(pair, sign, link, trials):
    draw = random.Random(trials)
    before = _settings()
    for _ in range(trials):
        with BridgeProcess({SCHEME: None}, link=link) as bridge:
            with pair.transfer(SCHEME), Steering(bridge.address, cwnd=5) as steering:
                assert steering.steered.wait(LIMIT_S)
                assert SCHEME in congestion_controls()
                objects = bpf_objects.held_by(bridge.pid)
                assert {item.kind for item in objects} == {"prog", "map"} | ({"link"} if link else set())
                assert bpf_objects.still_there(objects) == objects
                time.sleep(draw.uniform(0, 0.05))  # at any moment of an interval
                assert bridge.process is not None
                os.kill(bridge.pid, sign)
                bridge.process.wait(LIMIT_S)
                _keeps_moving(pair)
                assert SCHEME in pair.sockets()
            _assert_gone(bridge.address, objects)
    assert _settings() == before


@needs_bridge
@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize("options", [[], ["--no-link"]])
def test_a_daemon_killed_while_it_starts_leaves_nothing(options, trials):
    draw = random.Random(trials)
    before = _settings()
    address = f"@leo-bridge-killed-{os.getpid()}"
    path = program()
    assert path is not None
    objects = set()
    for _ in range(trials):
        line = [path, "run", "--offer", SCHEME, "--socket", address, *options]
        with subprocess.Popen(line, stdout=subprocess.DEVNULL) as daemon:
            try:
                time.sleep(draw.uniform(0, 0.3))  # anywhere while it loads, or just after
                objects |= bpf_objects.held_by(daemon.pid)
            finally:
                daemon.kill()
        _assert_gone(address, objects)
    assert _settings() == before


@needs_bridge
def test_a_scheme_that_daemon_and_guardian_left_is_taken_away_by_clean_and_no_other_is(pair):
    with BridgeProcess({SCHEME: None}, link=False) as bridge, pair.transfer(SCHEME):
        objects = bpf_objects.held_by(bridge.pid)
        (guardian,) = [pid for pid, name in descendants(bridge.pid).items() if name == "leo-guardian"]
        end = os.pidfd_open(guardian)
        _keeps_moving(pair)
        assert clean() == []
        assert SCHEME in congestion_controls(), "somebody serves it"
        for pid in (guardian, bridge.pid):
            os.kill(pid, signal.SIGKILL)
        assert bridge.process is not None
        bridge.process.wait(LIMIT_S)
        assert select.select([end], [], [], LIMIT_S)[0]
        os.close(end)
        assert SCHEME in congestion_controls(), "nobody was there to take it away"
        assert clean() == [f"removed {SCHEME}, a congestion control that nobody served"]
        assert SCHEME not in congestion_controls()
        _keeps_moving(pair)
        assert clean() == []
    _assert_gone(bridge.address, objects)


@needs_bridge
def test_a_daemon_that_could_not_keep_up_says_that_the_run_does_not_count(pair):
    stopped_s, interval_ms = 0.4, 20
    with (
        BridgeProcess({SCHEME: None}) as bridge,
        pair.transfer(SCHEME),
        Steering(bridge.address, cwnd=5, interval_ms=interval_ms) as steering,
    ):
        assert steering.steered.wait(LIMIT_S)
        os.kill(bridge.pid, signal.SIGSTOP)
        time.sleep(stopped_s)
        os.kill(bridge.pid, signal.SIGCONT)
        rule = rf"{SCHEME}: (\d+) of \d+ intervals were missed: the machine is too slow or too busy"
        # Until the daemon has noticed the missed intervals, a slow agent may be the reason.
        (why,) = eventually(bridge.too_late, "reasons", lambda whys: whys and re.fullmatch(rule, whys[0]))
    missed = re.fullmatch(rule, why)[1]
    assert int(missed) >= stopped_s * 1e3 / interval_ms - 2


def _steered(client):
    flow = flow_when(client, lambda flow: flow.mode == "steered")
    assert flow.cwnd_packets == 5


@needs_bridge
@pytest.mark.parametrize("trials", TRIALS)
def test_a_killed_agents_flow_is_cubics_until_another_agent_comes(pair, trials):
    draw = random.Random(trials)
    before = _settings()
    with BridgeProcess({SCHEME: None}) as bridge:
        objects = bpf_objects.held_by(bridge.pid)
        with pair.transfer(SCHEME), bridge.client() as client:
            for trial in range(1, trials + 1):
                line = [sys.executable, "-c", AGENT, bridge.address, SCHEME]
                with subprocess.Popen(line, stdout=subprocess.PIPE) as agent:
                    try:
                        assert agent.stdout is not None
                        assert agent.stdout.readline(), "the agent ended"
                        _steered(client)
                        time.sleep(draw.uniform(0, 0.05))  # at any moment of an interval
                    finally:
                        agent.kill()
                fallen = flow_when(client, lambda flow: flow.mode == "fallen_back")
                assert trial <= fallen.fallbacks
                _keeps_moving(pair)
            assert client.status()["schemes"][0]["flows"] == 1
    _assert_gone(bridge.address, objects)
    assert _settings() == before
