"""Checks of a run's course, and the versions whose parameters they expect.

Numbers of version 3 are those of draft-ietf-ccwg-bbr; those of version 1 are of
draft-cardwell-iccrg-bbr-congestion-control-00 and of Linux's tcp_bbr.c. A case that tests what version 1 does
not have says so and checks what version 1 does instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from studies.bbr_cases.course import Course, Spell

SAMPLED = 0.1
"""Tolerance of what changes from one row to the next, an eighth of a round trip later."""


@dataclass(frozen=True)
class Version:
    """Parameters of a version of BBR."""

    number: int
    drain_gain: float
    down_gain: float
    up_gain: float
    probe_rtt_interval_s: float
    probe_rtt_gain: float
    """BDPs in the window of PROBE_RTT; 0: `LEAST_WINDOW`."""


VERSIONS = {
    # Linux: bbr_drain_gain, bbr_pacing_gain, bbr_min_rtt_win_sec, bbr_cwnd_min_target.
    1: Version(1, 88 / 256, 0.75, 1.25, 10.0, 0.0),
    # BBR.DrainPacingGain, ProbeDownPacingGain, ProbeUpPacingGain, ProbeRTTInterval, ProbeRTTCwndGain.
    3: Version(3, 0.5, 0.9, 1.25, 5.0, 0.5),
}
LONGEST_RECOVERY_S = 1.2
"""Two round trips of the longest path."""
LEAST_WINDOW = 4
"""BBR.MinPipeCwnd; Linux: bbr_cwnd_min_target."""
PACING_MARGIN = 0.99
"""BBR.PacingMarginPercent; Linux: bbr_pacing_margin_percent."""
GROWING_ROUNDS = 6
"""Round trips of a probe in which inflight_longterm limits the window."""


class Check(NamedTuple):
    """An expectation of a case, and what the run has."""

    what: str
    measured: str
    expected: str
    passed: bool
    applies: bool = True
    """False: not part of this version; the check is of what the version does instead."""


Checks = Iterator[Check]
AFTER_STARTUP = ("DRAIN", "PROBE_DOWN", "CRUISE")


def within(
    what: str, value: float | None, low: float, high: float, unit: str = "", applies: bool = True
) -> Check:
    """Return the check that a value lies in a range; a missing value does not."""
    value = float("nan") if value is None else value
    unit = f" {unit}" if unit else ""
    if low == high:
        expected = f"{low:.4g}{unit}"
    elif high == float("inf"):
        expected = f"≥ {low:.4g}{unit}"
    elif low == -float("inf"):
        expected = f"≤ {high:.4g}{unit}"
    else:
        expected = f"{low:.4g} to {high:.4g}{unit}"
    measured = "none" if np.isnan(value) else f"{value:.4g}{unit}"
    return Check(what, measured, expected, bool(low - 1e-6 <= value <= high + 1e-6), applies)


def equal(what: str, value: str, expected: str, applies: bool = True) -> Check:
    """Return the check that a text is another."""
    return Check(what, value or "none", expected, value == expected, applies)


def follows(course: Course, spell: Spell | None) -> str:
    """Return the state after a stay."""
    return "" if spell is None else course.state_at(spell.end)


def at_end(course: Course, spell: Spell | None, name: str) -> float | None:
    """Return a column's value when a stay ends."""
    return None if spell is None else float(course[name][spell.end])


def length_s(course: Course, spell: Spell | None) -> float | None:
    """Return how long a stay lasts."""
    return None if spell is None else float(course["time_s"][spell.end] - course["time_s"][spell.begin])


def rounds_in(course: Course, spell: Spell | None) -> float | None:
    """Return the round trips of a stay."""
    return None if spell is None else float(course["round"][spell.end] - course["round"][spell.begin])


def in_flight(course: Course, spell: Spell | None, rows_before: int = 0) -> float | None:
    """Return the packets in flight over the BDP when a stay ends."""
    if spell is None:
        return None
    row = spell.end - rows_before
    return float(course["in_flight_packets"][row]) / course.bdp(row)


def pacing_gain(course: Course, spell: Spell | None) -> float | None:
    """Return the pacing rate over the paced share of the bandwidth, in the middle of a stay."""
    if spell is None:
        return None
    row = (spell.begin + spell.end) // 2
    return float(course["pacing_mbps"][row] / course["bw_mbps"][row] / PACING_MARGIN)


def gain(what: str, course: Course, spell: Spell | None, expected: float) -> Check:
    """Return the check of a pacing gain."""
    return within(what, pacing_gain(course, spell), 0.98 * expected, 1.02 * expected)
