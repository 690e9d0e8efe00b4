"""The order of two entries, judged on several judge seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from leogym.common import output_folder
from leogym.common.atomic import write_atomically
from leogym.evaluation.leobench import judging, split
from leogym.evaluation.leobench.board import overlap, shown
from leogym.evaluation.leobench.entering import Named
from leogym.evaluation.leobench.result import Estimate, encode
from leogym.evaluation.leobench.version import Version

RESUME = "results are kept: the same command continues"


@dataclass(frozen=True)
class Meeting:
    """The scores of two entries on one judge seed."""

    seed: int
    first: Estimate
    second: Estimate

    @property
    def winner(self) -> int:
        """0 if the first has the higher score, 1 if the second has; equal scores count for the first."""
        return int(self.second.value > self.first.value)

    @property
    def tie(self) -> bool:
        """Whether the intervals overlap."""
        return overlap(self.first, self.second)


def meet(
    entries: tuple[Named, Named],
    version: Version,
    seeds: Sequence[int],
    out: Path,
    *,
    jobs: int = 0,
    ray: str | None = None,
) -> Iterator[Meeting]:
    """Judge two entries on each seed; write their results to ``out``, and keep those that are there."""
    output_folder.require(out, "LeoBench's results")
    out.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        chosen, scores = split.judge(version, seed), []
        for judgement in judging.judge(
            entries, version, chosen, seed, jobs=jobs, ray=ray, earlier=out, resume=RESUME
        ):
            if not judgement.is_earlier:
                write_atomically(out / judgement.result.file_name, encode(judgement.result))
            scores.append(judgement.result.score)
        first, second = scores
        yield Meeting(seed, first, second)


def line(meeting: Meeting, names: Sequence[str]) -> str:
    """Return a row in Markdown."""
    texts = [
        " ".join((value, f"[{interval}]"))
        for value, interval in (shown(meeting.first, 1), shown(meeting.second, 1))
    ]
    return (
        f"| {meeting.seed} | {' | '.join(texts)} | {names[meeting.winner]}{' (tie)' if meeting.tie else ''} |"
    )


def verdict(meetings: Sequence[Meeting], names: Sequence[str]) -> str:
    """Return how often the order was the same, and how often the intervals overlapped."""
    wins = sum(meeting.winner for meeting in meetings)
    winner, most = (1, wins) if wins > len(meetings) - wins else (0, len(meetings) - wins)
    ties = sum(meeting.tie for meeting in meetings)
    return f"{names[winner]} is ahead on {most} of {len(meetings)} seeds; the intervals overlap on {ties}"
