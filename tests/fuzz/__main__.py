"""``python -m tests.fuzz [--minutes M] [TARGET …]``: fuzz each target for M minutes, one after the other.

Uses coverage-guided atheris if it is installed, otherwise mutations of valid inputs with hypothesis. Findings
go to ``target/fuzz/TARGET/``; the exit status is 1 if there are any.
"""

import argparse
import importlib.util
import subprocess
import sys
import time

from tests.fuzz import engine


def main() -> int:
    """Run each target in its own process: fuzzers end their process."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--minutes", type=float, default=5.0, help="for each target")
    arguments = parser.parse_args()
    names = engine.names()
    unknown = [name for name in arguments.targets if name not in names]
    if unknown or not arguments.minutes > 0:
        print(
            f"fuzz: {unknown or arguments.minutes}: targets are {', '.join(names)}; minutes above 0",
            file=sys.stderr,
        )
        return 2
    kind = "atheris" if importlib.util.find_spec("atheris") else "hypothesis"
    failed = []
    for name in arguments.targets or names:
        start = time.monotonic()
        command = [sys.executable, "-m", "tests.fuzz.engine", kind, name, str(round(arguments.minutes * 60))]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        verdict = "clean" if done.returncode == 0 else f"FOUND (exit status {done.returncode})"
        print(
            f"{name}: {verdict}, {time.monotonic() - start:.0f} s, {engine.inputs(name)} inputs, {kind}",
            flush=True,
        )
        if done.returncode:
            failed.append(name)
            print("\n".join(done.stdout.splitlines()[-40:]), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
