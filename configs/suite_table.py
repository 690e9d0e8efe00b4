"""The reference of the shipped suites, from their files: ``python -m configs.suite_table FILE`` writes it."""

import sys
from pathlib import Path

from leogym.common.atomic import write_atomically
from leogym.configs import suite as suites

PREFACE = """# Suites

`python -m configs.suite_table docs/suites.md` writes this page from `configs/suites/`. `leogym evaluate
leo-single` runs one of them; `--quick` shortens it. [studies/papers](../studies/papers/README.md) compares
the papers' suites with their papers.
"""
HEADER = "| suite | title | after | schemes | scenarios | repeats |\n|---|---|---|---|---|---|"


def page() -> str:
    """Return the reference as Markdown."""
    return f"{PREFACE}\n{HEADER}\n" + "\n".join(map(_row, suites.shipped())) + "\n"


def _row(name: str) -> str:
    suite = suites.load(name)
    scenarios = {case.scenario.name for case in suite.cases(suite.schemes[0])}
    cells = [f"`{name}`", suite.title, suite.source or "–", ", ".join(suite.schemes)]
    cells += [str(len(scenarios)), str(suite.repeats)]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page to the file that the command line names."""
    write_atomically(Path(sys.argv[1]), page().encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
