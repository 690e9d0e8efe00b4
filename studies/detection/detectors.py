"""Detectors of path changes: schemes that read announcements, and an estimator that reads RTTs alone."""

from dataclasses import dataclass
from typing import Any

import leosim
import numpy as np

from leogym.results.measurement import Column

ANNOUNCED = ("leocc", "starquic", "satcp", "satcp-0.3s")
"""Schemes that act on a path's announcements: their path changes are in the run log (``path_change_s``)."""

PROBE = "1 Mbit/s"
"""Of a flow whose application leaves the queue empty."""


@dataclass(frozen=True)
class Detector:
    """Detects the path changes of a run."""

    name: str
    flow: dict[str, Any]
    """The flow whose series it reads, without its route."""
    announced: bool
    """Whether it acts on announcements."""

    def change_times_s(self, series: dict[str, Column]) -> list[float]:
        """Return when it detects a path change, in s, from the series of a run with this flow alone."""
        if self.announced:
            times_s = series["path_change_s"]
            return np.unique(times_s[np.isfinite(times_s)]).tolist()
        return leosim.base_rtt_steps(series["time_s"], series["rtt_ms"])


DETECTORS = (
    *(Detector(scheme, {"scheme": scheme}, announced=True) for scheme in ANNOUNCED),
    Detector(f"RTT alone, {PROBE}", {"scheme": "cubic", "rate_mbps": 1.0}, announced=False),
    *(Detector(f"RTT alone, {scheme}", {"scheme": scheme}, announced=False) for scheme in ("cubic", "bbr3")),
)
"""The estimator reads a flow that leaves the queue empty, one that fills it and one that seldom does."""
