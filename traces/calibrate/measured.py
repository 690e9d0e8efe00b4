"""Measurements of a path by probes and a saturating flow: of an imported path trace, and of the model's.

An imported trace's delay is what probes measured, waits included. A computed trace's delay is propagation: a
small probe also waits until there is capacity, both ways. So both are looked at as probes see them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.capacity.columns import OneWay
from leogym.traces.capacity.rows import Overlay
from leogym.traces.capacity.span import Grid, View
from leogym.traces.capacity.starlink import Starlink
from leogym.traces.capacity.terminal import Terminal
from leogym.traces.formats import probes
from leogym.traces.formats import series as rows
from leogym.traces.formats.series import Series
from leogym.traces.path import cache

Ints, Floats = NDArray[np.int64], NDArray[np.float64]

PROBE_NS = 10 * NS_PER_MS
FEWEST_SLOTS = 4
FEWEST_SIMULATED, MOST_SIMULATED = 60, 400
"""Slots of the model beside a data set."""
_MOST_BINS = 6_000_000


@dataclass(frozen=True)
class Capacity:
    """A direction's capacity: piecewise constant."""

    time_ns: Ints
    end_ns: int
    mbps: Floats

    def mean_mbps(self, begin_ns: Ints, end_ns: Ints) -> Floats:
        """Return the mean between these times."""
        edges = np.append(self.time_ns, self.end_ns)
        carried = np.concatenate([[0.0], np.cumsum(self.mbps * np.diff(edges))])
        return (np.interp(end_ns, edges, carried) - np.interp(begin_ns, edges, carried)) / (end_ns - begin_ns)

    def runs(self) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Return begin and end of the stretches with and without capacity, and which have some."""
        on = self.mbps > 0
        first = np.flatnonzero(np.concatenate([[True], on[1:] != on[:-1]]))
        begin_ns = self.time_ns[first]
        return begin_ns, np.append(begin_ns[1:], self.end_ns), on[first]

    def binned(self, bin_ns: int) -> Capacity:
        """Return the means of bins of equal length."""
        begin_ns = np.arange(0, self.end_ns, bin_ns, dtype=np.int64)
        return Capacity(
            begin_ns, self.end_ns, self.mean_mbps(begin_ns, np.minimum(begin_ns + bin_ns, self.end_ns))
        )


@dataclass(frozen=True)
class Measured:
    """Measurements of a path; None where there is none."""

    name: str
    period_ns: int
    begin_ns: Ints
    """Starts of the whole slots between reconfigurations, shape (slots,)."""
    down: Capacity | None
    up: Capacity | None
    bin_ns: int
    """Length of the capacity's bins; 0 if it is exact."""
    probe_ns: Ints
    """When probes were sent, evenly spaced."""
    rtt_ms: Floats | None
    lost: Floats | None
    """Share of the probes that were lost."""
    raised: bool
    """Whether delays were raised so that no packet overtakes, as imports do."""
    drawn: dict[str, Floats] | None = None
    """The model's own values per slot, by field."""

    @property
    def slots(self) -> int:
        """Number of whole slots."""
        return len(self.begin_ns)


def load(name_or_file: str, reattach_s: float | None = None, phase_s: float | None = None) -> Measured:
    """Load a path trace as measured.

    Args:
        name_or_file: the trace.
        reattach_s: period of reconfigurations, instead of the trace's own.
        phase_s: time from the first row to the first reconfiguration.

    Raises:
        InputError: there is no such trace, or it has no grid of reconfigurations or too few.
    """
    trace = cache.load(name_or_file)
    about = json.loads(trace.metadata)
    period_s = about.get("reattach_s") if reattach_s is None else reattach_s
    start_s = about.get("reattach_phase_s") if phase_s is None else phase_s
    if not isinstance(period_s, int | float) or not isinstance(start_s, int | float) or not period_s >= 1:
        raise InputError(
            f"{name_or_file}: reattach_s: the trace tells no reconfigurations of 1 s and more: "
            "give --reattach-s and --reattach-phase-s"
        )
    grid = Grid(round(period_s * NS_PER_S), -round(start_s % period_s * NS_PER_S))
    measured = of_series(rows.from_trace(trace), grid, about, name_or_file)
    if measured.slots < FEWEST_SLOTS:
        raise InputError(
            f"{name_or_file}: period: {measured.slots} whole slots of {period_s:g} s are too few to fit: "
            f"must be at least {FEWEST_SLOTS}"
        )
    if measured.down is None and measured.up is None and measured.rtt_ms is None:
        raise InputError(f"{name_or_file}: capacity, delay: both are constant: nothing to fit")
    return measured


