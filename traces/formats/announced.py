"""The re-selection grid and handovers that an imported trace announces to handover-aware schemes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_S
from leogym.traces.formats import grid
from leogym.traces.formats.grid import Grid
from leogym.traces.formats.series import Series
from leogym.traces.path import announcement
from leogym.traces.path.announcement import ReportError

MAX_REATTACH_S = 3600.0
_LINE_S = 1.0  # LeoEM's logs have one line per second


@dataclass(frozen=True)
class Change:
    """A change of the path, in a log that marks them all."""

    time_s: float  # since the log's first line
    kind: str  # ``hard`` or ``soft``
    end: str | None  # the end whose satellite changed: ``from``, ``to`` or ``both``; None if soft


@dataclass(frozen=True)
class ReattachOptions:
    """The user's period and phase of re-selections, which override those detected in the data."""

    period_s: float | None = None
    phase_s: float | None = None  # since the file's first row

    def phase_below(self, period_s: float) -> float | None:
        """Return the user's phase; raise InputError unless it is below the period."""
        if self.phase_s is not None and self.phase_s >= period_s:
            raise InputError(
                f"import: --reattach-phase-s: {self.phase_s:g} is not below the period of {period_s:g} s"
            )
        return self.phase_s


DETECTED = ReattachOptions()


def of_changes(changes: Sequence[Change], reattach: ReattachOptions) -> tuple[dict[str, Any], list[str]]:
    """Return metadata and notes for a log that marks every change of the path.

    Raises:
        InputError: there is a phase, but no period.
    """
    hard = [change for change in changes if change.end]
    ends = [
        np.array([change.time_s for change in hard if change.end in (end, "both")]) for end in ("from", "to")
    ]
    period_s, detected = grid.find_exact(ends, _LINE_S)
    notes = []
    if reattach.period_s is None and period_s is not None and detected is None and reattach.phase_s is None:
        notes.append(
            f"the ends change their satellites after multiples of {period_s:g} s and start over too often "
            "for one grid: none is announced; --reattach-s and --reattach-phase-s set one"
        )
    used = _chosen_grid(
        period_s if reattach.phase_s is not None else None,
        detected,
        np.unique(np.concatenate(ends)),
        reattach,
    )
    metadata = _grid_metadata(used)
    if used is not None:
        off_s = [change.time_s for change in hard if not used.holds(np.array([change.time_s]))[0]]
        metadata["off_grid_handovers_s"] = off_s
        notes.append(
            _grid_note(used, reattach, f"{len(hard) - len(off_s)} of {len(hard)} hard handovers are on it")
        )
    predicted = ReportError(announcement.DEFAULT, seed=0)
    metadata["report_error"] = announcement.DEFAULT
    metadata["handovers"] = [
        {
            "time_s": change.time_s,
            "kind": change.kind,
            "end": change.end,
            "predicted_s": predicted.predicted_s(change.time_s, round(change.time_s * NS_PER_S)),
        }
        for change in changes
    ]
    return metadata, notes


def of_series(series: Series, reattach: ReattachOptions) -> tuple[dict[str, Any], list[str]]:
    """Return metadata and notes for a measured path, which does not mark its changes.

    All re-selections on the user's or the detected grid are announced, because the path may change at each.

    Raises:
        InputError: there is a phase, but no period.
    """
    resolution_s = float(np.median(series.end_ns - series.time_ns)) / NS_PER_S
    detected = grid.find_measured(series, resolution_s)
    used = _chosen_grid(None, detected, np.empty(0), reattach)
    metadata = _grid_metadata(used)
    if used is None:
        return metadata, []
    times_s = np.arange(used.phase_s, series.period_ns / NS_PER_S, used.period_s)
    metadata["handovers"] = [
        {"time_s": time_s, "kind": "reselection", "end": None, "predicted_s": round(time_s, 3)}
        for time_s in np.round(times_s, 6).tolist()
    ]
    why = f"{used.on} of {used.of} outages or peaks of delay are on it" if used.of else ""
    return metadata, [_grid_note(used, reattach, why)]


def of_export(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """Return the announcements of the trace that an export came from, or an empty dictionary."""
    trace = sidecar.get("trace")
    keys = ("reattach_s", "reattach_phase_s", "start_s", "off_grid_handovers_s", "report_error", "handovers")
    return {key: trace[key] for key in keys if key in trace} if isinstance(trace, dict) else {}


def _chosen_grid(
    period_s: float | None, detected: Grid | None, time_s: grid.Seconds, reattach: ReattachOptions
) -> Grid | None:
    """Return the user's grid, or else the detected one."""
    if reattach.period_s is None and detected is not None:
        phase_s = reattach.phase_below(detected.period_s)
        return detected if phase_s is None else Grid(detected.period_s, phase_s, 0, 0)
    period_s = period_s if reattach.period_s is None else reattach.period_s
    if period_s is None:
        if reattach.phase_s is not None:
            raise InputError("import: --reattach-phase-s: no period is found in the data: give --reattach-s")
        return None
    phase_s = reattach.phase_below(period_s)
    if phase_s is None and detected is not None and detected.period_s == period_s:
        return detected
    if phase_s is None and len(time_s):
        return grid.phase(time_s, period_s, 0.0)
    return Grid(period_s, phase_s or 0.0, 0, 0)


def _grid_metadata(used: Grid | None) -> dict[str, Any]:
    return {} if used is None else {"reattach_s": used.period_s, "reattach_phase_s": round(used.phase_s, 6)}


def _grid_note(used: Grid, reattach: ReattachOptions, why: str) -> str:
    source = "as found" if reattach.period_s is None and reattach.phase_s is None else "as told"
    text = f"re-selections every {used.period_s:g} s from {used.phase_s:g} s on, {source}"
    return f"{text}: {why}" if why else text
