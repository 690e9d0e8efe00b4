"""Make the changes of docs/add-a-*.md in a copy of the project, and run the tests that they add.

``python -m tests.documented_changes`` is part of ``make test``.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("add-a-*.md"))
DIFF = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDED = (
    *("Cargo.toml", "Cargo.lock", "rustfmt.toml", "core", "kernel_bridge", "docs"),
    *("leogym", "common", "configs"),
)
"""The files that cargo, the diffs and `configs.reference` need."""
BUILD = ROOT / "target"  # where the core's tests have compiled the dependencies
FILE = re.compile(r"^\+\+\+ b/core/(\w+)/(?:src|tests/(\w+))/(.*?)(?=^--- |\Z)", re.MULTILINE | re.DOTALL)
"""A file's crate, the test program that it is part of (none for the crate's own tests), and its lines."""
NEW_TEST = re.compile(r"^\+\s*#\[test\]\n\+\s*fn (\w+)\(\)|__((?:[a-z0-9]+_)+[a-z0-9]+)\.snap$", re.MULTILINE)
"""A new test, or one whose snapshot changes."""
RAN = re.compile(r"(\d+) passed; 0 failed")


def main() -> int:
    """Apply all diffs to one copy, which is compiled once, and run their tests."""
    tests: dict[tuple[str, str], list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("target", "__pycache__")
                shutil.copytree(source, copy / name, symlinks=True, ignore=ignored)
            else:
                shutil.copy(source, copy / name)
        for page in PAGES:
            before = sum(map(len, tests.values()))
            for diff in DIFF.findall(page.read_text()):
                applied = subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=copy, stderr=PIPE)
                if applied.returncode:
                    print(f"{page.name}: no longer applies: {applied.stderr.decode()}", file=sys.stderr)
                    return 1
                for crate, program, lines in FILE.findall(diff):
                    tests.setdefault((crate, program), []).extend(map("".join, NEW_TEST.findall(lines)))
            if sum(map(len, tests.values())) == before:
                print(f"{page.name}: adds no test", file=sys.stderr)
                return 1
        subprocess.run([sys.executable, "-m", "leogym.configs.reference"], cwd=copy, check=True)
        subprocess.run(["cargo", "fmt", "--all", "--check"], cwd=copy, check=True)
        for (crate, program), names in tests.items():
            # A crate's own tests try whatever is new; of whole simulations, the new ones.
            target = ["--test", program, "--", *names] if program else ["--lib", "--tests"]
            if names and not _pass(crate, target, names, copy):
                return 1
    return 0


def _pass(crate: str, target: list[str], names: list[str], copy: Path) -> bool:
    """Run a crate's tests, with these among them; say so if one fails or is missing."""
    command = ["cargo", "test", "--quiet", "--locked", "-p", f"leo-{crate}", *target]
    # Optimising takes longer than these few tests. The dependencies have a level of their own and are reused.
    settings = {"CARGO_TARGET_DIR": str(BUILD), "CARGO_PROFILE_DEV_OPT_LEVEL": "0"}
    done = subprocess.run(command, cwd=copy, env={**os.environ, **settings}, stdout=PIPE)
    output = done.stdout.decode()
    if done.returncode or sum(map(int, RAN.findall(output))) < len(names):
        print(
            f"{output}\nleo-{crate}: these tests of the docs must pass: {', '.join(names)}", file=sys.stderr
        )
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(main())
