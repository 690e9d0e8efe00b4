import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leogym.common.processes import descendants
from tests.support.lateness import Lateness

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest
from tests.support.lateness import skip_late

def runs(name):
    with open("runs", "a") as file:
        print(name, file=file)

@pytest.mark.real_time
def test_late():
    runs("late")
    skip_late("this machine stood still")

@pytest.mark.real_time
def test_not_possible():
    runs("not possible")
    pytest.skip("this machine has no such program")

@pytest.mark.real_time
def test_in_time():
    runs("in time")

def test_without_clock():
    runs("without clock")
"""


def test_a_machine_that_stood_still_is_a_reason_to_skip_and_one_that_did_not_is_none():
    children = set(descendants(os.getpid()))
    with Lateness(prompt=False) as lateness:
        sleepers = set(descendants(os.getpid())) - children
        assert len(sleepers) == len(os.sched_getaffinity(0))
        for sleeper in sleepers:
            os.kill(sleeper, signal.SIGSTOP)
        time.sleep(0.05)  # measured as lateness
        for sleeper in sleepers:
            os.kill(sleeper, signal.SIGCONT)
    assert lateness.worst_ms > 45
    assert lateness.quantile_ms(0.0) <= lateness.quantile_ms(0.99) <= lateness.worst_ms
    lateness.skip_above(lateness.worst_ms)
    with pytest.raises(pytest.skip.Exception, match="this machine stood still for"):
        lateness.skip_above(45)
    with pytest.raises(pytest.skip.Exception, match="99th percentile"):
        lateness.skip_above(math.inf, often_ms=-1)


def test_the_late_part_runs_the_late_tests_of_the_last_real_time_part_again(tmp_path):
    (tmp_path / "test_parts.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = real_time\n")
    # A second late part runs them again, too; a real-time part begins anew.
    for part, ran in (
        ("real-time", ["late", "not possible", "in time"]),
        ("late", ["late"]),
        ("late", ["late"]),
        ("shared", ["without clock"]),
    ):
        line = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:xdist", "--part", part]
        path = {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
        subprocess.run(line, cwd=tmp_path, env=os.environ | path, check=True, stdout=subprocess.DEVNULL)
        assert (tmp_path / "runs").read_text().splitlines() == ran
        (tmp_path / "runs").unlink()
