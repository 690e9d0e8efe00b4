"""Every command on streams, locales and users as services and containers have them.

This file is also the program that starts the commands: it imports them once, in an ASCII locale, and forks
for each. A command gets streams that are closed or full, or a user without a home folder.
"""

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kills import in_child

ROOT = Path(__file__).resolve().parents[1]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
SCENARIO = """
# A comment with an é.
duration_s: 0.5
links: {l: {rate_mbps: 10, delay_ms: 5}}
flows: [{scheme: $scheme, route: [l]}]
"""
STATES = ("ascii", "closed", "stdout full", "stderr full", "homeless")
FAILS = {"nonsense", "traces plot", "odd name"}
"""Commands with bad input, which print one line to stderr and nothing to stdout."""


def commands(folder: Path) -> dict[str, list[str]]:
    """Return each command with little to do; the first writes what others read."""
    evaluate = ["evaluate", str(folder / "s.yaml"), "--schemes", "cubic", "--repeats", "1", "--cache", "none"]
    done = str(folder / "ascii")
    return {
        "evaluate": [*evaluate, "--out", "OUT"],
        "report": ["evaluate", "report", done],
        "compare": ["evaluate", "compare", done, done],
        "list": ["evaluate", "--list"],
        "evaluate leobench": ["evaluate", "leobench", "--help"],
        "leobench": ["leobench", "judge", "--help"],
        "fidelity": ["fidelity", "--help"],
        "evaluate help": ["evaluate", "--help"],
        "odd name": ["evaluate", os.fsdecode("é.yaml".encode())],
        "usage": [],
        "version": ["--version"],
        "nonsense": ["nonsense"],
        "network": ["network", "run", "--help"],
        "traces list": ["traces", "list"],
        "traces plot": ["traces", "plot", str(folder / "nothing.csv"), "--out", "OUT.svg"],
        "traces help": ["traces", "build", "--help"],
        "agents": ["agents", "--help"],
        "train": ["train", "--help"],
        "bridge": ["bridge", "--help"],
        "lab": ["lab", "--help"],
        "completion": ["completion", "bash"],
    }


HEAVY = ("evaluate", "report")
"""Commands that draw a page; two states are enough."""


pytestmark = pytest.mark.xdist_group("commands")  # the fixture takes half a minute


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """Return exit status, stdout and stderr of each command in each state."""
    folder = tmp_path_factory.mktemp("commands")
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_every_command", str(folder)],
        cwd=ROOT,
        env=os.environ | ASCII,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "ended.json").read_text())


def of_state(ended: dict[str, tuple[int, str, str]], state: str) -> Iterator[tuple[str, int, str, str]]:
    for key, found in ended.items():
        name, _, its = key.partition(": ")
        if its == state:
            yield name, *found


def usual(name: str) -> int:
    return 2 if name in FAILS else 0


def test_an_ascii_locale_degrades_characters_and_no_command_fails(ended) -> None:
    for name, status, out, err in of_state(ended, "ascii"):
        assert status == usual(name), (name, err)
        assert (out + err).isascii(), name
        assert "Traceback" not in err, name
        assert name not in FAILS or err.count("\n") == 1, err
    assert "Delay inflation (x)" in ended["evaluate: ascii"][1]
    assert "usage: leogym COMMAND ..." in ended["usage: ascii"][1]


def test_closed_streams_change_no_exit_status(ended) -> None:
    for name, status, _, _ in of_state(ended, "closed"):
        assert status == usual(name), name


def test_a_full_stdout_is_one_line_and_status_2(ended) -> None:
    for name, status, _, err in of_state(ended, "stdout full"):
        if name not in FAILS:
            assert (status, err) == (2, "standard output: No space left on device\n"), name


def test_a_full_stderr_changes_no_exit_status(ended) -> None:
    for name, status, _, _ in of_state(ended, "stderr full"):
        assert status == usual(name), name


def test_a_user_without_home_and_passwd_entry_fails_nowhere(ended) -> None:
    for name, status, _, err in of_state(ended, "homeless"):
        assert status == usual(name), (name, err)
        assert "Traceback" not in err, name


def main(folder: Path) -> None:
    """Run every command in every state; write how they ended to ``folder``."""
    import scipy.stats  # noqa: F401  # once, not in each fork

    from leogym.agents import train_cli as _train  # noqa: F401
    from leogym.commands import agents as _agents  # noqa: F401
    from leogym.commands.__main__ import main as leogym
    from leogym.evaluation import evaluating as _evaluate  # noqa: F401
    from leogym.kernel_bridge import __main__ as _bridge  # noqa: F401
    from leogym.traces import __main__ as _traces  # noqa: F401

    (folder / "s.yaml").write_text(SCENARIO, encoding="utf-8")
    os.chdir(folder)
    Path(os.fsdecode("é.yaml".encode())).write_text(SCENARIO, encoding="utf-8")
    ended = {}
    for state in STATES:
        for name, words in commands(folder).items():
            if name in HEAVY and state not in ("ascii", "homeless"):
                continue
            sys.argv = ["leogym", *(str(folder / state) if word == "OUT" else word for word in words)]
            out, err = folder / "stdout", folder / "stderr"
            out.write_bytes(b"")
            err.write_bytes(b"")

            def work(state: str = state, out: Path = out, err: Path = err) -> int:
                _enter(state, out, err)
                return leogym()

            status = in_child(work)
            ended[f"{name}: {state}"] = (status, *(path.read_text("utf-8", "replace") for path in (out, err)))
    (folder / "ended.json").write_text(json.dumps(ended))


def _enter(state: str, out: Path, err: Path) -> None:
    """Change this process's streams and user."""
    targets = {1: "/dev/full" if state == "stdout full" else str(out)}
    targets[2] = "/dev/full" if state == "stderr full" else str(err)
    for descriptor, path in targets.items():
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), descriptor)
    if state == "closed":
        sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]  # as Python starts
        for descriptor in range(3):
            os.close(descriptor)
    if state == "homeless":
        for name in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "LEOGYM_CACHE", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        pwd.getpwuid = pwd.getpwnam = _no_entry  # type: ignore[assignment]


def _no_entry(*_: object) -> None:
    raise KeyError("uid not found")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
