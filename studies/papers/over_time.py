"""Measures over time of a run: recovery, convergence, variation, reductions, effects of the base RTT."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from leogym.results.metrics import PAYLOAD_SHARE, Metric
from studies.papers.course import Course

RECOVERED = 0.8
"""Share of the capacity at which a flow has recovered."""
CONVERGED = 0.8
"""Goodput ratio at which flows have converged."""
FULL = 0.9
"""Share of the capacity that counts as full in a slot of `SLOT_S`."""
SLOT_S = 0.3
"""The multiple of the series' step closest to the 266 ms of Garcia et al., Fig. 3."""
ABOVE = 1.5
"""A base RTT counts as raised from this multiple of the lowest so far."""
AT = 1.1
"""A base RTT counts as the lowest up to this multiple of the lowest so far."""
RISE = 2 / RECOVERED
"""A rise of the base RTT from one row to the next counts as sharp from this ratio: BBR keeps up to two BDPs
in flight, which after a smaller one are still `RECOVERED` of the path."""
CHANGE = 1.1
"""A base RTT that changes by this ratio from one row to the next ends the time after a sharp rise."""
AFTER_RISE_S = 10.0
"""Minimum time after a sharp rise: the length of BBR's filter of the minimum RTT."""
FALL = 0.15
"""Minimum relative fall of the window in a reduction: less than any scheme's factor."""
GONE_S = 0.5
"""Time that the window must stay down: a repair holds it low for only one or two RTTs."""

NEAR = 0.7
"""Lags whose similarity of drops reaches this share of the best one's count as candidates."""
LEVEL = 31
"""Samples of 0.1 s whose median is the level that a goodput drops from."""

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class OverTime:
    """A measure over one run's series."""

    metric: Metric
    of: Callable[[Course], float | None]


def _recovery_s(course: Course) -> float | None:
    share = course.total(1.0) / (course.capacity(1.0) * PAYLOAD_SHARE)
    if len(share) < 3:
        return None
    lasting = np.convolve(share, np.ones(3) / 3, mode="valid") >= RECOVERED
    # Without recovery, count the whole window.
    return float(np.argmax(lasting)) if lasting.any() else course.end_s - course.begin_s


def _rise_recovery_s(course: Course) -> float | None:
    rows = course.rows.filter(pl.col("base_rtt_ms").is_finite()).sort("time_s")
    base, time_s = rows["base_rtt_ms"].to_numpy(), rows["time_s"].to_numpy()
    if len(base) < 2:
        return None
    ratio = base[1:] / base[:-1]
    changes_s = time_s[1:][np.maximum(ratio, 1 / ratio) >= CHANGE]
    recoveries_s = []
    for rise_s in time_s[1:][ratio >= RISE]:
        end_s = min([later for later in changes_s if later > rise_s], default=course.end_s)
        if end_s - rise_s < AFTER_RISE_S:
            continue
        inside = (pl.col("time_s") > rise_s) & (pl.col("time_s") <= end_s)
        after = Course(course.rows.filter(inside), course.links.filter(inside), rise_s, end_s, rise_s)
        recoveries_s.append(_recovery_s(after))
    known = [recovery_s for recovery_s in recoveries_s if recovery_s is not None]
    return float(np.mean(known)) if known else None


def _convergence_s(course: Course) -> float | None:
    flows = [course.goodput(flow, 1.0, course.joined_s) for flow in course.flows]
    if len(flows) < 2:
        return None
    length = min(len(series) for series in flows)
    if length < 5:
        return None
    means = np.stack([np.convolve(series[:length], np.ones(5) / 5, mode="valid") for series in flows])
    even = means.min(axis=0) >= CONVERGED * means.max(axis=0)
    return float(np.argmax(even)) if even.any() else course.end_s - course.joined_s


def _deviation(course: Course) -> float | None:
    deviations = []
    for flow in course.flows:
        seconds = course.goodput(flow, 1.0)
        if len(seconds) > 1 and seconds.mean() > 0:
            deviations.append(seconds.std() / seconds.mean())
    return float(np.mean(deviations)) if deviations else None


