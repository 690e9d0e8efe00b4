"""Delay probes as measured (RTTs, one-way delays, losses at irregular times), and their rows of a path trace.

Probes are put onto slots of equal length by the time at which they were sent:

- A slot's delay is the median of its probes: of each direction's delays if both ends stamp them, else half
  the RTT both ways. Slots without an answered probe hold the last delay.
- Probes lost in a row for at least `OUTAGE_NS` are an outage, as when the terminal changes its satellite. Its
  slots are those from the first lost probe up to the next answered one. Other losses are random: a slot's
  loss is the share of lost probes, outages aside, within half of `LOSS_NS` before and after it.
- The rows end an interval after the last probe.
- A probe that is known to be lost on one way counts for this way alone. But an outage on the way up is one
  both ways: nothing that could be lost gets to the other end.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS
from leogym.traces.formats import leoreplayer
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Import
from leogym.traces.formats.series import Series

OUTAGE_NS = 30 * NS_PER_MS
LOSS_NS = 1000 * NS_PER_MS
MAX_SLOTS = rows.MAX_ROWS


@dataclass(frozen=True)
class Probes:
    """Probes in the order of sending. All arrays have shape (probes,); delays are in ns, NaN if unknown."""

    time_ns: NDArray[np.int64]
    """When they were sent, since the first."""
    start_ns: int
    """When the first was sent, since 1970."""
    rtt_ns: NDArray[np.float64]
    uplink_ns: NDArray[np.float64]
    """One way from the user. The clocks of both ends may differ by a constant."""
    downlink_ns: NDArray[np.float64]
    lost: NDArray[np.bool_]
    lost_up: NDArray[np.bool_]
    """Known to be lost on the way up. What is lost in neither direction for sure is in ``lost`` alone."""
    lost_down: NDArray[np.bool_]

    @property
    def interval_ns(self) -> int:
        """The median time between two probes; 0 for a single probe."""
        return int(np.median(np.diff(self.time_ns))) if len(self.time_ns) > 1 else 0


def of_round_trips(
    time_ns: NDArray[np.int64], rtt_ns: NDArray[np.float64], lost: NDArray[np.bool_] | None = None
) -> Probes:
    """Return probes of which only RTTs are known; times since 1970, not decreasing.

    An RTT of NaN is unknown if the probe is not ``lost``, by default it is.
    """
    unknown, no = np.full(len(time_ns), np.nan), np.zeros(len(time_ns), dtype=bool)
    start_ns = int(time_ns[0])
    lost = np.isnan(rtt_ns) if lost is None else lost
    return Probes(time_ns - start_ns, start_ns, rtt_ns, unknown, unknown, lost, no, no)


def in_outage(probes: Probes, lost: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which probes are ``lost`` in a row for at least `OUTAGE_NS`.

    A row of losses lasts from its first probe to the next answered one, or an interval beyond the last probe.
    """
    edges = np.diff(np.concatenate([[0], lost.astype(np.int8), [0]]))
    first, after = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    ends_ns = np.append(probes.time_ns, probes.time_ns[-1] + probes.interval_ns)
    long = (ends_ns[after] - probes.time_ns[first] >= OUTAGE_NS) & (after - first > 1)
    steps = np.zeros(len(probes.time_ns) + 1, dtype=np.int64)
    steps[first[long]] += 1
    steps[after[long]] -= 1
    return np.cumsum(steps[:-1]) > 0


