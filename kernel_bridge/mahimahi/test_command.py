"""Real sessions: they run the command, return its results and leave nothing on the machine."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.mahimahi import Delay, Link, Loss, Server, missing, read_log, run
from tests.support.real_time import machine_state

pytestmark = pytest.mark.real_time

LACK = missing()
LIMIT_S = 60
"""Only guards against hangs."""

needs_mahimahi = pytest.mark.skipif(LACK is not None, reason=LACK or "")


@pytest.fixture
def open_folder():
    """A folder that an ordinary user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def trace(tmp_path):
    """12 Mbit/s."""
    path = tmp_path / "12.trace"
    path.write_text("1\n")
    return path


@needs_mahimahi
def test_a_command_runs_as_an_ordinary_user_behind_the_shells_and_its_status_comes_back():
    finished = run([Delay(7)], ["sh", "-c", "id -u; echo $MAHIMAHI_BASE; exit 7"], timeout_s=LIMIT_S)
    uid, base = finished.stdout.split()
    assert int(uid) != 0
    assert base.startswith(("100.64.", "10."))
    assert finished.status == 7
    assert finished.command_line == "mm-delay 7 sh -c 'id -u; echo $MAHIMAHI_BASE; exit 7'"


@needs_mahimahi
def test_nested_shells_carry_traffic_to_a_server_outside_and_leave_the_machine_as_it_was(tmp_path, trace):
    before = machine_state()
    link = Link(trace, trace, uplink_log=tmp_path / "up.log")
    finished = run(
        [Delay(25), Loss("downlink", 0.0), link],
        ["sh", "-c", "exec iperf3 --json --bytes 100K --client $MAHIMAHI_BASE"],
        servers=[Server(["iperf3", "--server", "--one-off"], 5201)],
        timeout_s=LIMIT_S,
    )
    stream = json.loads(finished.stdout)["end"]["streams"][0]
    # 2 × 25 ms, on mahimahi's clock of whole milliseconds.
    assert stream["sender"]["min_rtt"] >= 49_000, "µs"
    log = read_log(tmp_path / "up.log")
    assert log.departure_bytes.sum() > stream["receiver"]["bytes"] > 0
    assert "mahimahi config: [delay 25 ms] [loss down=0]" in " ".join(log.header)
    assert machine_state() == before


@needs_mahimahi
def test_a_trace_that_mahimahi_refuses_is_named_as_the_caller_knows_it(tmp_path, trace):
    empty = tmp_path / "empty.trace"
    empty.touch()
    with pytest.raises(RuntimeError, match=re.escape(str(empty))):
        # A command that ends before mahimahi reads its trace would hide the error.
        run([Link(trace, empty)], ["sleep", "10"], timeout_s=LIMIT_S)
    with pytest.raises(InputError, match=r"absent\.trace: cannot be read: No such file"):
        run([Link(trace, tmp_path / "absent.trace")], ["true"], timeout_s=LIMIT_S)


@needs_mahimahi
def test_a_server_that_ends_before_it_listens_is_an_error():
    with pytest.raises(RuntimeError, match="false: the server ended with 1 before it listened on 5201"):
        run([], ["true"], servers=[Server(["false"], 5201)], timeout_s=LIMIT_S)


@needs_mahimahi
def test_a_session_past_its_limit_is_ended_with_all_it_started():
    before = machine_state()
    with pytest.raises(TimeoutError, match=r"not done after 0\.5 s"):
        run([Delay(1)], ["sleep", "1000"], timeout_s=0.5)
    assert machine_state() == before


@needs_mahimahi
def test_a_killed_caller_takes_every_process_of_its_session_along(open_folder):
    before = machine_state()
    report = open_folder / "report"
    os.mkfifo(report)
    report.chmod(0o666)
    reader = os.open(report, os.O_RDONLY | os.O_NONBLOCK)
    script = f"readlink /proc/self/ns/pid >{report}; exec sleep 1000"
    code = (
        f"from kernel_bridge.mahimahi import Delay, run; run([Delay(1), Delay(2)], ['sh', '-c', {script!r}])"
    )
    caller = subprocess.Popen([sys.executable, "-c", code])
    try:
        # The command runs once all shells are up, and reports its PID namespace.
        assert select.select([reader], [], [], LIMIT_S)[0], "the session did not begin"
        inside = _processes_in(os.read(reader, 100).decode().strip())
        assert len(inside) > 2, "two shells, the command and the namespace's first process"
    finally:
        os.close(reader)
        caller.send_signal(signal.SIGKILL)
        caller.wait()
    for process in inside:
        assert select.select([process], [], [], LIMIT_S)[0], "a process outlived its session"
        os.close(process)
    # A killed caller leaves its folder in /tmp.
    for folder in machine_state(caller.pid)["folders"]:
        shutil.rmtree(folder)
    assert machine_state(caller.pid) == before


def _processes_in(namespace):
    """Return pidfds of all processes in a PID namespace."""
    descriptors = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "ns" / "pid") == namespace:
                descriptors.append(os.pidfd_open(int(entry.name)))
    return descriptors


def test_an_ordinary_user_gets_one_line_that_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InputError) as caught:
        run([Delay(1)], ["true"])
    assert "\n" not in str(caught.value)
    assert re.search("is not installed|need root", str(caught.value))
