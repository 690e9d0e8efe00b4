"""The run log as plain data, which every backend returns and metrics and figures read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import leosim
import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


COLUMNS = {
    table: {name: kind for name, kind, _, _ in columns} for table, columns in leosim.run_log_columns().items()
}
"""The columns of each run log table with their Rust types. The simulator declares them."""


@dataclass(frozen=True)
class Measurement:
    """The measurements of a run: tables with the columns of `COLUMNS`.

    A series row describes the interval since the previous row of the same flow or link.

    A long run may come in parts, each with the series' rows of its time range. All parts but the last have
    only the schemes in ``flows``, and nothing in ``links``.
    """

    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    flow_series: dict[str, Column]
    link_series: dict[str, Column]
    link_names: list[str]
    invalid: str | None = None
    """Why the run is invalid, for instance because a QUIC stack lost its connection; None if valid."""
    bbr_series: dict[str, Column] = field(default_factory=dict)
    """Empty on backends that do not measure it."""

    @classmethod
    def of(cls, log: leosim.RunLog) -> Measurement:
        """Convert the simulator's run log."""
        return cls(
            log.flows,
            log.links,
            log.flow_series,
            log.link_series,
            log.link_names,
            log.invalid,
            log.bbr_series,
        )

    def _repr_html_(self) -> str:
        """Return a card for notebooks: goodput and RTT over time, and a table of flows."""
        from leogym.results.run_card import run_card  # here, because few runs are looked at in a notebook

        itself: Any = self  # pyright reads this module by two paths, as two classes
        return run_card(itself)

    def of_flow(self, flow: int) -> dict[str, Column]:
        """Return the series of one flow."""
        return _rows(self.flow_series, "flow", flow)

    def of_link(self, link: int) -> dict[str, Column]:
        """Return the series of one link, by its index in ``link_names``."""
        return _rows(self.link_series, "link", link)


def ordered(table: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row, or the columns, of a run log table in the declared order.

    A number that a backend does not measure is NaN, an optional one None.

    Raises:
        KeyError: an unknown column, or a missing count, flag or name.
    """
    kinds = COLUMNS[table]
    if unknown := columns.keys() - kinds.keys():
        raise KeyError(f"{table}: unknown columns: {', '.join(sorted(unknown))}")
    nan = np.full(np.shape(next(iter(columns.values()))), np.nan)
    unmeasured = {"f64": float("nan"), "Vec<f64>": nan, "Option<f64>": None, "Option<u64>": None}
    unmeasured["Option<String>"] = None
    if missing := [name for name in kinds if name not in columns and kinds[name] not in unmeasured]:
        raise KeyError(f"{table}: missing columns: {', '.join(missing)}")
    return {name: columns[name] if name in columns else unmeasured[kinds[name]] for name in kinds}


def _rows(series: dict[str, Column], key: str, value: int) -> dict[str, Column]:
    selected = series[key] == value
    return {name: column[selected] for name, column in series.items()}


def grouped(series: dict[str, Column], key: str, *names: str) -> Iterator[tuple[int, list[Column]]]:
    """Yield each value of the column ``key`` with its rows of the columns ``names``, in order."""
    order = np.argsort(series[key], kind="stable")
    keys = series[key][order]
    for rows in np.split(order, np.flatnonzero(np.diff(keys)) + 1):
        if len(rows):
            yield int(series[key][rows[0]]), [series[name][rows] for name in names]


class Window(NamedTuple):
    """The measured time: begin to end, or only the first part of every period within."""

    begin_s: float
    end_s: float
    every_s: float | None = None
    """Period, counted from the run's start."""
    first_s: float = 0.0

    def before(self, time_s: Column) -> Column:
        """Return the measured time that has passed at each time, in s."""
        time_s = np.clip(time_s, self.begin_s, self.end_s)
        if self.every_s is None:
            return time_s
        periods, within_s = np.divmod(time_s, self.every_s)
        return periods * self.first_s + np.minimum(within_s, self.first_s)


class StepMean:
    """The time-weighted mean of a step series over a window, computed from parts of the series.

    Args:
        window_s: a `Window`, or begin and end in s.
        start_s: begin of the first step.
    """

    def __init__(self, window_s: Window | tuple[float, float], start_s: float = 0.0) -> None:
        self._window = window_s if isinstance(window_s, Window) else Window(*window_s)
        self._end_s = start_s
        self._weight = self._weighted = 0.0

    def add(self, end_s: Column, values: Column) -> None:
        """Add steps.

        Args:
            end_s: (n,) increasing times in s; each ends a step that began at the previous one.
            values: (n,) value of each step; NaN steps are ignored.
        """
        if not len(end_s):
            return
        inside_s = np.diff(self._window.before(np.concatenate(([self._end_s], end_s))))
        weights = np.where(np.isnan(values), 0.0, np.clip(inside_s, 0.0, None))
        self._weight += float(weights.sum())
        self._weighted += float(np.dot(weights, np.nan_to_num(values)))
        self._end_s = float(end_s[-1])

    def mean(self) -> float:
        """Return the mean; NaN if no step lies in the window."""
        return self._weighted / self._weight if self._weight > 0 else float("nan")


def step_mean(end_s: Column, values: Column, window_s: tuple[float, float], start_s: float = 0.0) -> float:
    """Return the mean of a whole step series; see `StepMean` for the arguments."""
    mean = StepMean(window_s, start_s)
    mean.add(end_s, values)
    return mean.mean()
