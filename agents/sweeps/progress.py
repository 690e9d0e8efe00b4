"""Prints how far a sweep is, on a terminal or in a log."""

import threading
import time
from types import TracebackType

from leogym.agents.sweeps.plan import Plan, Trial
from leogym.common.durations import duration
from leogym.common.errors import InputError

INTERVAL_S = 20.0
"""Time between two lines."""


class SweepProgress:
    """Prints a line at the start and every ``interval_s`` while the context is open.

    It reads the trials' files, which every node of a cluster writes to the same folder. ``before`` names what
    these trials are a part of.
    """

    def __init__(self, plan: Plan, before: str = "", interval_s: float = INTERVAL_S) -> None:
        self._plan, self._before, self._interval_s = plan, before, interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="prints the sweep's progress", daemon=True)
        self._begun_s, self._share = time.monotonic(), self._done()[1]

    def line(self) -> str:
        """Return the line about the trials as they are now."""
        plan = self._plan
        ended, share = self._done()
        parts = [f"{self._before}{share:4.0%}  {ended} of {len(plan.trials)} trials ended"]
        if self._share < share < 1:
            elapsed_s = time.monotonic() - self._begun_s
            parts.append(f"{duration(elapsed_s * (1 - share) / (share - self._share))} left")
        values = [(best[1], trial.number) for trial in plan.trials if (best := plan.best(trial))]
        if values:
            value, number = max(values, key=lambda pair: plan.better(pair[0]))
            parts.append(f"best {plan.metric} {value:.4g} (trial {number})")
        return "  ".join(parts)

    def _done(self) -> tuple[int, float]:
        """Return the number of trials that ended, and the share of all steps that is done."""
        running = [trial for trial in self._plan.trials if trial.status() == "unfinished"]
        ended = len(self._plan.trials) - len(running)
        return ended, (ended + sum(_share(trial) for trial in running)) / len(self._plan.trials)

    def _watch(self) -> None:
        while not self._ended.wait(self._interval_s):
            self._print()

    def _print(self) -> None:
        try:
            line = self.line()
        except (OSError, InputError):  # a trial's file changes meanwhile, or is damaged: its trial says so
            return
        print(line, flush=True)

    def __enter__(self) -> "SweepProgress":
        self._print()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()


def _share(trial: Trial) -> float:
    """Return the share of a trial's steps that the last row of progress.csv has."""
    curve = trial.curve("steps")
    return min(1.0, curve[-1][0] / (trial.settings.steps or 1)) if curve else 0.0