def of_series(series: Series, grid: Grid, about: dict[str, Any], name: str) -> Measured:
    """Return the measurements in a path trace's rows; ``about`` is its metadata."""
    model = about.get("capacity")
    at = about.get("terminal_at", model.get("terminal_at") if isinstance(model, dict) else None)
    forward, backward = (
        Capacity(series.time_ns, series.period_ns, series.capacity_bps(way) / 1e6)
        for way in ("uplink", "downlink")
    )
    down, up = (backward, forward) if at == "from" else (forward, backward)
    imported = str(about.get("provenance", "")).startswith("imported")
    lengths = np.diff(np.append(series.time_ns, series.period_ns))
    even = len(lengths) > 1 and bool((lengths[:-1] == lengths[0]).all())
    symmetric = np.array_equal(series.up.bps, series.down.bps)
    if imported:
        probe_ns, rtt_ms = series.time_ns, series.rtt_ns / NS_PER_MS
        lost = _lost(series)
        if not even:
            probe_ns = np.arange(0, series.period_ns, PROBE_NS, dtype=np.int64)
            row = np.searchsorted(series.time_ns, probe_ns, side="right") - 1
            rtt_ms, lost = rtt_ms[row], lost[row]
    else:
        probe_ns, rtt_ms, lost = probed(series, PROBE_NS)
    slot = np.arange(series.period_ns // grid.period_ns + 2)
    begin_ns = slot * grid.period_ns - grid.origin_ns
    begin_ns = begin_ns[(begin_ns >= 0) & (begin_ns + grid.period_ns <= series.period_ns)]
    return Measured(
        name,
        grid.period_ns,
        begin_ns.astype(np.int64),
        _varying(down),
        # A saturated flow goes one way: importers give what it shows to both.
        None if symmetric and imported else _varying(up),
        int(lengths[0]) if even else 0,
        probe_ns,
        rtt_ms if np.ptp(rtt_ms) > 0 else None,
        lost if lost.any() else None,
        imported,
    )


def _varying(capacity: Capacity) -> Capacity | None:
    some = capacity.mbps[capacity.mbps > 0]
    return capacity if len(some) and np.ptp(some) > 0 else None


def probed(series: Series, every_ns: int) -> tuple[Ints, Floats, Floats]:
    """Return the times, RTTs in ms and losses of small probes that wait for capacity both ways."""
    sent_ns = np.arange(0, series.period_ns, every_ns, dtype=np.int64)
    there_ns, lost_there = _crossed(series, sent_ns, series.up)
    back_ns, lost_back = _crossed(series, there_ns, series.down)
    lost = 1 - (1 - lost_there) * (1 - lost_back)
    # The last ones come back after the end.
    answered = back_ns < series.period_ns
    return sent_ns[answered], (back_ns - sent_ns)[answered] / NS_PER_MS, lost[answered]


def _lost(series: Series) -> Floats:
    """Return the share of lost probes; importers count one that is lost on an unknown way for both."""
    ways = (series.up, series.down)
    return np.maximum(*(np.where(way.connected, way.loss, 1.0) for way in ways))


def _crossed(series: Series, sent_ns: Ints, way: OneWay) -> tuple[Ints, Floats]:
    some = np.flatnonzero(way.connected & (way.bps > 0))
    row = np.searchsorted(series.time_ns, sent_ns, side="right") - 1
    row = np.minimum(row, len(series.time_ns) - 1)
    at = np.minimum(np.searchsorted(some, row), len(some) - 1)
    used = some[at]
    leaves_ns = np.maximum(sent_ns, series.time_ns[used])
    return leaves_ns + way.delay_ns[used], way.loss[used]


def simulated(terminal: Terminal, like: Measured, seed: int, times: int = 1) -> Measured:
    """Return the model's path as measured in the way that another one was, ``times`` as long."""
    slots = min(max(times * like.slots, FEWEST_SIMULATED), times * MOST_SIMULATED)
    if like.bin_ns and like.period_ns // like.bin_ns * slots > _MOST_BINS:
        slots = max(times * like.slots, _MOST_BINS * like.bin_ns // like.period_ns)
    model = Starlink(Grid(like.period_ns), seed, terminal, with_base=True)
    series = made(model, slots)
    every_ns = int(like.probe_ns[1] - like.probe_ns[0])
    capacities = []
    for capacity, way in ((like.down, "uplink"), (like.up, "downlink")):
        own = Capacity(series.time_ns, series.period_ns, series.capacity_bps(way) / 1e6)
        capacities.append(None if capacity is None else own.binned(like.bin_ns) if like.bin_ns else own)
    probe_ns, rtt_ms, lost = probed(series, max(every_ns, NS_PER_MS))
    if like.raised:
        probe_ns, rtt_ms, lost = _as_imported(probe_ns, rtt_ms, lost, every_ns, seed)
    return Measured(
        "model",
        like.period_ns,
        # Probes of the last slot come back after its end.
        np.arange(slots - 1, dtype=np.int64) * like.period_ns,
        capacities[0],
        capacities[1],
        like.bin_ns,
        probe_ns,
        None if like.rtt_ms is None else rtt_ms,
        None if like.lost is None else lost,
        like.raised,
        _drawn(model, slots - 1),
    )


def _drawn(model: Starlink, slots: int) -> dict[str, Floats]:
    drawn = [model.values(slot) for slot in range(slots)]
    return {field: np.array([values[field] for values in drawn]) for field in drawn[0]}


def _as_imported(
    probe_ns: Ints, rtt_ms: Floats, lost: Floats, every_ns: int, seed: int
) -> tuple[Ints, Floats, Floats]:
    """Put probes onto the rows of a path trace as imports of measurements do."""
    gone = np.random.default_rng([seed, 1]).random(len(lost)) < lost
    rtt_ns = np.where(gone, np.nan, rtt_ms * NS_PER_MS)
    measured_probes = probes.of_round_trips(probe_ns, rtt_ns)
    series, _ = rows.without_overtaking(probes.binned(measured_probes, every_ns, 100.0, "model"))
    return series.time_ns, series.rtt_ns / NS_PER_MS, _lost(series)


def made(model: Starlink, slots: int) -> Series:
    """Return the rows of the model's path."""
    overlay = Overlay([model], 1.0)
    period_ns = model.grid.period_ns
    none, connected = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
    parts = [
        overlay.rows(View(np.array([begin_ns]), begin_ns + period_ns, lambda _: None), none, connected, 0, "")
        for begin_ns in range(0, slots * period_ns, period_ns)
    ]

    return Series(
        slots * period_ns,
        np.concatenate([part.time_ns for part in parts]),
        _joined([part.forward for part in parts]),
        _joined([part.backward for part in parts]),
        np.zeros(sum(len(part.time_ns) for part in parts), dtype=np.int64),
        [event for part in parts for event in part.event],
    )


def _joined(ways: Sequence[OneWay]) -> OneWay:
    return OneWay(
        np.concatenate([way.delay_ns for way in ways]),
        np.concatenate([way.bps for way in ways]),
        np.concatenate([way.loss for way in ways]),
        np.concatenate([way.connected for way in ways]),
    )
