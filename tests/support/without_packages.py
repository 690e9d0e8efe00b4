"""Runs pieces of code without optional packages: a program that forks a process for each piece.

Standard input: a JSON list of [code, packages that cannot be imported]. Standard output: a JSON list of the
exit status of each, its standard error, and the files that it left in its folder.
"""

import contextlib
import importlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Collection
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

COMMANDS = (
    "leogym.agents.__main__",
    "leogym.commands.agents",
    "leogym.agents.train_cli",
    "leogym.envs.flow",
    "leogym.envs.parallel",
    "leogym.evaluation.cli",
    "leogym.evaluation.evaluating",
    "leogym.evaluation.report.page",
    "leogym.kernel_bridge.__main__",
    "leogym.traces.__main__",
)


class Missing(MetaPathFinder):
    """Finds none of the packages ``names``."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raise the error of a package that is not installed."""
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def command(*words: str) -> None:
    """Run ``leogym`` with ``words``, for the pieces of code."""
    from leogym.commands.__main__ import main

    sys.argv[:] = ["leogym", *words]
    raise SystemExit(main())


def in_child(code: str, missing: Collection[str]) -> int:
    sys.meta_path.insert(0, Missing(missing))
    try:
        exec(code, {"command": command})
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def outcome(code: str, missing: Collection[str], folder: Path) -> tuple[int, str, list[str]]:
    """Run ``code`` in the empty ``folder`` without the packages ``missing``; see the module."""
    with tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            status = in_child(code, missing)
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        files = [path.name for path in folder.iterdir()]
        return os.waitstatus_to_exitcode(status), errors.read(), files


def main() -> None:
    """Run the pieces one after the other."""
    pieces = json.load(sys.stdin)
    # What all pieces import is imported once, and needs no optional package.
    sys.meta_path.insert(0, Missing({name for _, missing in pieces for name in missing}))
    for module in COMMANDS:
        importlib.import_module(module)
    del sys.meta_path[0]
    done = []
    for code, missing in pieces:
        with tempfile.TemporaryDirectory() as folder:
            done.append(outcome(code, missing, Path(folder)))
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
