"""Situations: points of a box of capacities, RTTs, buffers, losses, steps, jitter, handovers and flows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.configs.queue import Queue
from leogym.configs.scenario import Flow, Link, Scenario

Bounds = tuple[float, float]
Vector = NDArray[np.float64]

SCHEME = "$scheme"
"""Stands for the scheme under test, as in suites."""

DEFAULT = {"rate_mbps": (10.0, 500.0), "rtt_ms": (5.0, 600.0), "loss": (0.0, 0.01)}
"""The ranges of a scheme that names none."""

LEAST_S, LEAST_RTTS, MOST_PACKETS = 20.0, 60, 1_200_000
PACKET_BITS = 12_000
LEAST_OUTAGE_MS = 10.0


@dataclass(frozen=True)
class Axis:
    """One dimension of the box."""

    name: str
    low: float
    high: float
    is_log: bool = False

    def at(self, position: float) -> float:
        """Return the value at ``position`` from -1 to 1."""
        share = (float(np.clip(position, -1.0, 1.0)) + 1) / 2
        if self.is_log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)


def axes(ranges: Mapping[str, Bounds] | None = None) -> tuple[Axis, ...]:
    """Return the axes of the box within ``ranges`` (rate_mbps, rtt_ms, loss; default `DEFAULT`)."""
    ranges = {**DEFAULT, **(ranges or {})}
    return (
        Axis("rate_mbps", *ranges["rate_mbps"], is_log=True),
        Axis("rate_depth", 0.2, 1.0),
        Axis("rtt_ms", *ranges["rtt_ms"], is_log=True),
        Axis("rtt_growth", 1.0, 3.0),
        Axis("period_s", 2.0, 15.0, is_log=True),
        Axis("outage_ms", 0.0, 200.0),
        Axis("buffer_bdp", 0.5, 16.0, is_log=True),
        Axis("loss", *ranges["loss"]),
        Axis("jitter_us", 1.0, 20_000.0, is_log=True),
        Axis("flows", 1.0, 4.0),
        Axis("apart", 0.0, 0.25),
        Axis("offset_s", 0.0, 60.0),
    )


@dataclass(frozen=True)
class Situation:
    """One point of the box, rounded to numbers that a reader can type."""

    rate_mbps: float
    """Highest capacity."""
    least_rate_mbps: float
    """Lowest capacity; drawn anew between both every period."""
    rtt_ms: float
    """Lowest base RTT."""
    most_rtt_ms: float
    """Highest base RTT; drawn anew between both every period."""
    period_s: float
    outage_ms: float
    """At the end of each period; 0: none."""
    buffer_bdp: float
    """Of the highest capacity and the lowest RTT."""
    loss: float
    jitter_us: float
    """Each ACK is late by up to this much."""
    flows: int
    apart_s: float
    """Time between the starts of flows."""
    offset_s: float
    """Where in the draws the run starts."""
    duration_s: float

    @classmethod
    def at(cls, point: Vector, box: tuple[Axis, ...], flows: tuple[int, int] = (1, 4)) -> Situation:
        """Return the situation at ``point``, one coordinate from -1 to 1 for each axis."""
        values = {axis.name: axis.at(value) for axis, value in zip(box, point, strict=True)}
        limits = {axis.name: (axis.low, axis.high) for axis in box}
        rate, rtt = values["rate_mbps"], values["rtt_ms"]
        most_rtt = min(rtt * values["rtt_growth"], limits["rtt_ms"][1])
        count = int(np.clip(round(values["flows"]), *flows))
        # A flow's share must be within the ranges, too.
        least_rate = max(rate * values["rate_depth"], limits["rate_mbps"][0])
        duration_s = max(LEAST_S, LEAST_RTTS * most_rtt / 1e3)
        duration_s = max(10.0, min(duration_s, MOST_PACKETS * PACKET_BITS / (rate * 1e6)))
        outage_ms = values["outage_ms"]
        return cls(
            rate_mbps=_rounded(rate),
            least_rate_mbps=min(_rounded(least_rate), _rounded(rate)),
            rtt_ms=_rounded(rtt),
            most_rtt_ms=max(_rounded(most_rtt), _rounded(rtt)),
            period_s=round(values["period_s"], 1),
            outage_ms=float(round(outage_ms)) if outage_ms >= LEAST_OUTAGE_MS else 0.0,
            buffer_bdp=_rounded(values["buffer_bdp"]),
            loss=round(values["loss"], 4),
            # More than half an RTT would be another path.
            jitter_us=float(round(min(values["jitter_us"], 250.0 * rtt))),
            flows=count,
            apart_s=round(values["apart"] * duration_s, 1) if count > 1 else 0.0,
            offset_s=round(values["offset_s"], 1),
            duration_s=float(round(duration_s)),
        )

    def scenario(self, name: str, seed: int = 1) -> Scenario:
        """Return the scenario, whose flows have the scheme `SCHEME`."""
        trace = (
            f"uniform-steps@{seed}:capacity_mbps={self.least_rate_mbps:g},{self.rate_mbps:g}"
            f":rtt_ms={self.rtt_ms:g},{self.most_rtt_ms:g}:period_s={self.period_s:g}"
        )
        if self.outage_ms:
            trace += f":outage_ms={self.outage_ms:g}"
        buffer_packets = self.buffer_bdp * self.rate_mbps * self.rtt_ms * 1e3 / PACKET_BITS
        link = Link(
            trace=trace,
            offset_s=self.offset_s,
            loss=self.loss,
            queue=Queue(packets=max(2, math.ceil(buffer_packets))),
        )
        flows = [
            Flow(scheme=SCHEME, start_s=round(index * self.apart_s, 3), route=["path"])
            for index in range(self.flows)
        ]
        return Scenario(
            name=name,
            duration_s=self.duration_s,
            seed=seed,
            host_jitter_us=self.jitter_us,
            links={"path": link},
            flows=flows,
        )


def _rounded(value: float) -> float:
    """Round to three digits."""
    return float(f"{value:.3g}")
