"""Verdicts: each claim with our values, their intervals, and whether they agree."""

from collections.abc import Sequence
from dataclasses import dataclass

from leogym.evaluation.recorded.results import Results
from studies.papers.claim import Claim, Part
from studies.papers.comparison import Compared, Ours, compare
from studies.papers.digests import is_shipped
from studies.papers.kinds import AnyClaim
from studies.papers.paper import Paper, load, shipped
from studies.papers.readings import NotRun, Reading, read
from studies.papers.region import OUTCOMES, Outcome, together

_NAMED = 3


@dataclass(frozen=True)
class Verdict:
    """A claim and its check against our runs."""

    paper: Paper
    claim: AnyClaim
    backend: str
    outcome: Outcome
    ours: tuple[Ours, ...]
    why: str
    """Runs that are missing, or the scenarios or schemes that do not agree."""


def verdicts(results: Results) -> list[Verdict]:
    """Return a verdict per backend for each claim whose suite is in the results, by paper.

    A suite that was changed, under whatever name, has no claims.
    """
    present = {suite.name for suite in results.suites if is_shipped(suite, results.quick)}
    backends = sorted(results.runs["backend"].unique())
    judged = []
    for name in shipped():
        paper = load(name)
        for claim in paper.judged:
            if not claim.suites & present:
                continue
            here = [verdict(results, paper, claim, backend) for backend in backends]
            run = [candidate for candidate in here if candidate.outcome != "not run"]
            judged += run or here[:1]
    return judged


def verdict(results: Results, paper: Paper, claim: AnyClaim, backend: str) -> Verdict:
    """Return the verdict of one backend's runs on a claim."""

    def read_runs(claim: Claim, part: Part, scheme: str) -> list[Reading]:
        return read(results, claim, part, scheme, backend)

    try:
        compared = compare(claim, paper.margin, read_runs)
    except NotRun as lack:
        return Verdict(paper, claim, "", "not run", (), str(lack))
    return of_comparisons(paper, claim, backend, compared)


def of_comparisons(paper: Paper, claim: AnyClaim, backend: str, compared: Sequence[Compared]) -> Verdict:
    """Return the verdict of a claim's comparisons."""
    outcome = together(comparison.outcome for comparison in compared)
    # An ordering's pairs share values: list each once.
    ours = tuple(dict.fromkeys(value for comparison in compared for value in comparison.ours))
    return Verdict(paper, claim, backend, outcome, ours, _why(compared, ours))


def _why(compared: Sequence[Compared], ours: tuple[Ours, ...]) -> str:
    if all(comparison.outcome == "agrees" for comparison in compared):
        return ""
    if any(value.interval.n == 1 for value in ours):
        return "one run has no interval"
    if len(compared) == 1:
        return ""
    counts = {
        kind: [comparison.label for comparison in compared if comparison.outcome == kind] for kind in OUTCOMES
    }
    parts = []
    for kind, labels in counts.items():
        if not labels:
            continue
        distinct = list(dict.fromkeys(labels))
        more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
        where = "" if kind == "agrees" else f" ({'; '.join(distinct[:_NAMED])}{more})"
        parts.append(f"{kind} in {len(labels)}{where}")
    return f"of {len(compared)}: " + ", ".join(parts)
