"""The distributions of a measured path that the model ``starlink`` is fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.calibrate.measured import Capacity, Floats, Ints, Measured
from leogym.traces.capacity.terminal import FRAME_MS

SETTLED_NS = NS_PER_S
"""Time after a reconfiguration that tells nothing about the slot."""
LOSS_NS = NS_PER_S
"""The window of loss around a reconfiguration."""
BASE = 0.05
"""Quantile of a slot's RTT that is its base."""
_BEFORE_NS, _AFTER_NS = 300 * NS_PER_MS, 500 * NS_PER_MS
_COARSEST_GAP_NS = 20 * NS_PER_MS
_COARSEST_BURST_NS = NS_PER_MS
_SHORTEST_GAP_MS = 25.0  # of capacity; silences between bursts are shorter


@dataclass(frozen=True)
class Sample:
    """Values of a distribution, and the slot of each."""

    values: Floats
    slot: Ints

    def of(self, slots: NDArray[np.bool_]) -> Sample:
        """Return the values of some slots."""
        inside = slots[self.slot]
        return Sample(self.values[inside], self.slot[inside])


@dataclass(frozen=True)
class Observed:
    """Distributions by name, and what correlates."""

    samples: dict[str, Sample]
    series: dict[str, tuple[Sample, ...]]
    """Values in their order, for correlations; a tuple has one entry per measured path."""
    every_ns: tuple[int, ...]
    """Interval of the probes, per measured path with RTTs."""
    slots: int
    drawn: dict[str, Sample]
    """A model's own values per slot, by field; empty for data."""

    def of(self, slots: NDArray[np.bool_]) -> Observed:
        """Return what some slots show."""
        return Observed(
            {name: sample.of(slots) for name, sample in self.samples.items()},
            {name: tuple(part.of(slots) for part in parts) for name, parts in self.series.items()},
            self.every_ns,
            int(slots.sum()),
            {},
        )


def observe(paths: Sequence[Measured]) -> Observed:
    """Return the distributions of several paths together."""
    samples: dict[str, list[Sample]] = {}
    series: dict[str, list[Sample]] = {}
    first = 0
    for path in paths:
        samples_of_path, ordered = _of_path(path)
        for into, values in ((samples, samples_of_path), (series, ordered)):
            for name, sample in values.items():
                into.setdefault(name, []).append(Sample(sample.values, sample.slot + first))
        first += path.slots
    return Observed(
        {
            name: Sample(
                np.concatenate([part.values for part in parts]), np.concatenate([part.slot for part in parts])
            )
            for name, parts in samples.items()
        },
        {name: tuple(parts) for name, parts in series.items()},
        tuple(int(path.probe_ns[1] - path.probe_ns[0]) for path in paths if path.rtt_ms is not None),
        first,
        _drawn(paths),
    )


def _drawn(paths: Sequence[Measured]) -> dict[str, Sample]:
    drawn_fields = [path.drawn for path in paths if path.drawn is not None]
    if len(drawn_fields) < len(paths):
        return {}
    values = {field: np.concatenate([drawn[field] for drawn in drawn_fields]) for field in drawn_fields[0]}
    # Between two paths a slot is left out.
    slot = np.concatenate([np.arange(path.slots) + index * (1 << 32) for index, path in enumerate(paths)])
    return {field: Sample(array, slot) for field, array in values.items()}


