"""Samples of a CSV file as rows of a path trace: which are lost or not measured, and bins of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS
from leogym.traces.capacity.columns import OneWay
from leogym.traces.formats import clocks, plausible
from leogym.traces.formats import series as rows
from leogym.traces.formats.probes import medians_of
from leogym.traces.formats.series import Series
from leogym.traces.formats.tally import Tally, agreeing, times

Ints, Floats, Flags = NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]

DELAYS_NS = {"rtt_ms": NS_PER_MS / 2, "rtt_s": 1000 * NS_PER_MS / 2, "delay_ms": float(NS_PER_MS)}
"""Fields with one delay for both ways, and the one-way delay in ns of a value of 1."""
ONE_WAY = ("uplink_ms", "downlink_ms")
LOST_FLAGS = ("uplink_lost", "downlink_lost")
LOSSES = {"loss": 1.0, "loss_percent": 0.01}
LOST = -1
"""LENS's mark of a lost probe."""


@dataclass(frozen=True)
class Samples:
    """Samples in the order of time. All arrays have shape (samples,)."""

    path: Path
    time_ns: Ints
    line: Ints
    values: dict[str, Floats]
    """By field, NaN if unknown; of delays also if lost."""
    lost: dict[str, Flags]
    unknown: Flags
    """Neither lost nor measured."""


def checked(
    path: Path, time_ns: Ints, line: Ints, values: dict[str, Floats], tally: Tally, floor_ns: float
) -> Samples:
    """Tell lost and unmeasured samples from the others, and count them.

    Raises:
        InputError: one-way delays are negative, and one direction alone does not tell why.
    """
    everything = [column * LOSSES[field] >= 1 for field, column in values.items() if field in LOSSES]
    all_lost = np.logical_or.reduce([np.zeros(len(time_ns), dtype=bool), *everything])
    lost = {
        field: column < 0 if field in DELAYS_NS and field != "delay_ms" else column == LOST
        for field, column in values.items()
        if field in (*DELAYS_NS, *ONE_WAY, *LOST_FLAGS)
    }
    lost_anywhere = np.logical_or.reduce([all_lost, *lost.values()])
    tally.add("are lost", int(line[np.argmax(lost_anywhere)]), int(lost_anywhere.sum()))
    values = {
        field: np.where(lost_anywhere if field in DELAYS_NS else lost[field], np.nan, column)
        if field in (*DELAYS_NS, *ONE_WAY)
        else column
        for field, column in values.items()
    }
    known_delays = [field for field in (*DELAYS_NS, *ONE_WAY) if field in values]
    if all_lost.all():
        raise InputError(f"{path}: loss: every probe was lost")
    if not known_delays:
        return Samples(path, time_ns, line, values, lost, np.zeros(len(time_ns), dtype=bool))
    _check_signs(path, line, values)
    if set(ONE_WAY) <= values.keys():
        values |= _agreeing(path, values, tally)
        trip_ns = (values["uplink_ms"] + values["downlink_ms"]) * NS_PER_MS
        trip_ns = np.where(lost_anywhere, np.inf, trip_ns)  # of one way alone
    else:
        [field] = known_delays
        trip_ns = 2 * values[field] * DELAYS_NS.get(field, NS_PER_MS)
    unknown = np.zeros(len(time_ns), dtype=bool)
    for index in np.flatnonzero(~lost_anywhere & ~(trip_ns >= max(floor_ns, 1e-9))).tolist():
        why = plausible.why_unmeasured(float(trip_ns[index]), floor_ns)
        if why is not None:
            tally.add(why, int(line[index]))
            unknown[index] = True
    for field in known_delays:
        values[field] = np.where(unknown, np.nan, values[field])
        if not np.isfinite(values[field]).any():
            if unknown.any():
                raise InputError(f"{path}: {field}: nothing is measured: {tally.summary()}")
            raise InputError(f"{path}: {field}: every probe was lost")
    return Samples(path, time_ns, line, values, lost, unknown)


def _check_signs(path: Path, line: Ints, values: Mapping[str, Floats]) -> None:
    """Raise InputError if a lone one-way delay is below 0."""
    alone = [field for field in ("delay_ms", *ONE_WAY) if field in values]
    if len(alone) != 1:
        return
    [field] = alone
    wrong = np.flatnonzero(values[field] < 0)
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{path}:{line[row]}: {field}: {values[field][row]:g} is negative and not -1 (lost): the clocks "
            "of both ends differ, and one direction does not tell by how much: give both, or the RTT"
        )


def _agreeing(path: Path, values: Mapping[str, Floats], tally: Tally) -> dict[str, Floats]:
    """Return the one-way delays by clocks that agree: as they are unless one is impossible."""
    up, down = (values[field] for field in ONE_WAY)
    impossible = ((np.minimum(up, down) <= 0) | (np.maximum(up, down) > rows.MAX_DELAY_MS)) & (up + down > 0)
    if not impossible.any():
        return {}
    negative = int(((up < 0) | (down < 0)).sum())
    counted = f"{negative} of {len(up)} samples {agreeing('have a negative one-way delay', negative)}"
    usable = ~(up + down <= 0)  # NaN stays: the other way is lost
    aligned = clocks.aligned(
        np.where(usable, up, np.nan) * NS_PER_MS, np.where(usable, down, np.nan) * NS_PER_MS
    )
    if aligned.drifting:
        tally.remark(f"{counted}: the two clocks drift apart, so half of the round trip counts both ways")
        half = np.where(usable, (up + down) / 2, np.nan)
        return dict.fromkeys(ONE_WAY, half)
    steps = f" and were set {times(aligned.steps)}" if aligned.steps else ""
    ahead = float(np.nanmedian(up * NS_PER_MS - aligned.up_ns)) / NS_PER_MS
    tally.remark(
        f"{counted}: the two clocks differ{steps}; one way is moved by {ahead:+.6g} ms, the other back, so "
        f"that both have the same least delay, {float(np.nanmin(aligned.up_ns)) / NS_PER_MS:.6g} ms"
    )
    if max(np.nanmax(aligned.up_ns), np.nanmax(aligned.down_ns)) > rows.MAX_DELAY_MS * NS_PER_MS:
        raise InputError(f"{path}: uplink_ms: a round trip takes more than {rows.MAX_DELAY_MS:g} ms one way")
    return {
        field: np.where(delays_ns > 0, delays_ns / NS_PER_MS, np.nan)
        for field, delays_ns in zip(ONE_WAY, (aligned.up_ns, aligned.down_ns), strict=True)
    }


