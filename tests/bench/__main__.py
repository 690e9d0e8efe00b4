"""``python -m tests.bench [NAME …]``: run the benchmarks whose name begins with one of NAME, or all."""

from __future__ import annotations

import subprocess
import sys

from tests.bench import (
    bridge,
    cores,
    environments,
    instructions,
    lab,
    rollouts,
    shell,
    simulator,
    suite,
    traces,
)

QUICK = {
    "simulator": simulator.rows,
    "instructions": instructions.rows,
    "envs": environments.rows,
    "rollouts": rollouts.rows,
    "traces": traces.rows,
    "suite": suite.rows,
    "bridge": bridge.rows,
    "shell": shell.rows,
    "lab": lab.rows,
    "cores": cores.rows,
}

MINUTES = {
    "engines": ["agents.engines.bench"],
    "training": ["agents.astraea.bench", "--minutes", "4"],
}
"""Benchmarks that train, which are programs of their own."""


def main(names: list[str]) -> int:
    """Print every row; training comes last because it takes minutes."""
    known = [*QUICK, *MINUTES]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"bench: {unknown[0]}: no such benchmark (there are: {', '.join(known)})", file=sys.stderr)
        return 2
    for name, rows in QUICK.items():
        if not names or name in names:
            for row in rows():
                row.print()
    status = 0
    for name, arguments in MINUTES.items():
        if not names or name in names:
            command = [sys.executable, "-m", *arguments, "--seeds", "3"]
            status |= subprocess.run(command, check=False).returncode
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
