"""The command ``leogym train|evaluate|traces|agents|bridge``."""

import importlib
import sys

COMMANDS = {
    "train": ("leogym.agents.train_cli", "train an agent"),
    "evaluate": ("leogym.evaluation.cli", "run suites and write their report"),
    "traces": ("leogym.traces.__main__", "build, check, plot, import and export path traces"),
    "agents": ("leogym.agents.__main__", "import, judge, plot and ship policies"),
    "bridge": (
        "leogym.kernel_bridge.__main__",
        "what runs on real TCP left behind, the lab, the tunnel",
    ),
}


def main() -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print("usage: leogym COMMAND …\n")
        print("\n".join(f"  {name:9} {summary}" for name, (_, summary) in COMMANDS.items()))
        print("\nleogym COMMAND --help explains a command.")
        return 0
    if words[0] not in COMMANDS:
        print(f"leogym: {words[0]}: no such command; there are: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        module = importlib.import_module(COMMANDS[words[0]][0])  # here, to handle Ctrl-C during the import
        sys.argv[:] = [f"leogym {words[0]}", *words[1:]]
        return module.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
