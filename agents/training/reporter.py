"""Report a run's progress: progress.csv, the tracker, and a progress bar or plain lines."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

from leogym.agents.training.held_out import REFERENCES, Chooser, described
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.agents.training.stopping import Stopped
from leogym.agents.training.tracking import scalars, trackers
from leogym.common.durations import duration

MOST_LOSS = 0.05  # share of the sent packets above which an evaluation prints a warning
PLAIN_LINE_S = 10.0  # least time between progress lines without a terminal
BAR_COLUMNS = len(" ━━━━━━━━━━ 100% 23 h 59 min left ")  # between agent and numbers


class Reporter:
    """Reports progress and tells when the run ends; use it as a context around the training loop.

    ``steps`` and ``wall_s`` are environment steps and seconds spent before a resume; ``columns`` has the
    columns to show on the terminal, besides steps.
    """

    def __init__(
        self,
        settings: TrainSettings,
        run: RunFolder,
        *,
        steps: int = 0,
        wall_s: float = 0.0,
        columns: tuple[str, ...] = ("reward",),
    ) -> None:
        self._settings, self._run, self._columns = settings, run, columns
        self._before_s, self._started_s = wall_s, time.monotonic()
        self._latest = run.latest_checkpoint()
        """The checkpoint that a resumed run continues from."""
        run.restore_rows(steps, finished=self.done(steps) >= 1)
        self.row_steps = run.row_steps()
        """Steps of the last row."""
        self._chooser = Chooser(settings, run, steps) if settings.held_out_episodes else None
        self._trackers = trackers(settings, run, steps)
        self._bar: Progress | None = None
        self._said_s = -PLAIN_LINE_S
        if sys.stdout.isatty():
            self._bar = Progress(
                TextColumn(settings.agent),
                BarColumn(),
                TaskProgressColumn(),
                TimeLeft(),
                TextColumn("{task.fields[text]}"),
                console=Console(),
            )
            self._task = self._bar.add_task("train", total=1.0, text="", ends_s=None)
        # From here on: what comes before, such as Cubic's episodes, does not repeat.
        self._first_s, self._first_share = self.wall_s, self.done(steps)

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

    def left_s(self, steps: int) -> float | None:
        """Return the estimated time in s until the run ends; None before the first step and at the end."""
        share = self.done(steps)
        if not self._first_share < share < 1:
            return None
        return (self.wall_s - self._first_s) * (1 - share) / (share - self._first_share)

    def row(self, row: Mapping[str, Any], more: Mapping[str, float] | None = None) -> None:
        """Add a row with a ``steps`` column to progress.csv and the trackers, and show it.

        ``more`` has numbers for the trackers only, under the names of the engine's library.
        """
        self._run.append_progress(
            {
                name: float(f"{value:.6g}") if isinstance(value, float) else value
                for name, value in row.items()
            }
        )
        self.row_steps = row["steps"]
        numbers = scalars(row)
        self._track({**numbers, **scalars(more or {})}, row["steps"])
        shown = [f"{name} {numbers[name]:.4g}" for name in self._columns if name in numbers]
        share, left_s = min(1.0, self.done(row["steps"])), self.left_s(row["steps"])
        if self._bar is not None:
            ends_s = None if left_s is None else time.monotonic() + left_s
            width = self._bar.console.width - len(self._settings.agent) - BAR_COLUMNS
            text = fitting([f"{row['steps']:,} steps", *shown], width)
            self._bar.update(self._task, completed=share, text=text, ends_s=ends_s)
        elif self.wall_s - self._said_s >= PLAIN_LINE_S or share >= 1:
            self._said_s = self.wall_s
            time_left = "" if left_s is None else f"{duration(left_s)} left  "
            self.say(f"{share:4.0%}  {row['steps']:,} steps  {time_left}{'  '.join(shown)}")

    def checkpoint(
        self, steps: int, write: Callable[[Path], Any], *, shared: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        """Write the scheduled checkpoint of ``steps`` with its policy, and evaluate the policy.

        ``write`` and ``shared`` are those of `RunFolder.save_checkpoint`. A run that is killed before the
        evaluation makes it up when it is resumed.
        """
        self._run.save_checkpoint(steps, write, shared=shared)
        self._run.publish()
        self.checkpointed(steps)

    def checkpointed(self, steps: int) -> None:
        """Announce the checkpoint of ``steps`` (without a terminal only) and evaluate its policy."""
        if self._bar is None:
            self.say(f"checkpoint {steps}")
        self._evaluate(steps)

    def _evaluate(self, steps: int) -> None:
        if self._chooser is not None and steps not in self._chooser.steps:
            earned = self._chooser.consider(steps, self.wall_s)
            self._track({f"held_out_{name}": value for name, value in earned.items()}, steps)
            flows = self._settings.for_held_out().scenarios.max_learning_flows
            references = self._chooser.references
            beside = [f"{name}: {described(references[key], flows)}" for key, name in REFERENCES.items()]
            best = f"best: reward {self._chooser.best:.4g}"
            label = "held out" if steps else "held out, before training"
            self.say("; ".join([f"{label}: {described(earned, flows)}", best, *beside]))
            if steps:
                self._warn(earned, references["cubic"])

    def _warn(self, earned: Mapping[str, float], cubic: Mapping[str, float]) -> None:
        """Print a line if the policy loses many packets or has less power than Cubic on the same episodes."""
        faults = []
        if (loss := earned.get("loss_rate", 0.0)) > MOST_LOSS:
            faults.append(f"loss {100 * loss:.2g} % is above {100 * MOST_LOSS:g} %")
        power, theirs = earned.get("power", math.nan), cubic.get("power", math.nan)
        if power < theirs:
            faults.append(f"power {power:.2f} is below Cubic's {theirs:.2f}")
        if faults:
            self.say(f"warning: held out: {'; '.join(faults)}")

    def _track(self, numbers: Mapping[str, float], steps: int) -> None:
        for tracker in self._trackers:
            tracker.log(numbers, steps)

    def leave_if_asked(
        self,
        steps: int,
        write: Callable[[Path], Any],
        *,
        shared: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """If the run is asked to stop, write a checkpoint and raise `Stopped`; call this at safe points.

        It writes no row, evaluates no policy and moves no schedule, so a resumed run continues as if it had
        never stopped. A run that is at its end anyway goes on to end.
        """
        if self._run.stop.asked and self.done(steps) < 1:
            self._run.save_checkpoint(steps, write, scheduled=False, shared=shared)
            self._run.publish()
            raise Stopped

    def _complete(self, latest: Path) -> None:
        """Write the latest checkpoint's policy and rank, if the run was killed before or lost them since."""
        run, steps = self._run, int(latest.name)
        changed = run.publish()
        if self._chooser is not None:
            if run.is_scheduled(steps) and (latest / "policy").is_dir() and steps not in self._chooser.steps:
                self.say(f"evaluation.csv: lacked the row of checkpoint {steps}, or had another: made again")
                self._evaluate(steps)
            else:
                changed += self._chooser.restore_best()
        for line in run.remade:
            self.say(line)
        for folder in changed:
            self.say(f"{folder}: differed from its checkpoint: made again")
        run.prune()

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
        if self._latest is not None:
            try:
                self._complete(self._latest)
            except BaseException:
                self.__exit__(*sys.exc_info())
                raise
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
        for tracker in self._trackers:
            tracker.close()


def fitting(texts: list[str], width: int) -> str:
    """Return the first texts on a line of ``width`` columns, at least one."""
    lines = ("  ".join(texts[:count]) for count in range(len(texts), 1, -1))
    return next((line for line in lines if len(line) <= width), texts[0])


class TimeLeft(ProgressColumn):
    """The time until the monotonic time ``ends_s`` of a task, if it is known."""

    def render(self, task: Task) -> Text:
        """Return the time with its label."""
        ends_s = task.fields["ends_s"]
        return Text("" if ends_s is None else f"{duration(max(0.0, ends_s - time.monotonic()))} left")
