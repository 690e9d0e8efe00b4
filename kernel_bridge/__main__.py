"""``python -m kernel_bridge check|clean|lab|tunnel``."""

from leogym.configs.errors import OneLineParser, reports_input_errors
from leogym.kernel_bridge.check import check
from leogym.kernel_bridge.clean import clean
from leogym.kernel_bridge.lab import lab_command
from leogym.kernel_bridge.tunnel import tunnel_command


@reports_input_errors
def main() -> int:
    """Run the command line of this process."""
    parser = OneLineParser(prog="python -m kernel_bridge", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="check|clean|lab|tunnel")
    commands.add_parser("check", help="report what this machine has and lacks for runs on real TCP")
    commands.add_parser("clean", help="remove what killed runs left, and list it")
    lab_command.add_to(commands)
    tunnel_command.add_to(commands)
    options = parser.parse_args()
    carry_out = {"lab": lab_command.carry_out, "tunnel": tunnel_command.carry_out}.get(options.command)
    if carry_out is not None:
        print("\n".join(carry_out(options)))
        return 0
    lines = list(check() if options.command == "check" else clean())
    print("\n".join(lines) if lines else "nothing is left of any run")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