def binned(samples: Samples, delay_ms: float | None, capacity_mbps: float, bin_ns: int) -> Series:
    """Return a row per bin with samples: medians of delays, means of the others.

    Raises:
        InputError: there is no delay, or a column of capacity has no value.
    """
    # Only bins with samples become rows; a row holds until the next one.
    values = samples.values
    bins, index = np.unique(samples.time_ns // bin_ns, return_inverse=True)
    starts_ns, count = bins * bin_ns, len(bins)
    measured = np.bincount(index, ~samples.unknown, count) > 0
    ways = []
    for direction, (asked, lost) in _probed(samples).items():
        delay_ns = _delays_ns(samples, direction, index, count, delay_ms)
        mbps = np.full(count, capacity_mbps)
        if f"{direction}_mbps" in values:
            field = f"{direction}_mbps"
            means, has_value = _means(index, values[field], count)
            if not has_value.any():
                raise InputError(f"{samples.path}: {field}: has no value in any row")
            mbps = rows.held(means, has_value)
        probes = np.bincount(index, asked & ~samples.unknown, count)
        # Where nothing came through to be lost, the other direction's outage is one of both.
        none = np.where(measured, 1.0, 0.0)
        lost_share = np.where(
            probes > 0, np.bincount(index, lost & asked, count) / np.maximum(probes, 1), none
        )
        random_loss = lost_share.copy()
        for name, scale in LOSSES.items():
            if name in values:
                means, has_value = _means(index, values[name], count)
                random_loss = np.maximum(random_loss, np.where(has_value, means * scale, 0))
        connected = random_loss < 1
        loss = np.where(connected, np.clip(random_loss, 0, 1), 0)
        bps = np.round(mbps * 1e6).astype(np.int64)
        ways.append(OneWay(np.maximum(delay_ns, rows.MIN_DELAY_NS), bps, loss, connected))
    up, down = ways
    events = rows.unreachable_events(up.connected, down.connected)
    return Series(int(starts_ns[-1]) + bin_ns, starts_ns, up, down, np.zeros(count, np.int64), events)


def _means(index: NDArray[np.intp], values: Floats, count: int) -> tuple[Floats, Flags]:
    """Return the mean of each bin's known values, and which bins have one."""
    has_value = np.isfinite(values)
    counts = np.bincount(index[has_value], minlength=count)
    means = np.bincount(index[has_value], values[has_value], count) / np.maximum(counts, 1)
    return means, counts > 0


def _delays_ns(
    samples: Samples, direction: str, index: NDArray[np.intp], count: int, delay_ms: float | None
) -> Ints:
    field = _delay_field(samples.values, direction)
    if field is None:
        if delay_ms is None:
            raise InputError(f"{samples.path}: delay_ms: has no column of delays: give --delay-ms")
        return np.full(count, round(delay_ms * NS_PER_MS), dtype=np.int64)
    answered = np.isfinite(samples.values[field])
    delays_ns = samples.values[field][answered] * DELAYS_NS.get(field, float(NS_PER_MS))
    medians = medians_of(index[answered], delays_ns, count)
    has_median = ~np.isnan(medians)
    return rows.held(np.round(np.where(has_median, medians, 0)).astype(np.int64), has_median)


def _delay_field(values: Mapping[str, Floats], direction: str) -> str | None:
    """Return the field with a direction's delays: its own, else the other's, else one of both ways."""
    return next((field for field in (f"{direction}_ms", *ONE_WAY, *DELAYS_NS) if field in values), None)


def _probed(samples: Samples) -> dict[str, tuple[Flags, Flags]]:
    """Return for each direction which samples tell about it, and which of them are lost."""
    lost = samples.lost
    none = np.zeros(len(samples.time_ns), dtype=bool)

    def any_of(fields: Sequence[str]) -> Flags:
        return np.logical_or.reduce([none, *(lost[field] for field in fields if field in lost)])

    up, down = any_of(("uplink_ms", "uplink_lost")), any_of(("downlink_ms", "downlink_lost"))
    # A probe that did not get up could not be lost on the way down.
    asked_down = ~any_of(("uplink_lost",))
    somewhere = any_of([*DELAYS_NS]) & ~up & ~down
    both = [{f"{direction}_ms", f"{direction}_lost"} & lost.keys() for direction in ("uplink", "downlink")]
    if not all(both):
        # One direction alone counts for both.
        somewhere, up, down, asked_down = somewhere | up | down, none, none, ~none
    return {"uplink": (~none, up | somewhere), "downlink": (asked_down, down | somewhere)}