def binned(probes: Probes, slot_ns: int, capacity_mbps: float, source: str) -> Series:
    """Return a row per slot, as the head of this file says.

    Raises:
        InputError: every probe was lost, or there are too many slots.
    """
    last_ns = int(probes.time_ns[-1])
    slots = max(last_ns // slot_ns + 1, round((last_ns + probes.interval_ns) / slot_ns))
    if slots > MAX_SLOTS:
        raise InputError(f"{source}: bin_ms: more than {MAX_SLOTS} rows of {slot_ns / NS_PER_MS:g} ms")
    slot = probes.time_ns // slot_ns
    answered = ~probes.lost
    if not answered.any():
        raise InputError(f"{source}: rtt: every probe was lost")
    if not np.isfinite(probes.rtt_ns[answered]).any():
        raise InputError(f"{source}: rtt: no answered probe has a measured RTT")
    halves_ns = probes.rtt_ns / 2
    stamped = bool(np.isfinite(probes.uplink_ns[answered] + probes.downlink_ns[answered]).any())
    time_ns = np.arange(slots, dtype=np.int64) * slot_ns
    ways = []
    for delays_ns, (lost, out) in zip(
        (probes.uplink_ns, probes.downlink_ns) if stamped else (halves_ns, halves_ns),
        losses(probes),
        strict=True,
    ):
        has = answered & np.isfinite(delays_ns)
        medians = medians_of(slot[has], delays_ns[has], slots)
        has_median = ~np.isnan(medians)
        delay_ns = rows.held(np.round(np.where(has_median, medians, 0)).astype(np.int64), has_median)
        connected = ~_covered(slot, out, slots) | has_median
        loss = np.where(connected, _random_loss(probes, lost, out, time_ns + slot_ns // 2), 0)
        way = rows.constant(time_ns, slots * slot_ns, delay_ns, capacity_mbps).up
        ways.append(replace(way, connected=connected, loss=loss))
    up, down = ways
    events = rows.unreachable_events(up.connected, down.connected)
    return Series(slots * slot_ns, time_ns, up, down, np.zeros(slots, dtype=np.int64), events)


def imported(job: Import, measured: Probes) -> Series:
    """Return the rows of an import's probes, with the capacity of its options."""
    slot_ns = job.bin_ms * NS_PER_MS
    series = binned(measured, slot_ns, job.options.capacity_mbps, str(job.path))
    series = leoreplayer.replayed(series, job.options.uplink, job.options.downlink, job.bin_ms, job.tally)
    empty = len(series.time_ns) - len(np.unique(measured.time_ns // slot_ns))
    (_, out_up), (_, out_down) = losses(measured)
    lost_in_outages = int((measured.lost & (out_up | out_down)).sum())
    job.notes.append(
        f"{len(measured.lost)} probes, {int(measured.lost.sum())} lost, {lost_in_outages} of them in "
        f"outages; {empty} of {len(series.time_ns)} slots of {job.bin_ms} ms have no probe"
    )
    return series


def losses(probes: Probes) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return which probes are lost in each direction, up first, and which of them in its outages."""
    unknown = probes.lost & ~probes.lost_up & ~probes.lost_down
    lost_up = probes.lost_up | unknown
    out_up = in_outage(probes, lost_up)
    lost_down = probes.lost_down | unknown | (lost_up & out_up)
    return [(lost_up, out_up), (lost_down, in_outage(probes, lost_down))]


def _covered(slot: NDArray[np.int64], out: NDArray[np.bool_], slots: int) -> NDArray[np.bool_]:
    """Return the slots of outages: from their first lost probe up to the next probe."""
    down = np.zeros(slots + 1, dtype=np.int64)
    edges = np.diff(np.concatenate([[0], out.astype(np.int8), [0]]))
    after = np.append(slot, slots)[np.flatnonzero(edges == -1)]
    np.add.at(down, slot[edges[:-1] == 1], 1)
    np.add.at(down, after, -1)
    return np.cumsum(down[:-1]) > 0


def _random_loss(
    probes: Probes, every: NDArray[np.bool_], out: NDArray[np.bool_], at_ns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of lost probes outside outages, in the `LOSS_NS` around each time."""
    low = np.searchsorted(probes.time_ns, at_ns - LOSS_NS // 2)
    high = np.searchsorted(probes.time_ns, at_ns + LOSS_NS // 2)
    lost = np.append(0, np.cumsum(every & ~out))
    sent = np.append(0, np.cumsum(~out))
    return (lost[high] - lost[low]) / np.maximum(sent[high] - sent[low], 1)


def medians_of(index: NDArray[np.int64], values: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    """Return the median of each group's values, NaN for empty groups."""
    order = np.lexsort((values, index))
    ordered = values[order]
    counts = np.bincount(index, minlength=groups)
    first = np.cumsum(counts) - counts
    medians = np.full(groups, np.nan)
    some = counts > 0
    low = ordered[first[some] + (counts[some] - 1) // 2]
    medians[some] = (low + ordered[first[some] + counts[some] // 2]) / 2
    return medians
