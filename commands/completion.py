"""``leogym completion SHELL``: print the script with which a shell completes this command."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import shtab

from leogym.agents import train_cli
from leogym.agents.training import registry
from leogym.agents.training.settings import TRACKERS
from leogym.commands import agents
from leogym.commands.__main__ import COMMANDS, load
from leogym.common.command_line import OneLineParser, as_folder, leogym_command
from leogym.common.errors import reports_input_errors
from leogym.configs import names, suite
from leogym.configs import network as networks
from leogym.evaluation import cli as evaluate
from leogym.evaluation.fidelity import __main__ as fidelity
from leogym.evaluation.leobench import __main__ as leobench
from leogym.evaluation.network import __main__ as network
from leogym.evaluation.runs.backends import BACKENDS
from leogym.evaluation.runs.schemes import GROUPS, shipped
from leogym.kernel_bridge import __main__ as bridge
from leogym.kernel_bridge.lab import lab_command as lab
from leogym.traces import __main__ as traces
from leogym.traces.orbit import constellation, places
from leogym.traces.path import named_paths, synth

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "leogym completion"
INSTALL = {
    "bash": f'eval "$({leogym_command("completion", "bash")})"  # in ~/.bashrc',
    "zsh": f"{leogym_command('completion', 'zsh')} > ~/.zfunc/_leogym  # in fpath, before compinit",
    "fish": f"{leogym_command('completion', 'fish')} > ~/.config/fish/completions/leogym.fish",
}


def script(shell: str) -> str:
    """Return the completion of ``leogym`` and its commands for one of `SHELLS`."""
    return shtab.complete(whole(), shell)


def whole() -> argparse.ArgumentParser:
    """Return the parser of ``leogym`` with those of all its commands, and what completes their values."""
    root = OneLineParser(prog="leogym")
    commands = root.add_subparsers(dest="command")
    parsers = {
        "train": train_cli.parser,
        "evaluate": evaluate.parser,
        "leobench": leobench.parser,
        "fidelity": fidelity.parser,
        "network": network.parser,
        "traces": traces.parser,
        "agents": agents.parser,
        "lab": lab.parser,
        "bridge": bridge.parser,
        "completion": parser,
    }
    if (papers := load("papers")) is not None:
        parsers["papers"] = papers.parser
    for name, make in parsers.items():
        commands.add_parser(name, help=COMMANDS[name][1], parents=[make()], add_help=False)
    _annotate(root, ())
    return root


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    lines = [f"{shell}: {line}" for shell, line in INSTALL.items()]
    command_parser = OneLineParser(
        prog=PROGRAM,
        description="Print the script with which a shell completes leogym's commands, options and names.",
        examples=("bash", "fish"),
        epilog=" ".join(["To install it:", "; ".join(lines)]),
    )
    command_parser.add_argument("shell", choices=SHELLS)
    return command_parser


@reports_input_errors
def main() -> int:
    """Run the process's command line and return its exit status."""
    print(script(parser().parse_args(sys.argv[1:]).shell))
    return 0


def _suites() -> list[str]:
    return ["report", "compare", *suite.shipped(), *names.scenarios()]


def _paths() -> list[str]:
    return [*named_paths.names(), *synth.PRESETS]


def _cities() -> list[str]:
    return [city.key for city in places.best_known()]


def _schemes() -> list[str]:
    return [*GROUPS, *BACKENDS["simulator"].schemes(), *shipped()]


_NAMES: dict[tuple[str, ...], Callable[[], Iterable[str]]] = {
    ("train", "agent"): registry.trainable,
    ("train", "backend"): lambda: BACKENDS,
    ("train", "engine"): lambda: ("native", "sb3", "rllib"),
    ("train", "track"): lambda: ("none", *TRACKERS, ",".join(TRACKERS)),
    ("evaluate", "schemes"): _schemes,
    ("evaluate", "backend"): lambda: BACKENDS,
    ("papers", "schemes"): _schemes,
    ("papers", "backend"): lambda: BACKENDS,
    ("network", "run", "schemes"): _schemes,
    ("traces", "build", "name"): named_paths.names,
    ("traces", "build", "origin"): _cities,
    ("traces", "build", "destination"): _cities,
    ("traces", "synth", "name"): lambda: synth.PRESETS,
}
"""Names of a value, by command and argument."""
_NAMES_AND_FILES: dict[tuple[str, ...], Callable[[], Iterable[str]]] = {
    ("evaluate", "suites"): _suites,
    ("papers", "suites"): _suites,
    ("traces", "build", "constellation"): constellation.names,
    ("traces", "shared", "constellation"): constellation.names,
    **{("network", what, "network"): networks.names for what in ("info", "check", "build", "run")},
    ("traces", "plot", "file"): _paths,
    ("traces", "export", "file"): _paths,
}
"""Names beside which a file may stand."""


def _annotate(of: argparse.ArgumentParser, at: tuple[str, ...]) -> None:
    """Give each argument of a parser, and of those below it, what completes it."""
    for action in of._actions:
        here = (*at, action.dest)
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                _annotate(below, (*at, name))
        elif here in _NAMES:
            action.choices = sorted(_NAMES[here]())
        elif here in _NAMES_AND_FILES:
            _complete(action, _with_files("_".join(here).replace("-", "_"), sorted(_NAMES_AND_FILES[here]())))
        elif action.type is as_folder or (action.type is Path and action.metavar == "DIR"):
            _complete(action, shtab.DIRECTORY)
        elif action.type is Path:
            _complete(action, shtab.FILE)


def _complete(action: argparse.Action, how: Any) -> None:
    action.complete = how  # type: ignore[attr-defined]  # shtab's name


def _with_files(name: str, words: list[str]) -> dict[str, Any]:
    """Return shtab's description of an argument that is one of ``words`` or a file."""
    function, listed = f"_leogym_{name}_or_files", " ".join(words)
    return {
        "bash": function,
        "zsh": function,
        "fish": f"{listed} (__fish_complete_path (commandline -ct))",
        "preamble": {
            "bash": f'{function}() {{\n  compgen -W "{listed}" -- "$1"\n  compgen -f -- "$1"\n}}\n',
            "zsh": f"{function}() {{\n  _alternative 'names:name:({listed})' 'files:file:_files'\n}}\n",
        },
    }