def _of_path(path: Measured) -> tuple[dict[str, Sample], dict[str, Sample]]:
    slot = np.arange(path.slots)
    samples: dict[str, Sample] = {}
    series: dict[str, Sample] = {}
    for way, capacity in (("down", path.down), ("up", path.up)):
        if capacity is None:
            continue
        mbps = capacity.mean_mbps(path.begin_ns + SETTLED_NS, path.begin_ns + path.period_ns)
        samples[f"{way}_mbps"] = series[f"{way}_mbps"] = Sample(mbps, slot)
        samples[f"{way}_step_mbps"] = Sample(np.diff(mbps), slot[1:])
        samples[f"{way}_second"] = _seconds(path, capacity, mbps)
        if path.bin_ns <= _COARSEST_GAP_NS:
            samples[f"{way}_gap_ms"] = Sample(_gaps_ms(path, capacity), slot)
        if way == "down" and path.bin_ns <= _COARSEST_BURST_NS:
            samples["apart_ms"], samples["burst_ms"] = _bursts(path, capacity)
    if path.rtt_ms is not None:
        base_ms, jitter = _base_and_jitter(path, path.rtt_ms)
        samples["base_ms"] = series["base_ms"] = Sample(base_ms, slot)
        samples["base_step_ms"] = Sample(np.diff(base_ms), slot[1:])
        samples["jitter_ms"] = series["jitter_ms"] = jitter
        series["rtt_ms"] = Sample(path.rtt_ms, _slot_of(path))
        samples["spike_ms"] = Sample(_spikes_ms(path, path.rtt_ms, base_ms), slot)
    if path.lost is not None:
        samples["lost_ms"] = Sample(
            1000 * _mean_between(path, path.lost, path.begin_ns - LOSS_NS // 2, path.begin_ns + LOSS_NS // 2),
            slot,
        )
        away = (path.begin_ns + SETTLED_NS, path.begin_ns + path.period_ns - LOSS_NS)
        samples["loss"] = Sample(_mean_between(path, path.lost, *away), slot)
    return samples, series


def _slot_of(path: Measured) -> Ints:
    """Return the slot of each probe; those before the first and after the last count to them."""
    return (np.searchsorted(path.begin_ns, path.probe_ns, side="right") - 1).clip(0, path.slots - 1)


def _seconds(path: Measured, capacity: Capacity, mbps: Floats) -> Sample:
    count = path.period_ns // NS_PER_S - 1
    begin_ns = path.begin_ns[:, None] + SETTLED_NS + np.arange(count) * NS_PER_S
    values = capacity.mean_mbps(begin_ns.ravel(), begin_ns.ravel() + NS_PER_S).reshape(begin_ns.shape)
    some = mbps > 0
    slot = np.broadcast_to(np.arange(path.slots)[:, None], values.shape)
    return Sample((values[some] / mbps[some, None]).ravel(), slot[some].ravel())


def _gaps_ms(path: Measured, capacity: Capacity) -> Floats:
    """Return the longest time without capacity around each reconfiguration, 0 if it is no gap."""
    begin_ns, end_ns, on = capacity.runs()
    begin_ns, end_ns = begin_ns[~on], end_ns[~on]
    gaps = np.zeros(path.slots)
    lengths = (end_ns - begin_ns) / NS_PER_MS
    for index, at_ns in enumerate(path.begin_ns.tolist()):
        low = int(np.searchsorted(end_ns, at_ns - _BEFORE_NS, side="right"))
        high = int(np.searchsorted(begin_ns, at_ns + _AFTER_NS))
        gaps[index] = max(lengths[low:high], default=0.0)
    return np.where(gaps >= _SHORTEST_GAP_MS, gaps, 0.0)


def _bursts(path: Measured, capacity: Capacity) -> tuple[Sample, Sample]:
    """Return the times from burst to burst and the bursts' lengths, away from reconfigurations."""
    begin_ns, end_ns, on = capacity.runs()
    begin_ns, end_ns = begin_ns[on], end_ns[on]
    slot = np.searchsorted(path.begin_ns, begin_ns, side="right") - 1
    since_ns = begin_ns - path.begin_ns[slot.clip(0)]
    inside = (slot >= 0) & (since_ns > SETTLED_NS) & (since_ns < path.period_ns - _BEFORE_NS)
    inside[-1] = False
    which = np.flatnonzero(inside)
    apart = (begin_ns[which + 1] - begin_ns[which]) / NS_PER_MS
    return Sample(apart, slot[which]), Sample((end_ns - begin_ns)[which] / NS_PER_MS, slot[which])


def _base_and_jitter(path: Measured, rtt_ms: Floats) -> tuple[Floats, Sample]:
    base_ms, jitter, slots = np.zeros(path.slots), [], []
    for index, at_ns in enumerate(path.begin_ns.tolist()):
        low = int(np.searchsorted(path.probe_ns, at_ns + SETTLED_NS))
        high = int(np.searchsorted(path.probe_ns, at_ns + path.period_ns - _BEFORE_NS))
        own = rtt_ms[low:high]
        base_ms[index] = np.quantile(own, BASE)
        jitter.append(np.maximum(own - base_ms[index], 0.0))
        slots.append(np.full(len(own), index))
    return base_ms, Sample(np.concatenate(jitter), np.concatenate(slots))


def _spikes_ms(path: Measured, rtt_ms: Floats, base_ms: Floats) -> Floats:
    """Return how far the RTT rises above the slot's base around each reconfiguration."""
    spikes = np.zeros(path.slots)
    for index, at_ns in enumerate(path.begin_ns.tolist()):
        low = int(np.searchsorted(path.probe_ns, at_ns - _BEFORE_NS))
        high = int(np.searchsorted(path.probe_ns, at_ns + _AFTER_NS))
        spikes[index] = rtt_ms[low:high].max(initial=base_ms[index]) - base_ms[index]
    return spikes


def _mean_between(path: Measured, values: Floats, begin_ns: Ints, end_ns: Ints) -> Floats:
    total = np.concatenate([[0.0], np.cumsum(values)])
    low, high = (np.searchsorted(path.probe_ns, at) for at in (begin_ns, end_ns))
    return (total[high] - total[low]) / np.maximum(high - low, 1)


def frames_apart(apart_ms: Floats, most: int) -> Floats:
    """Return the shares of bursts that come 1, 2, …, ``most`` frames after the one before."""
    frames = np.rint(apart_ms / FRAME_MS).astype(np.int64).clip(1, most)
    return np.bincount(frames, minlength=most + 1)[1:] / len(frames)
