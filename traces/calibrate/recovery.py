"""How well `fit` recovers known parameters: its bias, and the error by the length of the data.

Data are made from known parameters several times over, and fitted. The difference between the mean fit and
the truth is the estimator's bias. The spread of the fits shrinks with the root of the data's length. So it
gives the length of data for an error below a wanted error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leogym.common.units import NS_PER_S
from leogym.traces.calibrate import fit as fitting
from leogym.traces.calibrate.measured import Floats, Measured, made, of_series
from leogym.traces.calibrate.observed import observe
from leogym.traces.capacity import terminal
from leogym.traces.capacity.span import Grid
from leogym.traces.capacity.starlink import Starlink
from leogym.traces.capacity.terminal import Terminal

WANTED = 0.05
"""Error that a fit should stay within."""
PERIOD_S = 15
_DRAWN = {"capacity": {"terminal_at": "to"}, "provenance": "drawn by LeoGym"}


@dataclass(frozen=True)
class Recovery:
    """How well a field is found. Errors are relative to a table's mean, or to a number; NaN if that is 0."""

    field: str
    error: float
    """Mean over the fits; of a table, the mean of its values' errors."""
    bias: float
    """Of the fits' mean."""
    spread: float
    """Standard deviation from fit to fit, of a table the mean square's root over its values; NaN with one."""

    @property
    def needs(self) -> float:
        """How many times as much data brings the error to `WANTED`; NaN if none does, or it is unknown."""
        if np.isnan(self.spread) or self.bias >= WANTED:
            return float("nan")
        return self.spread**2 / (WANTED**2 - self.bias**2)


def known() -> Terminal:
    """Return parameters that differ from those of LeoGym's terminals in every field that a fit finds."""
    tree = terminal.load("starlink").model_dump()
    tree["about"] = "made up, to be found again"
    lost: dict[str, Any] = {"lost_ms": (0.0, 10.0, 20.0, 60.0), "loss": (0.0, 0.002, 0.004, 0.01)}
    tree["downlink"] = {
        "capacity_mbps": (20.0, 60.0, 90.0, 120.0, 150.0, 190.0, 260.0),
        "capacity_correlation": 0.6,
        "second": (0.8, 0.95, 1.0, 1.05, 1.15),
        "gap_ms": (60.0, 80.0, 100.0, 140.0),
        **lost,
    }
    tree["uplink"] = {
        "capacity_mbps": (4.0, 7.0, 9.0, 11.0, 14.0, 22.0),
        "capacity_correlation": 0.4,
        "second": (0.7, 0.9, 1.0, 1.1, 1.25),
        "gap_ms": (50.0, 75.0, 110.0, 130.0),
        **lost,
    }
    tree["round_trip"] = {
        "base_ms": (25.0, 28.0, 31.0, 40.0, 60.0),
        "base_correlation": 0.5,
        "jitter_ms": (0.0, 1.0, 2.0, 3.0, 5.0, 9.0),
        "jitter_every_ms": 20.0,
        "jitter_correlation": 0.6,
        "swing": 0.5,
        "swing_s": 4.0,
    }
    tree["frames"] = {"apart": (0.0, 0.2, 0.3, 0.25, 0.15, 0.1), "burst_ms": (0.2, 0.4, 1.2, 2.5)}
    return terminal.parse(tree, "known")


def data(truth: Terminal, slots: int, seed: int) -> Measured:
    """Return the measurements of a path of the model."""
    grid = Grid(PERIOD_S * NS_PER_S)
    series = made(Starlink(grid, seed, truth, with_base=True), slots + 1)
    return of_series(series, grid, _DRAWN, "known")


def recover(truth: Terminal, start: Terminal, slots: int, repeats: int, seed: int) -> list[Recovery]:
    """Return how well ``repeats`` fits to ``slots`` slots each find the parameters ``truth``."""
    fits_by_field: dict[str, list[Floats]] = {}
    for index in range(repeats):
        path = data(truth, slots, seed + index)
        fitted = fitting.fit(observe([path]), [path], start, seed + index)
        for field in (parameter.field for parameter in fitted.parameters):
            fits_by_field.setdefault(field, []).append(_values(fitted.terminal, field))
    return [of_fits(field, _truth(truth, field, fits), fits) for field, fits in fits_by_field.items()]


def of_fits(field: str, truth: Floats, fits: Sequence[Floats]) -> Recovery:
    """Return how far fits are from the truth."""
    scale = float(np.abs(truth).mean()) or float("nan")
    apart = np.stack(fits) - truth
    return Recovery(
        field,
        float(np.abs(apart).mean()) / scale,
        float(np.abs(apart.mean(axis=0)).mean()) / scale,
        float(np.sqrt(apart.var(axis=0, ddof=1).mean())) / scale if len(fits) > 1 else float("nan"),
    )


def _values(of: Terminal, field: str) -> Floats:
    group, name = field.split(".")
    return np.atleast_1d(np.asarray(getattr(getattr(of, group), name), dtype=np.float64))


def _truth(truth: Terminal, field: str, fits: list[Floats]) -> Floats:
    """Return the true values at a fit's probabilities. Shares may have trailing zeros more or less."""
    values = _values(truth, field)
    longest = max(len(values), *(len(fitted_values) for fitted_values in fits))
    if field == "frames.apart":
        fits[:] = [np.pad(fitted_values, (0, longest - len(fitted_values))) for fitted_values in fits]
        return np.pad(values, (0, longest - len(values)))
    if len(values) == 1:
        return values
    return terminal.at(tuple(values.tolist()), np.linspace(0, 1, len(fits[0])))
