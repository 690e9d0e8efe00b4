"""The commands that the sources print and record, found by their calls of `leogym_command`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.layers import ROOT, sources

WITH_SUBCOMMANDS = ("agents", "bridge", "lab", "leobench", "traces")


def printed() -> dict[tuple[str, ...], str]:
    """Return the first words of each command, such as ``("lab", "build")``, with a place that prints it."""
    commands = {}
    for path in sources():
        text = path.read_text("utf-8")
        # Few files call it, and each pytest worker parses them at its start.
        for node in ast.walk(ast.parse(text)) if "leogym_command" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "leogym_command":
                commands[_names(node.args)] = f"{path.relative_to(ROOT)}:{node.lineno}"
    return commands


def _names(arguments: list[ast.expr]) -> tuple[str, ...]:
    """Return the leading literals before any option or value."""
    names: list[str] = []
    for argument in arguments:
        word = argument.value if isinstance(argument, ast.Constant) else ""
        if not isinstance(word, str) or not word.islower() or word.startswith("-"):
            break
        names.append(word)
    return tuple(names)


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string in a source, except docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value
