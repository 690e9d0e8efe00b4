import io
import time

import pytest
from rich.console import Console

from leogym.common import progress
from leogym.common.progress import Progress


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    output = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda stderr: Console(file=output, width=100))
    return output


def test_a_log_gets_a_line_for_each_tenth(stderr: io.StringIO) -> None:
    with Progress("reading x", 100, quiet_s=0.0) as bar:
        for _ in range(100):
            bar.advance(1)
    assert stderr.getvalue().splitlines() == [f"reading x: {10 * part} %" for part in range(1, 11)]


def test_a_job_without_work_is_done(stderr: io.StringIO) -> None:
    with Progress("reading x", 0, quiet_s=0) as bar:
        bar.advance(0)
    assert stderr.getvalue() == "reading x: 100 %\n"


def test_a_short_job_prints_nothing(stderr: io.StringIO) -> None:
    with Progress("reading x", 2) as bar:
        bar.advance(2)
    assert stderr.getvalue() == ""


def test_a_long_job_prints_what_is_left_once_it_is_long(
    stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    with Progress("building [x]", 10) as bar:
        bar.advance(5)
        now_s[0] = progress.FIRST_LINE_DELAY_S
        bar.advance(1)
    assert stderr.getvalue() == "building [x]: 60 %, 7 s left\n"


def test_a_terminal_gets_a_bar_that_it_loses_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = io.StringIO()
    monkeypatch.setattr(
        progress, "Console", lambda stderr: Console(file=drawn, force_terminal=True, width=100, _environ={})
    )
    monkeypatch.setattr(progress, "BAR_DELAY_S", 0.0)
    with Progress("building x", 10) as bar:
        bar.advance(5)
    assert "building x" in drawn.getvalue()
    assert "50%" in drawn.getvalue()
    assert drawn.getvalue().endswith("\x1b[2K")
