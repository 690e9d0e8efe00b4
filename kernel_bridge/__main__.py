"""``python -m kernel_bridge check|clean|lab``."""

from __future__ import annotations

import argparse

from configs.errors import reports_input_errors
from kernel_bridge.check import check
from kernel_bridge.clean import clean
from kernel_bridge.lab import cli as lab


@reports_input_errors
def main() -> int:
    """Run the command line of this process."""
    parser = argparse.ArgumentParser(prog="python -m kernel_bridge", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="check|clean|lab")
    commands.add_parser("check", help="say what this machine has and lacks for runs on real TCP")
    commands.add_parser("clean", help="remove what killed runs left, and say what")
    lab.add_to(commands)
    options = parser.parse_args()
    if options.command == "lab":
        print("\n".join(lab.carry_out(options)))
        return 0
    lines = list(check() if options.command == "check" else clean())
    print("\n".join(lines) if lines else "nothing is left of any run")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