def _ratio_deviation(course: Course) -> float | None:
    goodputs = np.stack([course.goodput(flow, 1.0, course.joined_s) for flow in course.flows])
    if len(goodputs) != 2:
        return None
    highest = goodputs.max(axis=0)
    ratios = goodputs.min(axis=0)[highest > 0] / highest[highest > 0]
    return float(ratios.std()) if len(ratios) > 1 else None


def _short_term_deviation(course: Course) -> float | None:
    slots = course.total(SLOT_S)
    each = round(5 / SLOT_S)
    blocks = slots[: len(slots) // each * each].reshape(-1, each)
    blocks = blocks[blocks.mean(axis=1) > 0]
    # Use the median block of 5 s: few blocks hold a reconfiguration.
    return float(np.median(blocks.std(axis=1) / blocks.mean(axis=1))) if len(blocks) else None


def _full_share(course: Course) -> float | None:
    capacity = course.capacity(SLOT_S) * PAYLOAD_SHARE
    total = course.total(SLOT_S)
    return float(np.mean(total[capacity > 0] >= FULL * capacity[capacity > 0])) if capacity.any() else None


def _drop_period_s(course: Course) -> float | None:
    total = course.total(0.1)
    if len(total) < 600:
        return None
    # Below the level around: a slot of little capacity is no drop.
    level = pl.Series(total).rolling_median(LEVEL, center=True, min_samples=1).to_numpy()
    drops = np.minimum(np.divide(total, level, out=np.ones_like(total), where=level > 0), 1.0)
    drops = drops - drops.mean()
    lags = np.arange(50, 301)
    alike = [float(drops[:-lag] @ drops[lag:] / (len(drops) - lag)) for lag in lags]
    # Drops that repeat after one period also repeat after two: take the first lag near the best.
    near = np.array(alike) >= NEAR * max(alike)
    first = int(np.argmax(near))
    end = first + int(np.argmin(np.append(near[first:], False)))
    return float(lags[first + int(np.argmax(alike[first:end]))]) / 10


def _base_rtt_deviation_ms(course: Course) -> float | None:
    base = course.rows["base_rtt_ms"].to_numpy()
    base = base[np.isfinite(base)]
    return float(base.std()) if len(base) else None


def _reductions(course: Course) -> float | None:
    count = 0
    for flow in course.flows:
        rows = course.rows.filter(pl.col("flow") == flow)
        window = rows["cwnd_packets"].to_numpy().astype(float)
        count += _reductions_of(window, rows["time_s"].to_numpy().astype(float))
    span_s = course.end_s - course.begin_s
    return 60.0 * count / span_s if course.flows and span_s > 0 else None


def _reductions_of(window: Floats, time_s: Floats) -> int:
    """Return how often a window falls by `FALL` or more for `GONE_S`; a fall in several steps counts once."""
    count, index = 0, 1
    while index < len(window):
        top = window[index - 1]
        bottom = index
        while bottom < len(window) and window[bottom] < window[bottom - 1]:
            bottom += 1
        if bottom > index:
            limit = (1 - FALL) * top
            until = np.searchsorted(time_s, time_s[bottom - 1] + GONE_S, side="right")
            count += bool(window[bottom - 1 : until].max() <= limit)
        index = max(bottom, index + 1)
    return count


def _lost_packets(course: Course) -> float | None:
    return float(course.rows["lost_packets"].sum()) if course.flows else None


def _in_flight_mb(course: Course) -> float | None:
    flight = course.rows["in_flight_packets"].to_numpy()
    return float(np.percentile(flight, 99)) * 1448 / 1e6 if len(flight) else None


def _by_base_rtt(course: Course, raised: bool) -> float | None:
    """Return goodput over capacity while the base RTT is raised (see `ABOVE`), or while it is not."""
    shares = []
    for flow in course.flows:
        mine = course.rows.filter(pl.col("flow") == flow).sort("time_s")
        base = mine["base_rtt_ms"].to_numpy()
        over = base / np.fmin.accumulate(base)
        rows = over >= ABOVE if raised else over <= AT
        capacity = course.capacity_at(mine["time_s"].to_numpy()[rows]).sum() * PAYLOAD_SHARE
        if capacity > 0:
            shares.append(float(mine["goodput_mbps"].to_numpy()[rows].sum() / capacity))
    return float(np.mean(shares)) if shares else None


def _measure(
    name: str,
    label: str,
    unit: str,
    digits: int,
    meaning: str,
    of: Callable[[Course], float | None],
    scale: float = 1.0,
) -> OverTime:
    return OverTime(Metric(name, label, unit, digits, "", meaning, scale=scale), of)


OVER_TIME: dict[str, OverTime] = {
    measure.metric.name: measure
    for measure in (
        _measure(
            "recovery_s",
            "Time until capacity is used",
            "s",
            1,
            f"From the window's begin until goodput is {RECOVERED:.0%} of the capacity for 3 s; the window's "
            "length where it never is.",
            _recovery_s,
        ),
        _measure(
            "rise_recovery_s",
            "Time until capacity is used after a sharp rise of the base RTT",
            "s",
            1,
            f"From a rise of the base RTT to {RISE:g} times or more until goodput is {RECOVERED:.0%} of the "
            "capacity for 3 s, or until the base RTT changes again; the mean over rises with "
            f"{AFTER_RISE_S:g} s or more until then.",
            _rise_recovery_s,
        ),
        _measure(
            "convergence_s",
            "Time to convergence",
            "s",
            1,
            f"From the last flow's start until the goodput ratio over 5 s is {CONVERGED:g}.",
            _convergence_s,
        ),
        _measure(
            "goodput_deviation",
            "Variation of goodput",
            "",
            3,
            "Standard deviation of a flow's goodput second by second, over its mean.",
            _deviation,
        ),
        _measure(
            "ratio_deviation",
            "Variation of the goodput ratio",
            "",
            3,
            "Standard deviation of two flows' goodput ratio second by second.",
            _ratio_deviation,
        ),
        _measure(
            "short_term_deviation",
            "Variation of goodput within 5 s",
            "",
            3,
            f"Standard deviation of all flows' goodput in slots of {SLOT_S:g} s over its mean, in the median "
            "5 s of a run.",
            _short_term_deviation,
        ),
        _measure(
            "full_share",
            "Time at capacity",
            "%",
            1,
            f"Share of slots of {SLOT_S:g} s in which all flows together get {FULL:.0%} of the capacity.",
            _full_share,
            scale=100.0,
        ),
        _measure(
            "drop_period_s",
            "Period of drops",
            "s",
            1,
            "The first lag from 5 to 30 s at which the drops of all flows' goodput are alike.",
            _drop_period_s,
        ),
        _measure(
            "base_rtt_deviation_ms",
            "Deviation of the base RTT",
            "ms",
            1,
            "Standard deviation of the base RTT over time.",
            _base_rtt_deviation_ms,
        ),
        _measure(
            "reductions_per_min",
            "Window reductions a minute",
            "",
            2,
            f"How often a flow's window falls by {FALL:.0%} or more for {GONE_S:g} s or longer, a minute.",
            _reductions,
        ),
        _measure(
            "lost_in_window",
            "Packets lost",
            "",
            0,
            "How many packets of all flows were lost on the way.",
            _lost_packets,
        ),
        _measure(
            "in_flight_mb",
            "Most in flight",
            "MB",
            2,
            "The 99th percentile of the data in flight: what limits the window.",
            _in_flight_mb,
        ),
        _measure(
            "share_at_least_rtt",
            "Goodput at the least base RTT",
            "",
            3,
            f"Goodput over capacity while the base RTT is at most {AT:g} times the lowest so far.",
            lambda course: _by_base_rtt(course, raised=False),
        ),
        _measure(
            "share_above_least_rtt",
            "Goodput above the least base RTT",
            "",
            3,
            f"Goodput over capacity while the base RTT is at least {ABOVE:g} times the lowest so far.",
            lambda course: _by_base_rtt(course, raised=True),
        ),
    )
}
