"""Path changes as the path trace has them, and traces that announce them at wrong times."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import leosim
import numpy as np

from leogym.common.errors import InputError
from leogym.results.measurement import Column
from leogym.traces.path import cache
from leogym.traces.path.announcement import DEFAULT, ReportError

STEP_MS = 3.0
"""A path change is a step if the base RTT differs by this a second later: an estimator could see it."""
_BEFORE_S, _AFTER_S = 0.1, 1.0
"""A reconfiguration of Starlink's path ends with a spike of the delay; a second later it is over."""


@dataclass(frozen=True)
class Changes:
    """A run's path changes."""

    time_s: list[float]
    """When the path changes, from the run's start, sorted; also some before and after the run."""
    step_ms: list[float]
    """How far the base RTT is from the one before, a second later."""


@dataclass(frozen=True)
class AnnouncedPath:
    """A path trace that announces its path changes."""

    name: str
    csv: bytes

    @classmethod
    def load(cls, name: str) -> AnnouncedPath:
        """Load a named path or a file.

        Raises:
            InputError: there is none, it is invalid, or it lacks ``handovers`` or ``reattach_s``.
        """
        path = cls(name, cache.read_bytes(cache.file(name)))
        for key in ("handovers", "reattach_s"):
            if not path.metadata.get(key):
                raise InputError(f"{name}: {key}: needed to score detections, and not in the metadata")
        return path

    @cached_property
    def trace(self) -> leosim.PathTrace:
        """The unchanged path trace."""
        return cache.parse(self.csv, self.name)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the trace."""
        return json.loads(self.trace.metadata)

    @property
    def period_s(self) -> float:
        """Length of the trace; replay wraps."""
        return self.trace.period_ns / 1e9

    def changes(self, offset_s: float, begin_s: float, end_s: float) -> Changes:
        """Return the path changes between two times of a run that begins at ``offset_s`` of the trace.

        Args:
            offset_s: within the trace.
            begin_s: in s from the run's start; may be negative.
            end_s: in s from the run's start.
        """
        at_s = np.array(sorted({float(handover["time_s"]) for handover in self.metadata["handovers"]}))
        rounds = np.arange(np.floor((offset_s + begin_s) / self.period_s), (offset_s + end_s) / self.period_s)
        times_s = np.sort((at_s[None, :] + rounds[:, None] * self.period_s).ravel()) - offset_s
        times_s = times_s[(times_s >= begin_s) & (times_s < end_s)]
        after = self.base_rtt_ms(times_s + offset_s + _AFTER_S)
        before = self.base_rtt_ms(times_s + offset_s - _BEFORE_S)
        return Changes(times_s.tolist(), np.abs(after - before).tolist())

    def base_rtt_ms(self, time_s: Column) -> Column:
        """Return the base RTT at times of the trace in s, which may lie outside it."""
        within_ns = np.round(np.mod(time_s, self.period_s) * 1e9).astype(np.uint64)
        rows = np.searchsorted(self.trace.time_ns, within_ns, side="right") - 1
        return (self.trace.up_delay_ns[rows] + self.trace.down_delay_ns[rows]) / 1e6

    def announcing(self, error_s: float, seed: int) -> leosim.PathTrace:
        """Return the trace with all announcements late by ``error_s``, or early if it is negative.

        Both the grid and the predicted handovers move. Predictions of a path without an orbit are exact; they
        first get the errors that predictions from public orbits have (`DEFAULT`), by ``seed``.
        """
        metadata = dict(self.metadata)
        drawn = ReportError(DEFAULT, seed)
        without_orbit = metadata.get("links") == "synthetic"

        def predicted_s(handover: dict[str, Any]) -> float:
            exact = drawn.predicted_s(handover["time_s"], round(handover["time_s"] * 1e9))
            return ((exact if without_orbit else handover["predicted_s"]) + error_s) % self.period_s

        metadata["reattach_phase_s"] = metadata.get("reattach_phase_s", 0.0) + error_s
        metadata["handovers"] = [
            {**handover, "predicted_s": predicted_s(handover)} for handover in metadata["handovers"]
        ]
        rows = b"".join(line for line in self.csv.splitlines(keepends=True) if not line.startswith(b"#"))
        return cache.parse(f"# {json.dumps(metadata)}\n".encode() + rows, self.name)
