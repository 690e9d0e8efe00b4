"""Compute rows from segments: delay along the chain, outages and events, in integer nanoseconds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit.earth import light_ns
from leogym.traces.path.clock import Clock
from leogym.traces.path.handover import Segment
from leogym.traces.path.network import Network
from leogym.traces.path.routing import Chain

Ints = NDArray[np.int64]


class NoRouteError(Exception):
    """No segment has a chain, so there is no delay to write."""


@dataclass(frozen=True)
class Block:
    """Rows of a path with the same chain of nodes. All arrays have shape (rows,)."""

    time_ns: Ints
    delay_ns: Ints  # one way
    connected: NDArray[np.bool_]
    path_id: int
    event: str  # the event of the first row; the other rows have none
    chain: Chain | None
    leg_km: NDArray[np.float64]  # lengths of the chain's legs, shape (rows, legs); no columns without a chain
    side: str = ""  # the end whose satellite changes at a hard handover: ``from``, ``to`` or ``both``


def blocks(network: Network, segments: Iterable[Segment], clock: Clock) -> Iterator[Block]:
    """Yield a block per segment, and one for the last row, which only ends the period.

    Raises:
        NoRouteError: no segment has a chain.
    """
    rows = _Rows(network, clock)
    waiting: list[Segment] = []
    for segment in segments:
        if rows.started or segment.chain is not None:
            if not rows.started:
                # Rows before the first route take its delay.
                rows.start(segment)
                yield from map(rows.add, waiting)
            yield rows.add(segment)
        else:
            waiting.append(segment)
    if not rows.started:
        raise NoRouteError
    yield rows.end()


class _Rows:
    """The state that carries over between segments."""

    def __init__(self, network: Network, clock: Clock) -> None:
        self._network = network
        self._clock = clock
        self._step_ns = clock.step_ms * 1_000_000
        self._path_id = -1
        self._chain: Chain | None = None
        self._delay_ns = 0
        self._arrival_ns = 0
        self._down_until_ns = 0
        self._connected = False
        self.started = False

    def start(self, segment: Segment) -> None:
        """Set the delay before ``segment`` to that of its first row."""
        self.started = True
        legs_km = self._legs_km(segment.chain, np.array([segment.first_step * self._step_ns]))
        self._delay_ns = int(light_ns(legs_km.sum(axis=1))[0])

    def add(self, segment: Segment) -> Block:
        """Return the rows of the next segment."""
        origin_ns = self._clock.first_step * self._step_ns
        first_ns = segment.first_step * self._step_ns
        time_ns = np.arange(segment.first_step, segment.end_step, dtype=np.int64) * self._step_ns
        if segment.outage_ns:
            self._down_until_ns = max(self._down_until_ns, first_ns + segment.outage_ns)
        if first_ns < self._down_until_ns < segment.end_step * self._step_ns:
            # The outage ends between two steps: add a row there.
            time_ns = np.union1d(time_ns, [self._down_until_ns])
        if self._path_id < 0 or segment.chain != self._chain:
            self._path_id += 1
            self._chain = segment.chain
        leg_km = self._legs_km(segment.chain, time_ns)
        if segment.chain is None:
            delay_ns = np.full(len(time_ns), self._delay_ns)
            connected = np.zeros(len(time_ns), dtype=bool)
        else:
            delay_ns = light_ns(leg_km.sum(axis=1))
            connected = time_ns >= self._down_until_ns
        time_ns -= origin_ns
        # The path is first in, first out, so arrival times never fall.
        arrival_ns = np.maximum.accumulate(np.maximum(time_ns + delay_ns, self._arrival_ns))
        self._arrival_ns = int(arrival_ns[-1])
        delay_ns = arrival_ns - time_ns
        self._delay_ns, self._connected = int(delay_ns[-1]), bool(connected[-1])
        return Block(
            time_ns, delay_ns, connected, self._path_id, segment.event, segment.chain, leg_km, segment.side
        )

    def end(self) -> Block:
        """Return the last row, a copy of the previous one."""
        time_ns = np.array([(self._clock.end_step - self._clock.first_step) * self._step_ns])
        delay_ns, connected = np.array([self._delay_ns]), np.array([self._connected])
        legs_km = np.empty((1, 0))
        return Block(time_ns, delay_ns, connected, self._path_id, "", None, legs_km)

    def _legs_km(self, chain: Chain | None, time_ns: Ints) -> NDArray[np.float64]:
        if chain is None:
            return np.empty((len(time_ns), 0))
        return self._network.legs_km(chain, time_ns / 1e9)
