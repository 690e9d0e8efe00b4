"""The modules, functions and source files that the docs name exist."""

import importlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_docs import PAGES, ROOT, tokens

ROOMS = tuple(sorted(path.name for path in (ROOT / "leogym").iterdir() if path.is_dir()))
NAME = re.compile(rf"(?:leogym|leosim|gymnasium|{'|'.join(ROOMS)})(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"[\w-]+\.(?:py|rs|c|js|sh)")
OF_OTHERS = ("sac_continuous_action.py", "aimd.py", "handover.py", "hystart.rs", "server.py")
"""A library's file, a reader's, and names that are examples of names."""
SUFFIXES = (".py", ".rs", ".c", ".js", ".sh", ".md", ".csv", ".json", ".yaml", ".txt", ".html", ".parquet")


def code(page: Path) -> Iterator[str]:
    """The code in a page's sentences and tables, without calls' arguments."""
    for token in tokens(page):
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content.partition("(")[0].rstrip("/")


def exists(name: str) -> bool:
    """Whether a dotted name of the project, or of a library, can be imported or is an attribute."""
    first, *rest = (f"leogym.{name}" if name.split(".")[0] in ROOMS else name).split(".")
    found = importlib.import_module(first)
    module = first
    for part in rest:
        module = f"{module}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(module)
            except ImportError:
                fields = getattr(found, "__annotations__", {}) | getattr(found, "model_fields", {})
                return part in fields and part == rest[-1]
        found = getattr(found, part)
    return True


@cache
def files() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return frozenset(Path(name).name for name in listed.stdout.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_function_and_source_file_that_a_page_names_exists(page):
    wrong = []
    for name in code(page):
        if NAME.fullmatch(name) and not name.endswith(SUFFIXES) and not exists(name):
            wrong.append(name)
        if FILE.fullmatch(name) and name not in OF_OTHERS and name not in files():
            wrong.append(name)
    assert not wrong


def test_a_name_that_is_nowhere_is_found():
    assert exists("common.extras.needed_by")
    assert exists("leogym.envs.flow.FlowEnv.step")
    assert not exists("common.extras.needed_for")
    assert not exists("leogym.envs.flow.FlowEnv.walk")
    assert not exists("kernel_bridge.nowhere.missing")
