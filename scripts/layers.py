"""Print the layers of rooms and packages: ``python scripts/layers.py``.

A room is a top-level Python folder, a package any folder. Each comes after everything that it imports; tests
do not count. The exit status is 1 if there is an import cycle.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = (
    "common",
    "configs",
    "results",
    "traces",
    "kernel_bridge",
    "envs",
    "agents",
    "evaluation",
    "commands",
    "studies",
)
"""Bottom up, as in docs/architecture.md. Nothing imports the last room."""

Graph = Mapping[str, set[str]]


def sources() -> Iterator[Path]:
    """Yield the rooms' Python files except tests."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if not path.name.startswith("test_") and path.name != "conftest.py":
                yield path


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return the modules that a file imports anywhere; for ``from a import b`` both a and a.b."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("leogym.") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = node.module.removeprefix("leogym").lstrip(".")
            yield module
            yield from (f"{module}.{alias.name}".lstrip(".") for alias in node.names)


def packages() -> dict[str, set[str]]:
    """Return each package's imported packages."""
    modules = {}
    for path in sources():
        parts = path.relative_to(ROOT).with_suffix("").parts
        package = ".".join(parts[:-1])
        modules[package if parts[-1] == "__init__" else ".".join(parts)] = package
    graph: dict[str, set[str]] = {package: set() for package in modules.values()}
    for path in sources():
        here = ".".join(path.relative_to(ROOT).parts[:-1])
        graph[here] |= {modules[name] for name in imported(path) if name in modules} - {here}
    return graph


def rooms(graph: Graph) -> dict[str, set[str]]:
    """Return each room's imported rooms, given the packages' imports."""
    uses: dict[str, set[str]] = {room: set() for room in ROOMS}
    for package, used in graph.items():
        here = package.partition(".")[0]
        uses[here] |= {other.partition(".")[0] for other in used} - {here}
    return uses


def layers(graph: Graph) -> list[list[str]]:
    """Return the nodes by layer, each above everything that it imports; raise a CycleError for a cycle."""
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    levels = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        levels.append(ready)
        sorter.done(*ready)
    return levels


def main() -> int:
    """Print the layers of rooms and packages."""
    graph = packages()
    try:
        for title, edges in (("rooms", rooms(graph)), ("packages", graph)):
            print(title)
            for height, names in enumerate(layers(edges)):
                print(f"  {height}  {', '.join(names)}")
    except CycleError as error:
        print(f"import cycle: {' → '.join(error.args[1])}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
