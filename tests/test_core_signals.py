"""Signals during the core's long computations: what a handler raises ends the computation soon."""

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import leosim
import numpy as np
import pytest

HOURS = 1e6
SOON_S = 2.0


def _scenario(*flows, duration_s=HOURS, **link):
    return json.dumps(
        {
            "duration_s": duration_s,
            "links": {"l": {"rate_mbps": 100, "delay_ms": 10, **link}},
            "flows": [{"route": ["l"], **flow} for flow in flows],
        }
    )


CUBIC = {"scheme": "cubic"}
FLOOD = _scenario({"scheme": "udp", "rate_mbps": 9e5}, rate_mbps=9e6)
IDLE = _scenario({**CUBIC, "transfer_bytes": 1})
ARRIVALS = _scenario({**CUBIC, "arrivals": {"rate_per_s": 9.9e5 / HOURS, "mean_bytes": 1}})
BURSTS = _scenario(
    {
        "scheme": "udp",
        "rate_mbps": 2e-3,
        "on_off": {"on_s": 1e-3, "off_s": 1e-3, "distribution": "exponential"},
    },
    duration_s=3e9,
)


def _path_trace():
    """Return a path trace of two equal rows of 1 ms."""
    rows = "".join(f"{time},10,10,10,0,1,0,\n" for time in ("0", "0.001", "0.002"))
    return leosim.PathTrace.parse(
        '# {"format": "leogym-path-trace", "version": 1}\n'
        f"time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event\n{rows}"
    )


def _step(threads, scenario, interval_ms):
    batch = leosim.Batch(2, interval_ms=interval_ms, threads=threads)
    for index in range(2):
        batch.reset(index, scenario, {})
    batch.step(np.zeros((2, 1, batch.action_dim), np.float32))


AGENT = _scenario({"scheme": "agent"}, delay_ms=1)
LATE_AGENT = _scenario({"scheme": "agent", "start_s": 3599.9}, delay_ms=1)
"""Starts just before the end of the longest interval, so that the reset is short and the step is long."""


def _sgp4():
    orbit = np.array([[25.0, 0.9, 0.0, 1e-3, 0.0, 0.0, 0.065, 0.0]])
    count = 4_000_000
    leosim.Sgp4(orbit).positions_km(np.zeros(count), np.zeros(count, np.int64))


ENTRIES = {
    "run": lambda: leosim.run([_scenario(CUBIC)], {}),
    "run-on-threads": lambda: leosim.run([_scenario(CUBIC)] * 3, {}, threads=2),
    "run-of-a-flood": lambda: leosim.run([FLOOD], {}, series_ms=0),
    "run-of-bursts": lambda: leosim.run([BURSTS], {}, series_ms=0, interval_ms=3.6e6),
    "run-without-packets": lambda: leosim.run([IDLE], {}, series_ms=0.1),
    "run-building": lambda: leosim.run([ARRIVALS], {}),
    "advance": lambda: leosim.Simulation(_scenario(CUBIC), {}).advance(HOURS),
    "reset": lambda: leosim.Batch(1, interval_ms=3.6e6).reset(0, AGENT, {}),
    "step": lambda: _step(1, LATE_AGENT, 3.6e6),
    "step-on-threads": lambda: _step(2, LATE_AGENT, 3.6e6),
    "plan_links": lambda: leosim.plan_links(
        json.dumps({"duration_s": 3e9, "links": {"l": {"trace": "t"}}, "flows": [{**CUBIC, "route": ["l"]}]}),
        {"t": _path_trace()},
    ),
    "base_rtt_steps": lambda: leosim.base_rtt_steps(
        np.broadcast_to(0.0, 2_000_000_000), np.broadcast_to(20.0, 2_000_000_000)
    ),
    "losses": lambda: leosim.losses(1e-9, 1, 4_000_000_000),
    "sgp4": _sgp4,
}


class _AlarmError(Exception):
    pass


def _raise(_number, _frame):
    raise _AlarmError


@pytest.fixture
def alarm():
    before = signal.signal(signal.SIGALRM, _raise)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_handler_that_raises_ends_each_long_computation(entry, alarm):
    begin = time.process_time()
    alarm(0.1)
    with pytest.raises(_AlarmError):
        ENTRIES[entry]()
    # Its own time, as the machine is shared; two threads take twice as much.
    assert time.process_time() - begin < SOON_S


@pytest.mark.parametrize("threads", [1, 2])
def test_a_check_that_raises_ends_a_run_on_any_thread(threads):
    checks = []

    def check():
        checks.append(threading.get_ident())
        if len(checks) == 3:
            raise _AlarmError

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(leosim.run, [_scenario(CUBIC)] * 2, {}, threads=threads, check=check)
        with pytest.raises(_AlarmError):
            run.result()
        simulation = leosim.Simulation(_scenario(CUBIC), {})
        advance = pool.submit(simulation.advance, HOURS, check=check)
        checks.clear()
        with pytest.raises(_AlarmError):
            advance.result()
    assert len(set(checks)) == 1
    assert threading.get_ident() not in checks


def test_a_handler_that_returns_changes_nothing(alarm):
    looks = []
    signal.signal(signal.SIGALRM, lambda *_: looks.append(time.process_time()))
    scenario = _scenario(CUBIC, duration_s=400)
    [alone] = leosim.run([scenario], {})
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    [watched] = leosim.run([scenario], {})
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert looks
    assert watched.flows == alone.flows


def test_an_interrupted_simulation_goes_on_and_an_interrupted_batch_asks_for_a_reset(alarm):
    scenario = _scenario(CUBIC, duration_s=3000)
    full, pieces = leosim.Simulation(scenario, {}), leosim.Simulation(scenario, {})
    full.advance(3000)
    alarm(0.06)
    with pytest.raises(_AlarmError):
        pieces.advance(3000)
    assert not pieces.finished
    pieces.advance(3000)
    assert pieces.run_log().flows == full.run_log().flows

    batch = leosim.Batch(1, interval_ms=3.6e6)
    batch.reset(0, LATE_AGENT, {})
    actions = np.zeros((1, 1, batch.action_dim), np.float32)
    alarm(0.1)
    with pytest.raises(_AlarmError):
        batch.step(actions)
    with pytest.raises(leosim.InputError, match="simulation 0: a signal interrupted"):
        batch.step(actions)
    batch.reset(0, LATE_AGENT, {})


CHILD = """
import signal, sys, leosim
def end(number, frame):
    raise SystemExit(128 + number)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
leosim.run([sys.argv[1]], {})
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_a_process_that_simulates_hours_ends_at_the_first_signal(number, status):
    command = [sys.executable, "-c", CHILD, _scenario(CUBIC)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        try:
            assert child.wait(30) == status
        finally:
            child.kill()
