"""The command ``leogym traces`` for tests."""

import shlex
import sys
from pathlib import Path

import pytest

from leogym.traces.__main__ import main


@pytest.fixture
def run_traces(monkeypatch):
    """Return a function that runs ``leogym traces`` in this process and returns its exit status.

    It splits texts into words as a shell does, and takes a path as one word.
    """

    def run(*parts: str | Path) -> int | str | None:
        words = (shlex.split(part) if isinstance(part, str) else [str(part)] for part in parts)
        monkeypatch.setattr(sys, "argv", ["traces", *(word for part in words for word in part)])
        try:
            return main()
        except SystemExit as ended:
            return ended.code

    return run


@pytest.fixture
def refused_traces(run_traces, capsys):
    """Return a function that runs a bad command and returns its only line, which is on standard error."""

    def run(*parts: str | Path) -> str:
        assert run_traces(*parts) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert not captured.out
        return captured.err

    return run
