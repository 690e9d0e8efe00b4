"""Report a run's progress: progress.csv, the tracker, and a progress bar or plain lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from leogym.agents.training.held_out import Chooser, Rank, rank
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.agents.training.stopping import Stopped
from leogym.agents.training.tracking import scalars, tracker

PLAIN_LINE_S = 10.0  # least time between progress lines without a terminal


class Reporter:
    """Reports progress and tells when the run ends; use it as a context around the training loop.

    ``steps`` and ``wall_s`` are environment steps and seconds spent before a resume; ``shown`` has the
    columns to show on the terminal, besides steps.
    """

    def __init__(
        self,
        settings: TrainSettings,
        run: RunFolder,
        *,
        steps: int = 0,
        wall_s: float = 0.0,
        shown: tuple[str, ...] = ("reward",),
    ) -> None:
        self._settings, self._run, self._shown = settings, run, shown
        self._before_s, self._started_s = wall_s, time.monotonic()
        run.rewind_progress(steps)
        self._chooser = Chooser(settings, run, steps) if settings.held_out_episodes else None
        self._tracker = tracker(settings, run, steps)
        self._bar: Progress | None = None
        self._said_s = -PLAIN_LINE_S
        if sys.stdout.isatty():
            self._bar = Progress(
                TextColumn(settings.agent),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[text]}"),
                console=Console(),
            )
            self._task = self._bar.add_task("train", total=1.0, text="")

    @property
    def wall_s(self) -> float:
        """Seconds of wall time, including the time before a resume."""
        return self._before_s + time.monotonic() - self._started_s

    def done(self, steps: int) -> float:
        """Return the share of the run that is done after ``steps``; the run ends at 1 or more."""
        settings = self._settings
        if settings.minutes is not None:
            return self.wall_s / (60 * settings.minutes)
        return steps / settings.steps if settings.steps is not None else 0.0

    def row(self, row: Mapping[str, Any]) -> None:
        """Add a row with a ``steps`` column to progress.csv and the tracker, and show it."""
        self._run.append_progress(
            {
                name: float(f"{value:.6g}") if isinstance(value, float) else value
                for name, value in row.items()
            }
        )
        numbers = scalars(row)
        self._tracker.log(numbers, row["steps"])
        text = "  ".join(f"{name} {numbers[name]:.4g}" for name in self._shown if name in numbers)
        share = min(1.0, self.done(row["steps"]))
        if self._bar is not None:
            self._bar.update(self._task, completed=share, text=f"{row['steps']:,} steps  {text}")
        elif self.wall_s - self._said_s >= PLAIN_LINE_S or share >= 1:
            self._said_s = self.wall_s
            self.say(f"{share:4.0%}  {row['steps']:,} steps  {text}")

    def checkpointed(self, steps: int) -> None:
        """Announce the checkpoint of ``steps`` (without a terminal only) and evaluate its policy."""
        if self._bar is None:
            self.say(f"checkpoint {steps}")
        if self._chooser is not None:
            earned = self._chooser.consider(steps, self.wall_s)
            self._tracker.log({f"held_out_{name}": value for name, value in earned.items()}, steps)
            links = self._settings.held_out_links
            found = rank(earned)
            self.say(f"held out: {_rank(found, links)}; best: {_rank(self._chooser.best or found, links)}")

    def leave_if_asked(self, save: Callable[[], None]) -> None:
        """If the run is asked to stop, ``save`` a checkpoint and raise `Stopped`; call this at safe points.

        It writes no row and evaluates no policy, so a resumed run continues as if it had never stopped.
        """
        if self._run.stop.asked:
            save()
            raise Stopped

    def say(self, line: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False)
            return
        with contextlib.suppress(BrokenPipeError):  # the reader has left; progress.csv has everything
            print(line, flush=True)

    def __enter__(self) -> Reporter:
        self._deferred = self._run.stop.deferred()
        self._deferred.__enter__()
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._deferred.__exit__(None, None, None)
        if self._bar is not None:
            self._bar.stop()
        self._tracker.close()


def _rank(found: Rank, links: int) -> str:
    held, reward = found
    return f"{held} of {links} links, reward {reward:.4g}" if links else f"reward {reward:.4g}"
