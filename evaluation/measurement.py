"""A run's log as plain data: what every backend hands to metrics and figures, and what Ray sends home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


@dataclass(frozen=True)
class Measurement:
    """What one run measured. Keys and units are those of `leosim.RunLog`.

    A row of a series closes an interval: it describes the time since the row before it of the same flow or
    link.
    """

    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    flow_series: dict[str, Column]
    link_series: dict[str, Column]
    link_names: list[str]
    invalid: str | None = None
    """Why this is no result: the machine could not keep up with a run in real time. None for a valid run."""

    def of_flow(self, flow: int) -> dict[str, Column]:
        """Return the series of one flow."""
        return _rows(self.flow_series, "flow", flow)

    def of_link(self, link: int) -> dict[str, Column]:
        """Return the series of one link, by its index in ``link_names``."""
        return _rows(self.link_series, "link", link)


def _rows(series: dict[str, Column], key: str, value: int) -> dict[str, Column]:
    mine = series[key] == value
    return {name: column[mine] for name, column in series.items()}


def step_mean(end_s: Column, values: Column, window_s: tuple[float, float], start_s: float = 0.0) -> float:
    """Return the time-weighted mean of a step series over a window.

    Args:
        end_s: (n,) increasing times in s; each closes a step that began at the one before it.
        values: (n,) value of each step; steps without a value (NaN) are left out.
        window_s: begin and end in s.
        start_s: when the first step began.
    """
    begin_s = np.concatenate(([start_s], end_s[:-1]))
    inside_s = np.minimum(end_s, window_s[1]) - np.maximum(begin_s, window_s[0])
    weights = np.where(np.isnan(values), 0.0, np.clip(inside_s, 0.0, None))
    total = weights.sum()
    return float(np.dot(weights, np.nan_to_num(values)) / total) if total > 0 else float("nan")
