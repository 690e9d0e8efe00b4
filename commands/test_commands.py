import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from leogym.agents import train_cli
from leogym.commands import __main__ as command
from leogym.commands import agents, completion
from leogym.commands.__main__ import COMMANDS
from leogym.evaluation import cli as evaluate
from leogym.evaluation.compare import command as compare
from leogym.evaluation.fidelity import __main__ as fidelity
from leogym.evaluation.leobench import __main__ as leobench
from leogym.evaluation.network import __main__ as network
from leogym.kernel_bridge import __main__ as bridge
from leogym.kernel_bridge.lab import lab_command as lab
from leogym.traces import __main__ as traces
from studies.papers import __main__ as papers


def parsers(of: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield below
                yield from parsers(below)


TOP = {
    "train": train_cli.parser,
    "evaluate": evaluate.parser,
    "papers": papers.parser,
    "leobench": leobench.parser,
    "fidelity": fidelity.parser,
    "network": network.parser,
    "traces": traces.parser,
    "agents": agents.parser,
    "lab": lab.parser,
    "bridge": bridge.parser,
    "completion": completion.parser,
}
MADE = {name: make() for name, make in TOP.items()}
ALL = [
    *(one for parser in MADE.values() for one in (parser, *parsers(parser))),
    evaluate.report_parser(),
    evaluate.report_parser(papers.PROGRAM),
    compare.parser(),
]


def examples(parser: argparse.ArgumentParser) -> list[str]:
    return re.findall(r"^  (leogym .*)$", parser.format_help(), re.MULTILINE)


def test_every_command_has_a_parser_here() -> None:
    assert set(TOP) == set(COMMANDS)


@pytest.mark.parametrize("parser", ALL, ids=lambda parser: parser.prog)
def test_help_names_the_command_as_called_and_has_examples(parser: argparse.ArgumentParser) -> None:
    assert parser.format_help().startswith(f"usage: {parser.prog}")
    found = examples(parser)
    assert found
    assert all(line.startswith(parser.prog) for line in found)
    assert "python " not in parser.format_usage()


@pytest.mark.parametrize(
    ("parser", "line"),
    [(parser, line) for parser in ALL for line in examples(parser)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_examples_parse(parser: argparse.ArgumentParser, line: str) -> None:
    words = shlex.split(line)[len(parser.prog.split()) :]
    others = {"report": evaluate.report_parser, "compare": compare.parser}
    if parser.prog in ("leogym evaluate", "leogym papers") and words[0] in others:
        parser = others[words.pop(0)]()
    parser.parse_args(words)


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "--version",
        "evaluate --list",
        "evaluate --help",
        "train --help",
        "leobench --help",
        "traces --help",
        "agents --help",
        "lab --help",
        "bridge --help",
    ],
)
def test_what_only_prints_imports_no_package_that_takes_a_second(line: str) -> None:
    slow = (
        "jinja2",
        "matplotlib",
        "pandas",
        "pettingzoo",
        "polars",
        "pyarrow",
        "ray",
        "scipy",
        "sgp4",
        "torch",
    )
    script = (
        "import atexit, sys; from leogym.commands.__main__ import main; "
        f"atexit.register(lambda: print(*{set(slow)!r} & sys.modules.keys(), file=sys.stderr)); "
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *line.split()], capture_output=True, text=True, check=True
    )
    assert done.stdout
    assert done.stderr == "\n"


@pytest.mark.parametrize(
    "line", ["--help", "traces list", "traces --help", "evaluate --list", "completion zsh", "train --help"]
)
def test_every_command_ends_quietly_on_a_closed_pipe(line: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "leogym", *line.split()]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""
    # argparse ignores that it cannot print a help.
    assert done.returncode in ((0, 141) if "--help" in line else (141,))


def test_a_study_outside_of_a_checkout_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command.leogym, "__file__", str(tmp_path / "leogym" / "__init__.py"))
    assert command.run(["papers", "--quick"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"leogym papers: {command.NO_STUDIES}\n"


def test_a_wrong_command_is_answered_by_the_nearest() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "leogym", "evalute"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"leogym: evalute: no such command (nearest: evaluate; there are: {', '.join(COMMANDS)})\n"
    )
