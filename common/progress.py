"""Progress of a long job on stderr: a bar on a terminal, otherwise lines."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from leogym.common.durations import duration

FIRST_LINE_DELAY_S = 10.0
"""A job that takes less time prints no lines."""
BAR_DELAY_S = 0.5
"""A job that takes less time draws no bar."""
LINES = 10


class Progress:
    """Shows how much of a job is done; `advance` within a ``with`` block.

    Args:
        job: its name, such as ``building sd-ny-isl``.
        total: the amount of work, in any unit.
        quiet_s: time before the first line where stderr is no terminal.
    """

    def __init__(self, job: str, total: float, quiet_s: float = FIRST_LINE_DELAY_S) -> None:
        self._job, self._total, self._quiet_s = job, total, quiet_s
        self._console = Console(stderr=True)
        self._done, self._lines = 0.0, 0
        self._begun_s = time.monotonic()
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, amount: float) -> None:
        """Record that ``amount`` more of the total is done."""
        self._done += amount
        # A terminal without cursor movement (TERM=dumb) gets lines, as a file does.
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._draw()
            return
        lines = int(min(1.0, self._done / self._total) * LINES) if self._total else LINES
        taken_s = time.monotonic() - self._begun_s
        if lines > self._lines and taken_s >= self._quiet_s:
            left_s = taken_s * (self._total / self._done - 1) if self._done else 0.0
            left = f", {duration(left_s)} left" if left_s >= 1 else ""
            line = f"{self._job}: {lines * 100 // LINES} %{left}"
            self._console.print(line, highlight=False, soft_wrap=True, markup=False)
        self._lines = max(self._lines, lines)

    def _draw(self) -> None:
        if self._bar is None:
            if time.monotonic() - self._begun_s < BAR_DELAY_S:
                return
            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(self._job, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=self._done)
