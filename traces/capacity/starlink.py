"""A Starlink terminal's path besides geometry: capacity, gaps, loss, delay and frames.

`traces.capacity.terminal` has the parameters, with their sources. In every slot between two reconfigurations:

- Capacity has a mean that is drawn from a distribution, correlated with the slots before, and then a factor
  every second; both directions have their own.
- A gap without capacity begins the slot: packets wait. Probes over a real terminal show this: around a
  reconfiguration their RTT rises at once and then falls by 1 ms per ms (LEOLiveStreaming's pings at 10 ms).
  So the wait is the whole of the spike that a probe sees, and delay itself has none.
- At the end of the slot, just before the gap, everything is lost: it is in flight to the satellite that is
  left.
- The base RTT is drawn per slot and correlated, too; jitter comes on top every few ms. The path is first in,
  first out, so a delay falls at most as fast as time runs.
- Packets come in bursts, with silence in between, as frames of 4/3 ms allow (Garcia, Sundberg and Brunstrom,
  "TCP Congestion Control Performance over Starlink", ANRW 2025, sections 1 and 4), both directions together.
  Silence and burst take one row each, about 460 rows a second. Capacity in a burst is such that every cycle
  carries the slot's capacity.
"""

import math
from typing import Any

import numpy as np

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.capacity import terminal
from leogym.traces.capacity.span import Apart, End, Floats, Grid, Ints, SlotModel, Span, combined, span
from leogym.traces.capacity.terminal import Direction, Terminal

_STREAM, _SCORES, _VALUES = 2, 20, 21
_DOWN, _UP, _BASE = range(3)  # places of a slot's scores
_BACK = 200  # slots before the first have scores, too
_FORGOTTEN = 0.01  # weight of a slot's score at which the slots before it no longer count
_FULLEST = 0.9  # longest burst, as a share of the time to the next
_SCORE_GRID = np.linspace(-5, 5, 1001)
_NORMAL_CDF = np.array([(1 + math.erf(score / math.sqrt(2))) / 2 for score in _SCORE_GRID])


class Starlink(SlotModel):
    """A Starlink terminal at one end of the path."""

    def __init__(
        self,
        grid: Grid,
        seed: int,
        parameters: Terminal | None = None,
        *,
        terminal_at: End = "to",
        with_base: bool = False,
        rtt_ms: tuple[float, ...] | None = None,
        scale: float = 1.0,
    ) -> None:
        """Store the parameters; raise ValueError if slots are too short for a reconfiguration.

        Args:
            grid: the reconfigurations.
            seed: of all draws.
            parameters: of the terminal ``starlink`` by default.
            terminal_at: the terminal's end.
            with_base: whether delay has a base; otherwise a path's propagation is the base.
            rtt_ms: distribution of the base RTT, instead of the terminal's.
            scale: factor on both capacities.
        """
        if grid.period_ns < 1000 * NS_PER_MS:
            raise ValueError("capacity: starlink needs at least 1 s between re-selections")
        super().__init__(grid)
        self._seed = seed
        self._terminal = terminal.load("starlink") if parameters is None else parameters
        self._terminal_at: End = terminal_at
        self._base_ms = (rtt_ms or self._terminal.round_trip.base_ms) if with_base else None
        self._scale = scale
        self._scores: dict[int, Floats] = {}

    def draw(self, slot: int) -> Span:
        """Return a slot: gaps, bursts, loss and delay."""
        rng = np.random.default_rng([self._seed, _STREAM, slot + _BACK])
        own = self.values(slot)
        down = self._capacity(
            rng, own["downlink.capacity_mbps"], own["downlink.gap_ms"], self._terminal.downlink
        )
        up = self._capacity(rng, own["uplink.capacity_mbps"], own["uplink.gap_ms"], self._terminal.uplink)
        forward, backward = (down, up) if self._terminal_at == "to" else (up, down)
        ways = ("downlink", "uplink") if self._terminal_at == "to" else ("uplink", "downlink")
        losses = [self._loss(own[f"{way}.loss"], own[f"{way}.lost_ms"]) for way in ways]
        time_ns, share = _bursts(rng, self.grid.period_ns, self._terminal.frames)
        parts = [
            span(time_ns, forward=share, backward=share),
            span(forward[0], forward=forward[1]),
            span(backward[0], backward=backward[1]),
            span(losses[0][0], loss=Apart(losses[0][1], 0.0)),
            span(losses[1][0], loss=Apart(0.0, losses[1][1])),
            self._delay(rng, own.get("round_trip.base_ms", 0.0)),
        ]
        return combined(parts, np.zeros(1, dtype=np.int64))

    def values(self, slot: int) -> dict[str, float]:
        """Return a slot's values of the terminal's tables, by field."""
        own = self._terminal
        # Both directions change their satellite together: a long gap in one is a long gap in the other.
        gap, lost, loss = np.random.default_rng([self._seed, _VALUES, slot + _BACK]).random(3).tolist()
        parameters: dict[str, float] = {}
        for place, name, way in ((_DOWN, "downlink", own.downlink), (_UP, "uplink", own.uplink)):
            rank = self._rank(slot, place, way.capacity_correlation)
            parameters[f"{name}.capacity_mbps"] = self._scale * float(terminal.at(way.capacity_mbps, rank))
            parameters[f"{name}.gap_ms"] = float(terminal.at(way.gap_ms, gap))
            parameters[f"{name}.lost_ms"] = float(terminal.at(way.lost_ms, lost))
            parameters[f"{name}.loss"] = float(terminal.at(way.loss, loss))
        if self._base_ms is not None:
            rank = self._rank(slot, _BASE, own.round_trip.base_correlation)
            parameters["round_trip.base_ms"] = float(terminal.at(self._base_ms, rank))
        return parameters

    def _capacity(
        self, rng: np.random.Generator, mbps: float, gap_ms: float, own: Direction
    ) -> tuple[Ints, Floats]:
        """Return the times and values of a direction's capacity, in Mbit/s and without bursts."""
        seconds = np.arange(0, self.grid.period_ns, NS_PER_S, dtype=np.int64)
        values = mbps * terminal.at(own.second, rng.random(len(seconds)))
        gap_ns = round(gap_ms * NS_PER_MS)
        if gap_ns == 0:
            return seconds, values
        # The gap is shorter than a second.
        return np.insert(seconds, 1, gap_ns), np.insert(values, 0, 0.0)

    def _loss(self, loss: float, lost_ms: float) -> tuple[Ints, Floats]:
        lost_ns = round(lost_ms * NS_PER_MS)
        rows = 2 if lost_ns else 1
        time_ns = np.array([0, self.grid.period_ns - lost_ns], dtype=np.int64)[:rows]
        return time_ns, np.array([loss, 1.0])[:rows]

    def _delay(self, rng: np.random.Generator, base_ms: float) -> Span:
        own = self._terminal.round_trip
        every_ns = round(own.jitter_every_ms * NS_PER_MS)
        time_ns = np.arange(0, self.grid.period_ns, every_ns, dtype=np.int64)
        rtt_ms = base_ms + _jitter_ms(rng, len(time_ns), own)
        if rtt_ms.min() == rtt_ms.max():
            time_ns, rtt_ms = time_ns[:1], rtt_ms[:1]
        return span(time_ns, extra_ns=np.rint(rtt_ms / 2 * NS_PER_MS).astype(np.int64))

    def _rank(self, slot: int, place: int, correlation: float) -> float:
        """Return a slot's probability, whose normal score correlates with those of the slots before.

        A moving average of the slots' own scores: a slot's value does not depend on what was drawn before.
        """
        slots = 1 if correlation == 0 else min(_BACK, math.ceil(math.log(_FORGOTTEN) / math.log(correlation)))
        weight = correlation ** np.arange(slots)
        scores = np.array([self._score(slot - back)[place] for back in range(slots)])
        return float(_normal_cdf(np.asarray(weight @ scores / math.sqrt(weight @ weight), dtype=np.float64)))

    def _score(self, slot: int) -> Floats:
        if slot not in self._scores:
            if len(self._scores) > 4 * _BACK:
                self._scores.clear()
            rng = np.random.default_rng([self._seed, _SCORES, slot + _BACK])
            self._scores[slot] = rng.standard_normal(3)
        return self._scores[slot]

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {
            "model": "starlink",
            "period_s": self.grid.period_ns / 1e9,
            "terminal_at": self._terminal_at,
            "capacity_scale": self._scale,
            "base_ms": None if self._base_ms is None else list(self._base_ms),
            "terminal": self._terminal.model_dump(exclude={"sources"}),
        }


