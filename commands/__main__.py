"""The command ``leogym COMMAND``."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import leogym
from leogym.common import entry_point

COMMANDS = {
    "train": ("leogym.agents.train_cli", "train an agent"),
    "evaluate": ("leogym.evaluation.cli", "run suites and scenarios, and write their report"),
    "papers": ("studies.papers.__main__", "check papers' claims against our runs (in a checkout)"),
    "leobench": (
        "leogym.evaluation.leobench.__main__",
        "judge entries by the benchmark; board, versions",
    ),
    "fidelity": ("leogym.evaluation.fidelity.__main__", "compare the simulator with the Linux kernel"),
    "network": ("leogym.evaluation.network.__main__", "check, route and run whole networks of satellites"),
    "traces": ("leogym.traces.__main__", "build, check, plot, import and export path traces"),
    "agents": ("leogym.commands.agents", "import, judge, search, plot and ship policies"),
    "lab": ("leogym.kernel_bridge.lab.lab_command", "run scenarios on a stock Linux kernel in virtual time"),
    "bridge": ("leogym.kernel_bridge.__main__", "check and clean this machine for runs on real TCP; tunnels"),
    "completion": ("leogym.commands.completion", "print the completion of this command for a shell"),
}
NO_STUDIES = "the studies are in LeoGym's repository, not in its wheel: clone it and run this command there"
HELP = """
examples:
  leogym traces build sd-ny-isl --duration 300 --out sd-ny.csv
  leogym evaluate leo-single --quick --schemes cubic,astraea
  leogym train --agent astraea --minutes 30 --out runs/a

leogym COMMAND --help explains a command."""


def main() -> int:
    """Run the command line and return its exit status."""
    return entry_point.started(lambda: run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """Run the command that ``words`` name and return its exit status."""
    if not words or words[0] in ("-h", "--help"):
        lines = [f"  {name:10} {summary}" for name, (_, summary) in COMMANDS.items()]
        print("usage: leogym COMMAND …\n", *lines, HELP, sep="\n", flush=True)
        return 0
    if words == ["--version"]:
        print(f"leogym {leogym.__version__}")
        return 0
    if words[0] not in COMMANDS:
        from leogym.common.nearest import suggest_names  # here, as all imports that take time

        print(f"leogym: {words[0]}: no such command {suggest_names(words[0], COMMANDS)}", file=sys.stderr)
        return 2
    sys.argv[:] = [f"leogym {words[0]}", *words[1:]]
    module = load(words[0])  # here, to handle Ctrl-C during the import
    if module is None:
        print(f"leogym {words[0]}: {NO_STUDIES}", file=sys.stderr)
        return 2
    return module.main()


def load(command: str) -> ModuleType | None:
    """Import a command's module; return None for a study's outside of a checkout."""
    name = COMMANDS[command][0]
    if not name.startswith("leogym."):
        repository = Path(leogym.__file__).resolve().parents[1]
        if not repository.joinpath(*name.split(".")).with_suffix(".py").is_file():
            return None
        sys.path.insert(0, str(repository))
    return importlib.import_module(name)


if __name__ == "__main__":
    raise SystemExit(main())
