"""How far an evaluation is and how long it still takes, on a terminal and in a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from evaluation.runs.plan import Run

NOMINAL_MBPS = 100.0
"""Of a link whose capacity its path trace gives."""
FLOW_MBPS = 1.0
"""What a flow costs beside its packets, as a capacity that is simulated."""
LINES = 10
"""A log gets so many lines, not a bar."""


def weight(run: Run) -> float:
    """Return about how much there is to simulate: Mbit, over all links that flows take at first.

    What a unit of it takes differs between schemes and suites; `Estimate` measures that.
    """
    scenario = run.scenario
    used = {name for flow in scenario.flows for name in flow.route}
    capacity = sum(scenario.links[name].rate_mbps or NOMINAL_MBPS for name in used)
    flows = sum(flow.count for flow in scenario.flows)
    return scenario.duration_s * (capacity + flows * FLOW_MBPS)


class Estimate:
    """The time that the runs of a plan still take, from what those before them took.

    A run takes as long for its weight as other runs of its suite and scheme; before there was one, as those
    of its scheme; before that, as all.
    """

    def __init__(self, runs: Iterable[Run], at_a_time: int) -> None:
        """Begin with nothing measured.

        Args:
            runs: those that are to be made.
            at_a_time: how many run at a time.
        """
        self._at_a_time = at_a_time
        self._left: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._took: defaultdict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for run in runs:
            self._left[run.suite, run.scheme] += weight(run)
        self.total = sum(self._left.values())

    def add(self, run: Run, seconds: float) -> None:
        """Say how long a run took."""
        self._left[run.suite, run.scheme] -= weight(run)
        for group in self._groups(run.suite, run.scheme):
            self._took[group][0] += seconds
            self._took[group][1] += weight(run)

    @property
    def left(self) -> float:
        """The weight of all runs that are to be made."""
        return max(0.0, sum(self._left.values()))

    def left_s(self) -> float | None:
        """Return the time in s until all have ended; None before the first has."""
        if not self._took:
            return None
        total = 0.0
        for (suite, scheme), left in self._left.items():
            known = next(one for group in self._groups(suite, scheme) if (one := self._took.get(group)))
            total += max(0.0, left) * known[0] / known[1]
        return total / self._at_a_time

    @staticmethod
    def _groups(suite: str, scheme: str) -> list[tuple[str, ...]]:
        return [(suite, scheme), (scheme,), ()]


class Shown:
    """The progress of a plan on stderr: a bar on a terminal, else `LINES` lines."""

    def __init__(self, console: Console, runs: Sequence[Run], kept: Sequence[Run], at_a_time: int) -> None:
        """Begin.

        Args:
            console: where it is shown.
            runs: all that are asked for now.
            kept: those of them whose results need not be made.
            at_a_time: how many run at a time.
        """
        free = {run.run_id for run in kept}
        self._console = console
        self._estimate = Estimate((run for run in runs if run.run_id not in free), at_a_time)
        self._runs, self._done, self._lines = len(runs), 0, 0
        self._bar = Progress(
            TextColumn("runs"),
            BarColumn(),
            TextColumn("{task.fields[told]}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("runs", total=self._estimate.total, told=self._told())

    def __enter__(self) -> Shown:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def ended(self, run: Run, seconds: float | None) -> None:
        """Say that a run's results are there, after so many seconds; None: they were there before."""
        self._done += 1
        if seconds is not None:
            self._estimate.add(run, seconds)
        total, left = self._estimate.total, self._estimate.left
        self._bar.update(self._task, completed=total - left, told=self._told())
        lines = LINES if self._done == self._runs else int((1 - left / total) * LINES) if total else 0
        if not self._console.is_terminal and lines > self._lines:
            self._lines = lines
            self._console.print(self._told(), highlight=False, soft_wrap=True)

    def _told(self) -> str:
        left_s = self._estimate.left_s()
        still = "" if left_s is None or self._done == self._runs else f", {duration(left_s)} left"
        return f"{self._done} of {self._runs} runs done{still}"


def duration(seconds: float) -> str:
    """Return a time as a reader would say it: ``40 s``, ``12 min``, ``3 h 5 min``."""
    if seconds < 59.5:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