def _normal_cdf(score: Floats) -> Floats:
    return np.interp(score, _SCORE_GRID, _NORMAL_CDF)


def _jitter_ms(rng: np.random.Generator, count: int, own: terminal.RoundTrip) -> Floats:
    """Return the jitter: drawn from its table, times a factor that swings slowly."""
    drawn = terminal.at(own.jitter_ms, _normal_cdf(_correlated(rng, count, own.jitter_correlation)))
    if own.swing == 0:
        return drawn
    correlation = math.exp(-own.jitter_every_ms / (1000 * own.swing_s))
    return drawn * np.exp(own.swing * _correlated(rng, count, correlation))


def _correlated(rng: np.random.Generator, count: int, correlation: float) -> Floats:
    """Return normal scores of which each correlates with the one before."""
    scores = rng.standard_normal(count)
    if correlation == 0:
        return scores
    new = math.sqrt(1 - correlation**2)
    values = scores.tolist()
    for index in range(1, count):
        values[index] = correlation * values[index - 1] + new * values[index]
    return np.array(values)


def _bursts(rng: np.random.Generator, period_ns: int, own: terminal.Frames) -> tuple[Ints, Floats]:
    """Return the starts of bursts and silences, and capacity as a multiple of the slot's."""
    frames = period_ns * 3 // (4 * NS_PER_MS) + 1
    apart = 1 + np.arange(len(own.apart))
    expected = float(apart @ own.apart)
    drawn: list[Ints] = []
    while sum(int(part.sum()) for part in drawn) < frames:
        size = int(1.1 * frames / expected) + 16
        drawn.append(rng.choice(apart, size=size, p=np.asarray(own.apart) / sum(own.apart)))
    cycle = np.concatenate(drawn)
    begin = np.cumsum(cycle) - cycle
    cycle, begin = cycle[begin < frames], begin[begin < frames]
    begin_ns = begin * (4 * NS_PER_MS) // 3
    cycle_ns = (begin + cycle) * (4 * NS_PER_MS) // 3 - begin_ns
    burst_ns = np.rint(terminal.at(own.burst_ms, rng.random(len(cycle))) * NS_PER_MS).astype(np.int64)
    burst_ns = np.minimum(burst_ns, (cycle_ns * _FULLEST).astype(np.int64))
    time_ns = np.stack([begin_ns, begin_ns + burst_ns], axis=1).ravel()
    share = np.stack([cycle_ns / burst_ns, np.zeros(len(cycle))], axis=1).ravel()
    inside = time_ns < period_ns
    return time_ns[inside].astype(np.int64), share[inside]
