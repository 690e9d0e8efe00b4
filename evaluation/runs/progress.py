"""Progress and remaining time of an evaluation, on a terminal or in a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from leogym.common.durations import duration
from leogym.evaluation.runs.plan import Run

NOMINAL_MBPS = 100.0
"""Assumed capacity of a link whose path trace defines it."""
FLOW_MBPS = 1.0
"""Cost of a flow beside its packets, as equivalent capacity."""
LINES = 10
LONG_S = 60.0
"""An evaluation that takes longer gets the hint that there is a shorter one."""
QUICK_HINT = "for a first look, --quick runs fewer repeats and shorter scenarios"


def weight(run: Run) -> float:
    """Return the approximate cost of a run: Mbit over all links of the flows' first routes.

    The time per unit differs between schemes and suites; `Estimate` measures it.
    """
    scenario = run.scenario
    used = {name for flow in scenario.flows for name in flow.route}
    capacity = sum(scenario.links[name].rate_mbps or NOMINAL_MBPS for name in used)
    flows = sum(flow.count for flow in scenario.flows)
    return scenario.duration_s * (capacity + flows * FLOW_MBPS)


class Estimate:
    """Estimates the remaining time of a plan from finished runs.

    A run's time per weight is that of its suite and scheme, else of its scheme, else of all runs.
    """

    def __init__(self, runs: Iterable[Run], at_a_time: int) -> None:
        """Start without measurements, given the runs to make and how many run at a time."""
        self._at_a_time = at_a_time
        self._left: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._took: defaultdict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for run in runs:
            self._left[run.suite, run.scheme] += weight(run)
        self.total = sum(self._left.values())

    def add(self, run: Run, seconds: float) -> None:
        """Record how long a run took."""
        self._left[run.suite, run.scheme] -= weight(run)
        for group in self._groups(run.suite, run.scheme):
            self._took[group][0] += seconds
            self._took[group][1] += weight(run)

    @property
    def left(self) -> float:
        """The total weight of the remaining runs."""
        return max(0.0, sum(self._left.values()))

    def left_s(self) -> float | None:
        """Return the time in s until all runs end; None before the first has ended."""
        if not self._took:
            return None
        total = 0.0
        for (suite, scheme), number in self._left.items():
            took = next(sums for group in self._groups(suite, scheme) if (sums := self._took.get(group)))
            total += max(0.0, number) * took[0] / took[1]
        return total / self._at_a_time

    @staticmethod
    def _groups(suite: str, scheme: str) -> list[tuple[str, ...]]:
        return [(suite, scheme), (scheme,), ()]


class ProgressDisplay:
    """Shows a plan's progress on stderr: a bar on a terminal, otherwise `LINES` lines."""

    def __init__(
        self,
        console: Console,
        runs: Sequence[Run],
        cached: Sequence[Run],
        at_a_time: int,
        *,
        hints_at_quick: bool = False,
    ) -> None:
        """Start; ``cached`` are the ``runs`` in the cache. ``hints_at_quick`` allows `QUICK_HINT`."""
        self._hints_at_quick = hints_at_quick
        free = {run.run_id for run in cached}
        self._console = console
        self._estimate = Estimate((run for run in runs if run.run_id not in free), at_a_time)
        self._runs, self._done, self._lines = len(runs), 0, 0
        # A terminal without cursor movement (TERM=dumb) gets lines, as a file does.
        self._draws = console.is_terminal and not console.is_dumb_terminal
        self._bar = Progress(
            TextColumn("runs"),
            BarColumn(),
            TextColumn("{task.fields[status]}"),
            console=console,
            disable=not self._draws,
            transient=True,
        )
        self._task = self._bar.add_task("runs", total=self._estimate.total, status=self._status())

    def __enter__(self) -> ProgressDisplay:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def ended(self, run: Run, seconds: float | None) -> None:
        """Record that a run ended after ``seconds``; None: its results were in the cache."""
        self._done += 1
        if seconds is not None:
            self._estimate.add(run, seconds)
            self._hint()
        total, remaining = self._estimate.total, self._estimate.left
        self._bar.update(self._task, completed=total - remaining, status=self._status())
        lines = LINES if self._done == self._runs else int((1 - remaining / total) * LINES) if total else 0
        if not self._draws and lines > self._lines:
            self._lines = lines
            self._console.print(self._status(), highlight=False, soft_wrap=True)

    def _hint(self) -> None:
        left_s = self._estimate.left_s()
        if self._hints_at_quick and left_s is not None and left_s > LONG_S:
            line = f"{duration(left_s)} left: {QUICK_HINT}"
            self._console.print(line, highlight=False, soft_wrap=True)
        self._hints_at_quick = False

    def _status(self) -> str:
        left_s = self._estimate.left_s()
        still = "" if left_s is None or self._done == self._runs else f", {duration(left_s)} left"
        return f"{self._done} of {self._runs} runs done{still}"
