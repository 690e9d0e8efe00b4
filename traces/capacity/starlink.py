"""Capacity, delay and loss of a Starlink terminal besides geometry, in the style of published measurements.

- Capacity: drawn every 15 s, independently per direction. Downlink: 48.7 Mbit/s on average, 30 to 73, from
  LeoReplayer's example trace (LeoCC, commit 867e673). Uplink: the same shape, scaled by Ookla's medians for
  Starlink in the United States, first quarter of 2025: 14.84 up, 104.71 down.
- Reconfigurations, every 15 s: no capacity for 59 to 135 ms, then 31 to 68 ms of extra delay for 20 to 110 ms
  (the same trace, eight reconfigurations). The extra delay then falls as fast as time runs: no packet
  overtakes.
- Loss: a burst of 30 to 50 ms when capacity returns (3 to 5 probes in a row at 10 ms; LEOViz, sample of
  2025-05-29), and a constant 0.0001 towards the terminal or 0.002 from it (LeoReplayer's suggestion).
- Frames of 4/3 ms with up to 15 ms of silence in between (Garcia, Sundberg and Brunstrom, "TCP Congestion
  Control Performance over Starlink", ANRW 2025, sections 1 and 4): one frame on, then 1 to 11 off, both
  directions together. `OFF_SHARES` are the 27,804 pauses between the bursts of LeoReplayer's example trace,
  which has every packet of a saturated downlink to the millisecond: a burst every 4.3 ms on average, and 99 %
  of them less than 8.5 ms apart. Silence and transmission take one row each, about 460 rows a second.
  Capacity while on is scaled so that every cycle carries the slot's capacity.
"""

from typing import Any

import numpy as np

from leogym.configs.units import NS_PER_MS
from leogym.traces.capacity.span import End, Floats, Grid, Ints, SlotModel, Span, combined, span

DOWNLINK_MBPS = (30.0, 48.7, 73.0)  # minimum, mean, maximum
UPLINK_SHARE = 14.84 / 104.71
_SPREAD_MBPS = 8.0  # standard deviation before truncation, which moves the mean by less than 0.3 Mbit/s
GAP_MS = (59.0, 135.0)
SPIKE_MS = (20.0, 110.0)
SPIKE_DELAY_MS = (31.0, 68.0)
BURST_MS = (30.0, 50.0)
BURST_LOSS = 1.0
LOSS_DOWN, LOSS_UP = 1e-4, 2e-3
BASE_DELAY_MS = (7.0, 14.0)
"""One way, without an orbit. The example trace has a minimum of 7 and a mean of 10.7 ms, spikes included."""

OFF_SHARES = (0.281, 0.366, 0.226, 0.094, 0.024, 0.003, 0.002, 0.002, 0.001, 0.0005, 0.0005)
"""Shares of silences of 1, 2, … frames. Each ends with one frame that transmits."""

_RAMP_MS = 2  # step of the falling edge of a delay spike
_STREAM = 2


class Starlink(SlotModel):
    """A Starlink terminal at one end of the path."""

    def __init__(
        self,
        grid: Grid,
        seed: int,
        *,
        terminal_at: End = "to",
        base_delay_ms: tuple[float, float] | None = None,
        scale: float = 1.0,
    ) -> None:
        """Store the parameters; raise ValueError if slots are too short for a reconfiguration.

        With ``base_delay_ms``, a base delay is drawn per slot from this range, instead of a path's
        propagation. ``scale`` multiplies `DOWNLINK_MBPS`.
        """
        if grid.period_ns < 1000 * NS_PER_MS:
            raise ValueError("capacity: starlink needs at least 1 s between re-selections")
        super().__init__(grid)
        self._seed = seed
        self._terminal_at: End = terminal_at
        self._base_delay_ms = base_delay_ms
        self._scale = scale

    def draw(self, slot: int) -> Span:
        """Return a slot: gap, burst, spike and frames."""
        rng = np.random.default_rng([self._seed, _STREAM, slot])
        down, up = _mbps(rng) * self._scale, _mbps(rng) * self._scale * UPLINK_SHARE
        gap_ns = _ns(rng, GAP_MS)
        spike_ns, delay_ns, burst_ns = _ns(rng, SPIKE_MS), _ns(rng, SPIKE_DELAY_MS), _ns(rng, BURST_MS)
        base_ns = 0 if self._base_delay_ms is None else _ns(rng, self._base_delay_ms)
        ramp_ns = np.arange(0, delay_ns, _RAMP_MS * NS_PER_MS, dtype=np.int64)
        spike = span(
            np.concatenate([[0, gap_ns], gap_ns + spike_ns + ramp_ns, [gap_ns + spike_ns + delay_ns]]),
            extra_ns=base_ns + np.concatenate([[0, delay_ns], delay_ns - ramp_ns, [0]]),
        )
        steady = LOSS_DOWN if self._terminal_at == "to" else LOSS_UP
        burst = span(np.array([0, gap_ns, gap_ns + burst_ns]), loss=np.array([steady, BURST_LOSS, steady]))
        gap = span(np.array([0, gap_ns]), forward=np.array([0.0, 1.0]), backward=np.array([0.0, 1.0]))
        time_ns, share = _frames(rng, self.grid.period_ns)
        forward, backward = (down, up) if self._terminal_at == "to" else (up, down)
        frames = span(time_ns, forward=share * forward, backward=share * backward)
        return combined([spike, burst, gap, frames], np.zeros(1, dtype=np.int64))

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {
            "model": "starlink",
            "period_s": self.grid.period_ns / 1e9,
            "terminal_at": self._terminal_at,
            "downlink_mbps_min_mean_max": [mbps * self._scale for mbps in DOWNLINK_MBPS],
            "uplink_share": round(UPLINK_SHARE, 4),
            "gap_ms": list(GAP_MS),
            "spike_ms": list(SPIKE_MS),
            "spike_delay_ms": list(SPIKE_DELAY_MS),
            "loss_burst_ms": list(BURST_MS),
            "loss_steady": LOSS_DOWN if self._terminal_at == "to" else LOSS_UP,
            "frame_ms": "4/3",
            "frames_off_shares": list(OFF_SHARES),
            "base_delay_ms": None if self._base_delay_ms is None else list(self._base_delay_ms),
        }


def _mbps(rng: np.random.Generator) -> float:
    low, mean, high = DOWNLINK_MBPS
    while not low <= (drawn := rng.normal(mean, _SPREAD_MBPS)) <= high:
        pass
    return float(drawn)


def _ns(rng: np.random.Generator, range_ms: tuple[float, float]) -> int:
    return round(rng.uniform(*range_ms) * NS_PER_MS)


def _frames(rng: np.random.Generator, period_ns: int) -> tuple[Ints, Floats]:
    """Return the starts of silence and transmission, and capacity as a multiple of the slot's."""
    frames = period_ns * 3 // (4 * NS_PER_MS) + 1
    # The shortest cycle has two frames.
    off = 1 + rng.choice(len(OFF_SHARES), size=frames // 2 + 1, p=OFF_SHARES)
    ends = np.cumsum(off + 1)
    kept = int(np.searchsorted(ends, frames)) + 1
    off, ends = off[:kept], ends[:kept]
    frame = np.stack([ends - off - 1, ends - 1], axis=1).ravel()
    share = np.stack([np.zeros(kept), (off + 1).astype(np.float64)], axis=1).ravel()
    time_ns = frame * (4 * NS_PER_MS) // 3
    inside = time_ns < period_ns
    return time_ns[inside].astype(np.int64), share[inside]
