"""``leogym bridge check|clean|lab|tunnel``."""

import sys

from leogym.common.command_line import OneLineParser
from leogym.common.errors import reports_input_errors
from leogym.kernel_bridge.check import check, clean
from leogym.kernel_bridge.lab import lab_command
from leogym.kernel_bridge.tunnel import tunnel_command

PROGRAM = "leogym bridge"


def parser() -> OneLineParser:
    """Return the command line's parser."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Runs on real TCP: check and clean the machine, the lab, and tunnels.",
        examples=(
            "check",
            "lab run SCENARIO.yaml --out runs/lab",
            "tunnel run --seconds 5 --logs runs/tunnel",
        ),
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="check|clean|lab|tunnel")
    commands.add_parser(
        "check", help="report what this machine has and lacks for runs on real TCP", examples=("",)
    )
    commands.add_parser("clean", help="remove what killed runs left, and list it", examples=("",))
    lab = commands.add_parser("lab", help=lab_command.HELP, examples=lab_command.EXAMPLES)
    lab_command.add_to(lab)
    tunnel_command.add_to(commands)
    return parser


@reports_input_errors
def main() -> int:
    """Run the command line of this process."""
    options = parser().parse_args()
    if options.command == "lab":
        return lab_command.run(options)
    if options.command == "tunnel":
        print("\n".join(tunnel_command.carry_out(options)))
        return 0
    lines = list(check() if options.command == "check" else clean())
    print("\n".join(lines) if lines else "nothing is left of any run")
    return 0


if __name__ == "__main__":
    sys.argv[0] = PROGRAM
    raise SystemExit(main())
