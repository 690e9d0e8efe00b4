"""Real processes: each prints a line where a signal is to meet it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from leogym.common.processes import descendants

GUARD_S = 60
"""Guards against hanging; commands should end within 2 s."""
START = """
import ctypes, os, signal, sys, threading, time
from leogym.common import signals
from leogym.common.errors import reports_input_errors
from leogym.common.processes import Pool

def ready(word="ready"):
    os.write(1, f"{word}\\n".encode())  # in one piece, beside other processes of a pool

def forever():
    threading.Event().wait()

def compiled():
    # A mutex that its holder locks again: no signal wakes the call, and the GIL is free.
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)

def task(_):
    ready()
    forever()
"""
MAIN = """
if __name__ == "__main__":
    raise SystemExit(reports_input_errors(main)())
"""


@contextmanager
def started(tmp_path, body: str, lines: int = 1) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a process group of its own, and wait for its first lines."""
    program = tmp_path / "program.py"
    program.write_text(START + textwrap.dedent(body) + MAIN)
    process = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        for _ in range(lines):
            assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("where", "number"), [("forever", signal.SIGINT), ("compiled", signal.SIGTERM)])
def test_the_first_signal_ends_a_command_in_one_line_also_in_compiled_code(tmp_path, where, number) -> None:
    body = f"""
    def main():
        signals.on_interrupt("interrupted: all is kept")
        ready()
        {where}()
    """
    with started(tmp_path, body) as process:
        process.send_signal(number)
        _, stderr = process.communicate(timeout=GUARD_S)
    assert (process.returncode, stderr) == (128 + number, "interrupted: all is kept\n")


def test_a_second_signal_ends_a_clean_up_at_once(tmp_path) -> None:
    body = """
    def main():
        signals.on_interrupt(grace_s=1000)
        try:
            ready()
            forever()
        finally:
            ready()
            compiled()
    """
    with started(tmp_path, body) as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=GUARD_S)
    assert (process.returncode, stderr) == (128 + signal.SIGTERM, "interrupted\n")


def test_the_grace_time_may_end_while_the_line_is_written(tmp_path) -> None:
    body = """
    def main():
        signals.on_interrupt(grace_s=0.1)
        leaving, watch = threading.Event(), signals._active
        print_line = watch.print_line

        def noticed(write):
            if threading.current_thread() is not threading.main_thread():
                leaving.set()
            print_line(write)

        def late(line):
            leaving.wait()
            time.sleep(0.3)  # longer than the process would take to end
            os.write(2, line.encode())

        watch.print_line, sys.stderr.write = noticed, late
        ready()
        forever()
    """
    with started(tmp_path, body) as process:
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=GUARD_S)
    assert (process.returncode, stderr) == (130, "interrupted\n")


def test_a_command_with_handlers_of_its_own_ends_by_itself(tmp_path) -> None:
    body = """
    def main():
        asked = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: asked.set())
        signals.on_interrupt(grace_s=0.001)
        ready()
        while not asked.wait(0.01):
            pass
        time.sleep(0.1)  # longer than the grace time
        print("checkpoint written")
        return 3
    """
    with started(tmp_path, body) as process:
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=GUARD_S) == ("checkpoint written\n", "")
    assert process.returncode == 3


@pytest.mark.parametrize("how", ["process", "group", "killed"])
def test_a_pools_processes_end_with_their_parent_and_print_nothing(tmp_path, how) -> None:
    body = """
    def main():
        with Pool(2) as pool:
            list(pool.map(task, range(9)))
    """
    with started(tmp_path, body, lines=2) as process:
        assert len(descendants(process.pid)) >= 2
        if how == "killed":
            process.kill()
        elif how == "group":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        output, stderr = process.communicate(timeout=GUARD_S)  # until all have closed stdout and stderr
    if how == "killed":
        assert "Traceback" not in stderr
    else:
        assert (output, stderr) == ("", "interrupted\n")
    assert process.returncode == (-signal.SIGKILL if how == "killed" else 130)


def test_a_command_that_ends_leaves_the_signals_as_they_were() -> None:
    from leogym.common.errors import reports_input_errors

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert reports_input_errors(lambda: 5)() == 5
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert "signals" not in [thread.name for thread in threading.enumerate()]
