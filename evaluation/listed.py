"""``leogym evaluate --list``: everything that can be run by name."""

import shutil
import sys
import textwrap
from collections.abc import Iterator

import leosim

from leogym.configs import names, sampling
from leogym.configs import suite as suites
from leogym.configs.scenario import CALL_SCHEME
from leogym.evaluation.runs.backends import BACKENDS
from leogym.evaluation.runs.schemes import GROUPS, load_policy, shipped

WIDTH = 80
"""Columns where the output is no terminal, and the least on one."""
MOST_WIDTH = 110


def lines() -> Iterator[str]:
    """Yield the lines of the list."""
    yield "SUITES"
    for name in suites.shipped():
        suite = suites.load(name)
        yield from _entry(f"{name}: {suite.title}", suite.question, suite.source)
        yield from _indented(f"{', '.join(suite.schemes)}; {suite.repeats} repeat{'s' * (suite.repeats > 1)}")
    yield from ("", "SCENARIOS")
    for name, path in names.scenarios().items():
        yield from _entry(name, _head(path.read_text(encoding="utf-8")))
    yield from ("", "SAMPLERS: random scenarios to learn from, in train and gymnasium.make")
    for name in sampling.names():
        yield from _entry(name, sampling.about(name))
    yield from ("", "SCHEMES")
    for name, sentence in leosim.schemes().items():
        yield from _entry(name, sentence)
    for name, sentence in leosim.stack_schemes().items():
        yield from _entry(name, sentence)
    yield from _entry(CALL_SCHEME, "Google congestion control (Carlucci et al. 2016), of workload.call.")
    yield from ("", "POLICIES: schemes trained here; how each differs from its publication")
    for name, folder in shipped().items():
        yield from _entry(name, load_policy(folder).origin)
    yield from ("", "GROUPS of --schemes")
    for name, members in GROUPS.items():
        yield from _entry(name, members)
    yield from ("", "BACKENDS, with the schemes that they run; all run a policy as NAME=PATH")
    for name, engine in BACKENDS.items():
        yield from _entry(name, ", ".join(engine.schemes()))


def _entry(head: str, *paragraphs: str) -> Iterator[str]:
    yield from textwrap.wrap(head, _width(), initial_indent="  ", subsequent_indent="    ")
    for text in paragraphs:
        yield from _indented(text)


def _indented(text: str) -> Iterator[str]:
    indent = " " * 6
    yield from textwrap.wrap(
        text, _width(), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _head(text: str) -> str:
    """Return the comment at the head of a YAML file."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def _width() -> int:
    columns = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    return max(WIDTH, min(columns, MOST_WIDTH))
