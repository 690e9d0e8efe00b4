"""Who tells path changes: schemes that are told when, and an estimator that sees RTTs alone."""

from dataclasses import dataclass
from typing import Any

import leosim
import numpy as np

from leogym.results.measurement import Column

TOLD = ("leocc", "starquic", "satcp", "satcp-0.3s")
"""Schemes that act on a path's announcements: their path changes are in the run log (``path_change_s``)."""

PROBE = "1 Mbit/s"
"""Of a flow whose application leaves the queue empty."""


@dataclass(frozen=True)
class Detector:
    """Tells the path changes of a run."""

    name: str
    flow: dict[str, Any]
    """The flow that it rides on, without its route."""
    told: bool
    """Whether it acts on announcements."""

    def found_s(self, series: dict[str, Column]) -> list[float]:
        """Return when it takes the path for changed, in s, from the series of a run with this one flow."""
        if self.told:
            times_s = series["path_change_s"]
            return np.unique(times_s[np.isfinite(times_s)]).tolist()
        return leosim.base_rtt_steps(series["time_s"], series["rtt_ms"])


DETECTORS = (
    *(Detector(scheme, {"scheme": scheme}, told=True) for scheme in TOLD),
    Detector(f"RTT alone, {PROBE}", {"scheme": "cubic", "rate_mbps": 1.0}, told=False),
    *(Detector(f"RTT alone, {scheme}", {"scheme": scheme}, told=False) for scheme in ("cubic", "bbr3")),
)
"""The estimator rides on a flow that leaves the queue empty, one that fills it and one that seldom does."""
