"""``python -m tests.bench [NAME …]``: print one line of JSON per result.

A line has bench, value, unit, baseline, ratio, against (the baseline's description), machine and, with a
requirement, bar and holds. Baselines are measured on the same machine in the same minute, or are independent
of the machine, such as instructions. The exit status is 1 if a bar does not hold or a benchmark fails.

Without NAME, runs those that take less than five minutes together. ``--list`` names all.
"""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leogym.common.errors import InputError, reports_input_errors
from tests.bench import peer
from tests.bench.row import Row


@dataclass(frozen=True)
class Bench:
    """A benchmark; ``default`` ones run without being named."""

    about: str
    default: bool = False
    program: tuple[str, ...] = ()
    """Module and arguments of benchmarks that train in a separate program."""


BENCHES = {
    "simulator": Bench("packets per second, and the cost of a packet with up to 1,000 flows", default=True),
    "instructions": Bench("instructions per packet by part, and cache misses (valgrind)", default=True),
    "network": Bench("cost of a packet and link in a network, of routes, and a second thread", default=True),
    "envs": Bench("environment steps, compared with simulation without Python", default=True),
    "rollouts": Bench("steps with a policy in the loop", default=True),
    "traces": Bench("building all named path traces", default=True),
    "bridge": Bench("cost of control on the live kernel (root)", default=True),
    "shell": Bench("mm-leo's throughput and exactness of delay (root, mahimahi)", default=True),
    "lab": Bench("cost of a virtual second of Linux (QEMU)", default=True),
    "decisions": Bench("what a decision of orbit costs leo-bridge (root)"),
    "faces": Bench("cost of the Gymnasium, SB3, PettingZoo and RLlib interfaces per step"),
    "suite": Bench("`leo-single` for twenty schemes"),
    "cores": Bench("share of two cores that training uses"),
    "engines": Bench(
        "whether the engines learn equally well", program=("agents", "bench-engines", "--seeds", "3")
    ),
}


def rows(name: str, peers: Sequence[peer.Peer] = ()) -> Iterator[Row]:
    module = importlib.import_module(f"tests.bench.{name}")
    yield from module.rows(peers) if name == "simulator" else module.rows()


def run(name: str, peers: Sequence[peer.Peer] = ()) -> bool:
    """Print a benchmark's rows as they come; return whether it ran and all bars hold."""
    if program := BENCHES[name].program:
        return subprocess.run([sys.executable, "-m", "leogym", *program], check=False).returncode == 0
    holds = True
    try:
        for row in rows(name, peers):
            row.print()
            holds &= row.holds is not False
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"bench: {name}: {' '.join(str(error).split())}", file=sys.stderr)
        return False
    return holds


@reports_input_errors
def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="benchmarks of --list; default: those of five minutes"
    )
    parser.add_argument("--all", action="store_true", help="run all: most of an hour")
    parser.add_argument("--list", action="store_true", help="list all benchmarks")
    for flag, about in peer.KINDS.items():
        parser.add_argument(f"--{flag}", metavar="BIN", help=f"`simulator` beside {about}: {peer.HELP}")
    flags = parser.parse_args()
    if flags.list:
        for name, bench in BENCHES.items():
            print(f"{name:13}{'' if bench.default else '(by name) '}{bench.about}")
        return 0
    for name in flags.names:
        if name not in BENCHES:
            raise InputError(f"bench: {name}: no such benchmark (there are: {', '.join(BENCHES)})")
    peers = [peer.of(kind, path) for kind in peer.KINDS if (path := getattr(flags, kind))]
    chosen = flags.names or [name for name, bench in BENCHES.items() if bench.default or flags.all]
    if peers and "simulator" not in chosen:
        raise InputError(f"bench: --{peers[0].name}: works only with `simulator`")
    # A list, not a generator: run all even if one fails.
    return 0 if all([run(name, peers) for name in chosen]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
