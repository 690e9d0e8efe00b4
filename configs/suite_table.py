"""The reference of the shipped suites, from their files: ``python -m configs.suite_table FILE`` writes it."""

import re
import sys
from collections import Counter
from pathlib import Path

from leogym.common.atomic import write_atomically
from leogym.configs import suite as suites

PREFACE = """# Suites

`python -m configs.suite_table docs/suites.md` writes this page from `configs/suites/`. `leogym evaluate
leo-single` runs one of them; `--quick` shortens it. [studies/papers](../studies/papers/README.md) compares
the papers' suites with their papers.

"""
MOST_NAMED = 7
"""A suite with more schemes has their number in the table."""
PLACE = re.compile(r", (?=sections? |Figs?\. |Table )")
"""Begins the place within a work."""
HEADER = "| suite | title | after | schemes | scenarios | repeats |\n|---|---|---|---|---|---|"


def page() -> str:
    """Return the reference as Markdown."""
    works = Counter(_work_and_place(name)[0] for name in suites.shipped())
    listed = [work for work, count in works.items() if work and count > 1]
    papers = "".join(f"{number}. {work}\n" for number, work in enumerate(listed, 1))
    rows = "\n".join(_row(name, listed) for name in suites.shipped())
    return f"{PREFACE}{papers}\n{HEADER}\n{rows}\n"


def _work_and_place(name: str) -> tuple[str, str]:
    """Return the work that a suite is after, and the place in it."""
    work, *place = PLACE.split(suites.load(name).source.replace("\n", " ").strip(), maxsplit=1)
    return work, "".join(place)


def _row(name: str, listed: list[str]) -> str:
    suite = suites.load(name)
    work, place = _work_and_place(name)
    after = f"[{listed.index(work) + 1}]" if work in listed else work or "–"
    scenarios = {case.scenario.name for case in suite.cases(suite.schemes[0])}
    count = len(suite.schemes)
    schemes = ", ".join(suite.schemes) if count <= MOST_NAMED else f"{count} schemes"
    cells = [f"`{name}`", suite.title, ", ".join(filter(None, (after, place))), schemes]
    cells += [str(len(scenarios)), str(suite.repeats)]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page to the file that the command line names."""
    write_atomically(Path(sys.argv[1]), page().encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
