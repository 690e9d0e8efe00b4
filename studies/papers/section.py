"""The study's part of a report: verdicts by paper and by suite, and ``claims.csv``."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from leogym.common.atomic import write_atomically
from leogym.configs.suite import Suite
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.page import QUICK
from leogym.evaluation.report.section import Badge, FigureName, Section
from leogym.evaluation.report.templates import environment
from studies.papers import table
from studies.papers.paper import Paper, is_own, load, shipped
from studies.papers.verdicts import Verdict, verdicts

TEMPLATES = Path(__file__).parent / "templates"
ANCHOR = "papers"
MOST_PRINTED = 12
"""Claims up to which the command line prints each."""
COVERED = 0.5
"""Share of all papers' claims that the runs must decide for a badge with the share that agrees."""
FIGURE = re.compile(r"(?:Figs?\.|Tables?) \w+(?:(?:, | and | to )\w+)*")


def make_section(results: Results) -> Section | None:
    """Write ``claims.csv`` into the evaluation's folder and return the section; None without a claim."""
    path = results.folder / "claims.csv"
    judged = [] if results.spot else verdicts(results)
    if not judged:
        path.unlink(missing_ok=True)
        return None
    write_atomically(path, table.table(judged, results.quick).write_csv().encode())
    template = environment(TEMPLATES).get_template
    names = [suite.name for suite in results.suites]
    of_suite = template("suite.html.j2").render
    by_suite = {name: [verdict for verdict in judged if verdict.claim.suite == name] for name in names}
    return Section(
        anchor=ANCHOR,
        title="Paper beside ours",
        html=template("section.html.j2").render(
            anchor=ANCHOR,
            papers=table.sections(judged),
            across=[verdict for verdict in judged if verdict.claim.suite not in names],
            quick=QUICK if results.quick else "",
        ),
        css=(TEMPLATES / "section.css").read_text(encoding="utf-8"),
        badge=badge(judged),
        figures={
            suite.name: figure
            for suite in results.suites
            if (figure := figure_name(suite, _papers(by_suite[suite.name])))
        },
        in_suites={
            name: of_suite(anchor=ANCHOR, claims=claims) for name, claims in by_suite.items() if claims
        },
    )


def _papers(judged: Sequence[Verdict]) -> list[Paper]:
    """Return the papers of the claims that are about the suite itself."""
    return [verdict.paper for verdict in judged if is_own(verdict.claim.id)]


def figure_name(suite: Suite, papers: Iterable[Paper]) -> FigureName | None:
    """Return the name of a suite's figure in that of ``papers`` which its source names; None without one."""
    match = FIGURE.search(suite.source)
    for paper in papers:
        title = paper.title.partition(":")[0]
        if match is not None and title in suite.source:
            file = re.sub(r"[^a-z0-9]+", "-", match[0].lower()).strip("-")
            return FigureName(f"{match[0]} of {title}", f"{paper.name}-{file}")
    return None


def conclusion(folder: Path) -> Iterator[str]:
    """Yield how many claims agree, and each of them if there are few, from an evaluation's ``claims.csv``."""
    if not (folder / "claims.csv").is_file():
        return
    claims = table.own(pl.read_csv(folder / "claims.csv"))
    counts = Counter(claims["verdict"].to_list())
    line = (
        f"{len(claims)} claims: {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}"
    )
    yield f"{line} (--quick: a single run decides few claims)" if claims["quick"].any() else line
    if len(claims) <= MOST_PRINTED:
        for row in claims.iter_rows(named=True):
            yield f"  {row['verdict']:10} {row['paper']}: {row['claim']}: {row['ours'] or row['why'] or ''}"


def badge(judged: Sequence[Verdict]) -> Badge | None:
    """Return the share of the claims that agree; None if the runs decide less than `COVERED` of all claims.

    A share of the claims of a few suites would say more about the choice of these suites.
    """
    judged = [verdict for verdict in judged if is_own(verdict.claim.id)]
    decided = [verdict for verdict in judged if verdict.outcome in ("agrees", "differs")]
    if len(decided) < COVERED * sum(len(load(name).claims) for name in shipped()):
        return None
    agree = sum(verdict.outcome == "agrees" for verdict in decided)
    text = f"of papers’ claims agree: {agree} of the {len(decided)} that these runs decide"
    if undecided := len(judged) - len(decided):
        text += f"; {undecided} undecided or not run"
    return Badge(f"{agree / len(decided):.0%}", text, ANCHOR)
