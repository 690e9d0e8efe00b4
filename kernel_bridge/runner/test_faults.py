"""Runs with killed processes or a busy machine end with one line of error and leave nothing behind."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from leogym.common.processes import descendants
from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.runner.backends import BACKENDS
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.run import Run, check
from leogym.kernel_bridge.runner.run_folder import TooSlowError
from tests.support.bridge_world import POLICY
from tests.support.real_time import machine_state
from tests.support.scenarios import one_link

pytestmark = pytest.mark.real_time

LACK = LeoLinks().missing() or bridge_process.missing()
needs_everything = pytest.mark.skipif(LACK is not None, reason=LACK or "")
TRIALS = [1, pytest.param(20, marks=pytest.mark.soak)]


def _planned(duration_s, backend):
    scenario = one_link(duration_s, {"rate_mbps": 12, "delay_ms": 5}, "cubic", "mine")
    return check(scenario, {}, backend, ["mine"])


@needs_everything
@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize(
    ("backend", "victim", "expected"),
    [
        ("kernel", "mm-leo", r"\bmm-leo\b.*: killed"),
        ("mahimahi", "mm-link", r"\bmm-link\b.*: killed"),
        ("mahimahi", "mm-delay", r"\bmm-delay\b.*: killed"),
        ("kernel", "traffic", "a flow's end was ended by SIGKILL"),
        ("kernel", "unshare", "the run was ended by SIGKILL"),
        ("kernel", "leo-bridge", "leo-bridge: ended before the run, or was killed"),
    ],
)
def test_a_run_whose_part_is_killed_at_any_moment_says_so_and_leaves_nothing(
    backend, victim, expected, trials
):
    draw = random.Random(f"{victim}{trials}")
    links = BACKENDS[backend]()
    planned = _planned(10, links)
    before = machine_state()
    for _ in range(trials):
        with Run(planned, links, {"mine": POLICY}) as run:
            run.begin()
            pids = [pid for pid, name in descendants(os.getpid()).items() if name == victim]
            chosen = draw.choice(sorted(pids))
            time.sleep(draw.uniform(0, 1))  # a random moment, perhaps before the end on a busy machine
            os.kill(chosen, signal.SIGKILL)
            with pytest.raises(RuntimeError) as caught:
                run.finish()
        assert re.search(expected, str(caught.value)), caught
        assert "\n" not in str(caught.value)
        assert "Traceback" not in str(caught.value)
        assert machine_state() == before


@pytest.mark.skipif(mahimahi.missing() is not None, reason=mahimahi.missing() or "")
@pytest.mark.parametrize("trials", TRIALS)
def test_a_killed_iperf3_is_its_sessions_failure_and_leaves_nothing(trials):
    draw = random.Random(trials)
    before = machine_state()
    for _ in range(trials):
        done = []
        session = threading.Thread(
            target=lambda done=done: done.append(
                mahimahi.run(
                    [mahimahi.Delay(5)],
                    ["sh", "-c", "exec iperf3 --client $MAHIMAHI_BASE --congestion reno --time 30"],
                    servers=[mahimahi.Server(["iperf3", "--server", "--one-off"], port=5201)],
                    timeout_s=60,
                )
            )
        )
        session.start()
        iperf3 = []
        while session.is_alive() and len(iperf3) < 2:
            iperf3 = [pid for pid, name in descendants(os.getpid()).items() if name == "iperf3"]
        time.sleep(draw.uniform(0, 0.5))  # a random moment of the transfer
        os.kill(draw.choice(sorted(iperf3)), signal.SIGKILL)
        session.join()
        # Whether client or server dies, the command inside fails.
        assert done[0].status != 0
        assert machine_state() == before


# Keeps a core busy once its standard input ends.
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
os.read(0, 1)
end = time.monotonic() + 0.8
while time.monotonic() < end:
    pass
"""


@needs_everything
@pytest.mark.parametrize("backend", ["mahimahi", "kernel"])
def test_a_run_on_a_machine_whose_cores_are_all_busy_is_no_result(backend):
    links = BACKENDS[backend]()
    before = machine_state()
    with contextlib.ExitStack() as stack:
        reader, hold = os.pipe()
        hogs = []
        for core in os.sched_getaffinity(0):
            line = [sys.executable, "-I", "-c", HOG, str(core)]
            hogs.append(
                stack.enter_context(subprocess.Popen(line, stdin=reader, stdout=subprocess.PIPE, text=True))
            )
        os.close(reader)
        run = stack.enter_context(Run(_planned(3, links), links, {"mine": POLICY}))
        for hog in hogs:
            assert hog.stdout.readline() == "\n"
        run.begin()
        os.close(hold)  # starts all: the first to start could keep this process from starting the others
        try:
            invalid = run.finish().invalid
        except TooSlowError as error:
            invalid = str(error)
        assert [hog.wait() for hog in hogs] == [0] * len(hogs)
    assert invalid is not None
    assert re.search(r"late|too slow|too busy|fell back|read it|did not", invalid), invalid
    assert machine_state() == before
