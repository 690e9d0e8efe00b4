"""The run log as plain data: every backend returns one, and metrics and figures read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import leosim
import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


COLUMNS = {
    table: tuple(name for name, _, _ in columns) for table, columns in leosim.run_log_columns().items()
}
"""The columns of each of a run log's tables. The simulator declares them, with units and meanings."""


@dataclass(frozen=True)
class Measurement:
    """What one run measured: four tables with the columns of `COLUMNS`.

    A row of a series closes an interval: it describes the time since the previous row of the same flow or
    link.

    A long run may come in parts, each with the series' rows of its stretch of time. All parts but the last
    have only the schemes in ``flows``, and nothing in ``links``.
    """

    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    flow_series: dict[str, Column]
    link_series: dict[str, Column]
    link_names: list[str]
    invalid: str | None = None
    """Why the run is invalid: the machine could not keep up with a run in real time. None for a valid run."""

    @classmethod
    def of(cls, log: leosim.RunLog) -> Measurement:
        """Return the simulator's log of a run."""
        return cls(log.flows, log.links, log.flow_series, log.link_series, log.link_names)

    def of_flow(self, flow: int) -> dict[str, Column]:
        """Return the series of one flow."""
        return _rows(self.flow_series, "flow", flow)

    def of_link(self, link: int) -> dict[str, Column]:
        """Return the series of one link, by its index in ``link_names``."""
        return _rows(self.link_series, "link", link)


def ordered(table: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row or the columns of a run log's table in the declared order.

    A column that a backend does not measure is NaN.

    Raises:
        KeyError: a column that the table does not have.
    """
    if unknown := columns.keys() - set(COLUMNS[table]):
        raise KeyError(f"{table}: no such columns: {', '.join(sorted(unknown))}")
    size = np.shape(next(iter(columns.values())))
    missing: Any = np.full(size, np.nan) if size else float("nan")
    return {name: columns.get(name, missing) for name in COLUMNS[table]}


def _rows(series: dict[str, Column], key: str, value: int) -> dict[str, Column]:
    mine = series[key] == value
    return {name: column[mine] for name, column in series.items()}


def grouped(series: dict[str, Column], key: str, *names: str) -> Iterator[tuple[int, list[Column]]]:
    """Yield each value of the column ``key`` with its rows of the columns ``names``, in their order."""
    order = np.argsort(series[key], kind="stable")
    keys = series[key][order]
    for rows in np.split(order, np.flatnonzero(np.diff(keys)) + 1):
        if len(rows):
            yield int(series[key][rows[0]]), [series[name][rows] for name in names]


class Window(NamedTuple):
    """The time that counts: all from begin to end, or the first part of every so many seconds in it."""

    begin_s: float
    end_s: float
    every_s: float | None = None
    """Counted from the run's start."""
    first_s: float = 0.0

    def before(self, time_s: Column) -> Column:
        """Return how much of the time that counts is over at each time, in s."""
        time_s = np.clip(time_s, self.begin_s, self.end_s)
        if self.every_s is None:
            return time_s
        whole, rest = np.divmod(time_s, self.every_s)
        return whole * self.first_s + np.minimum(rest, self.first_s)


class StepMean:
    """The time-weighted mean of a step series over a window, from parts of the series.

    Args:
        window_s: a `Window`, or begin and end in s.
        start_s: when the first step began.
    """

    def __init__(self, window_s: Window | tuple[float, float], start_s: float = 0.0) -> None:
        self._window = window_s if isinstance(window_s, Window) else Window(*window_s)
        self._end_s = start_s
        self._weight = self._weighted = 0.0

    def add(self, end_s: Column, values: Column) -> None:
        """Add steps.

        Args:
            end_s: (n,) increasing times in s; each closes a step that began at the one before it.
            values: (n,) value of each step; steps without a value (NaN) are left out.
        """
        if not len(end_s):
            return
        inside_s = np.diff(self._window.before(np.concatenate(([self._end_s], end_s))))
        weights = np.where(np.isnan(values), 0.0, np.clip(inside_s, 0.0, None))
        self._weight += float(weights.sum())
        self._weighted += float(np.dot(weights, np.nan_to_num(values)))
        self._end_s = float(end_s[-1])

    def mean(self) -> float:
        """Return the mean, NaN where no step lies in the window."""
        return self._weighted / self._weight if self._weight > 0 else float("nan")


def step_mean(end_s: Column, values: Column, window_s: tuple[float, float], start_s: float = 0.0) -> float:
    """Return the mean of a step series as a whole; arguments as of `StepMean`."""
    mean = StepMean(window_s, start_s)
    mean.add(end_s, values)
    return mean.mean()
