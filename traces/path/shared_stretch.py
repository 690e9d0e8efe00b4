"""Split two paths over one constellation at the hops that they share.

Each path is split into stretches, and each stretch becomes a traced link:

    alone:    sender ── up ── alone ───────────── receiver
    sharing:  sender ── up ── shared ── rest ──── receiver

``up`` is the sender's link to its satellite. It is always on the route, so packets that wait there stay in
order when sharing starts or stops. ``shared`` is the run of hops that both paths take in the same direction,
``rest`` everything after it. The delays of a route's stretches add up to the path's delay at every instant.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit.earth import light_ns
from leogym.traces.path import handover
from leogym.traces.path.build import Builder, on_stderr
from leogym.traces.path.path import Block
from leogym.traces.path.routing import Chain
from leogym.traces.path.spec import PathSpec

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Span:
    """A time span in which both paths take the hops between ``nodes``; () if they share none."""

    start_ns: int
    end_ns: int
    nodes: Chain


@dataclass(frozen=True)
class Stretch:
    """Rows of one stretch. All arrays have shape (rows,); the last row only ends the period."""

    time_ns: Ints
    delay_ns: Ints
    connected: NDArray[np.bool_]
    path_id: Ints
    event: list[str]


@dataclass(frozen=True)
class Side:
    """One of the two paths. ``alone`` or ``rest`` is None if the path is never in that state."""

    spec: PathSpec
    """With the elements' own epoch, if the constellation is a catalogue."""
    time_ns: Ints
    delay_ns: Ints  # the whole path's delay at ``time_ns``, without the row that ends the period
    up: Stretch
    alone: Stretch | None
    rest: Stretch | None


@dataclass(frozen=True)
class Sharing:
    """Two paths, split at the hops that they share."""

    sides: tuple[Side, Side]
    shared: Stretch | None
    spans: list[Span]  # in order and without gaps, from the first row to the period's end

    @property
    def share(self) -> float:
        """The fraction of time in which the paths share at least one hop."""
        shared_ns = sum(span.end_ns - span.start_ns for span in self.spans if span.nodes)
        return shared_ns / self.spans[-1].end_ns

    def changes(self) -> list[tuple[int, bool]]:
        """Return the state at 0 ns, and the times in ns at which sharing starts (True) or stops (False)."""
        states = [(span.start_ns, bool(span.nodes)) for span in self.spans]
        return states[:1] + [late for early, late in pairwise(states) if early[1] != late[1]]


def common_run(first: Chain | None, second: Chain | None, first_user: int) -> Chain:
    """Return the nodes of the longest common run of hops of two chains, or ().

    Users' own links are never shared: two terminals at one place have slots of their own. Nodes from
    ``first_user`` on are users.
    """
    if first is None or second is None:
        return ()
    place = {node: index for index, node in enumerate(second) if node < first_user}
    best: Chain = ()
    run: list[int] = []
    for node in first:
        follows = bool(run) and place.get(node) == place[run[-1]] + 1
        run = [*run, node] if follows else ([node] if node in place else [])
        if len(run) > max(1, len(best)):
            best = tuple(run)
    return best


def split(specs: tuple[PathSpec, PathSpec]) -> Sharing:
    """Build and split two paths that differ only in their sites; raise InputError if one cannot be built."""
    notes: list[str] = []
    builders = (Builder(specs[0], notes.append), Builder(specs[1], notes.append))
    blocks = (list(builders[0].blocks()), list(builders[1].blocks()))
    for note in dict.fromkeys(notes):
        on_stderr(note)
    network, clock = builders[0].network, builders[0].clock
    spans = list(_spans(blocks, network.first_user))
    step_ns = clock.step_ms * 1_000_000
    grid_ns = np.arange(clock.end_step - clock.first_step, dtype=np.int64) * step_ns
    span_of = np.searchsorted([span.start_ns for span in spans], grid_ns, side="right") - 1
    length_km = np.zeros(len(grid_ns))
    for index, span in enumerate(spans):
        if span.nodes:
            rows = span_of == index
            seconds = (grid_ns[rows] + clock.first_step * step_ns) / 1e9
            positions = network.chain_positions_km(span.nodes, seconds)
            length_km[rows] = np.linalg.norm(np.diff(positions, axis=1), axis=2).sum(axis=1)
    end_ns = spans[-1].end_ns
    shared_ns = light_ns(length_km)
    used = np.array([bool(span.nodes) for span in spans])[span_of]
    shared = _held(grid_ns, shared_ns, used, np.ones(len(used), dtype=bool), span_of, {}, end_ns)
    sides = tuple(
        _side(builder.spec, rows, spans, shared) for builder, rows in zip(builders, blocks, strict=True)
    )
    return Sharing((sides[0], sides[1]), shared, spans)


def _spans(blocks: tuple[list[Block], list[Block]], first_user: int) -> Iterator[Span]:
    ends_ns = blocks[0][-1].time_ns[0]
    starts = [np.array([block.time_ns[0] for block in own[:-1]]) for own in blocks]
    open_ns, nodes = 0, None
    for start_ns in np.union1d(*starts).tolist():
        chains = [
            own[int(np.searchsorted(begin, start_ns, side="right")) - 1].chain
            for own, begin in zip(blocks, starts, strict=True)
        ]
        now = common_run(chains[0], chains[1], first_user)
        if nodes is not None and now != nodes:
            yield Span(open_ns, start_ns, nodes)
            open_ns = start_ns
        nodes = now
    yield Span(open_ns, int(ends_ns), nodes or ())


def _side(spec: PathSpec, blocks: list[Block], spans: list[Span], shared: Stretch | None) -> Side:
    rows = blocks[:-1]
    time_ns = np.concatenate([block.time_ns for block in rows])
    total_ns = np.concatenate([block.delay_ns for block in rows])
    reachable = _each(rows, [block.chain is not None for block in rows]).astype(bool)
    satellite = _each(rows, [-1 if block.chain is None else block.chain[1] for block in rows])
    chain = _each(rows, [block.path_id for block in rows])
    up_km = np.concatenate([_first_leg_km(block) for block in rows])
    events = {int(block.time_ns[0]): block.event.partition("(")[0] for block in rows}
    end_ns = int(blocks[-1].time_ns[0])
    near, far = _handovers(rows)
    connected = np.concatenate([block.connected for block in rows])

    up_ns = _fifo(time_ns, _fill(light_ns(up_km), reachable))
    up = _rows(time_ns, up_ns, reachable & (connected | ~near), satellite, events, end_ns)

    span_of = np.searchsorted([span.start_ns for span in spans], time_ns, side="right") - 1
    sharing = np.array([bool(span.nodes) for span in spans])[span_of]
    elsewhere_ns, arrives = total_ns - up_ns, connected | ~far
    alone = _held(time_ns, elsewhere_ns, ~sharing, arrives, chain, events, end_ns)
    after = None
    if shared is not None:
        held = np.searchsorted(shared.time_ns, time_ns, side="right") - 1
        # The rest changes whenever the path or the shared stretch does.
        state = chain * len(spans) + span_of
        after = _held(time_ns, elsewhere_ns - shared.delay_ns[held], sharing, arrives, state, events, end_ns)
    return Side(spec, time_ns, total_ns, up, alone, after)


def _each(blocks: list[Block], values: list[int]) -> Ints:
    """Repeat each block's value for its rows."""
    return np.repeat(np.array(values, dtype=np.int64), [len(block.time_ns) for block in blocks])


def _handovers(blocks: list[Block]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return per row whether the last hard handover was the sender's, and whether it was the receiver's.

    The sender's outages take down ``up``, the receiver's everything after it.
    """
    near, far = [], []
    ends, now = None, (True, True)
    for block in blocks:
        if block.chain is not None:
            if block.event == handover.HARD and ends is not None:
                now = (block.chain[1] != ends[0], block.chain[-2] != ends[1])
            ends = (block.chain[1], block.chain[-2])
        near.append(now[0])
        far.append(now[1])
    return _each(blocks, near).astype(bool), _each(blocks, far).astype(bool)


def _first_leg_km(block: Block) -> NDArray[np.float64]:
    return np.zeros(len(block.time_ns)) if block.chain is None else block.leg_km[:, 0]


def _fill(values: Ints, valid: NDArray[np.bool_]) -> Ints:
    """Replace unknown values by the last known one, or by the first one before that."""
    at = np.flatnonzero(valid)
    return values[at[np.maximum(np.searchsorted(at, np.arange(len(values)), side="right") - 1, 0)]]


def _fifo(time_ns: Ints, delay_ns: Ints) -> Ints:
    """Raise delays so that no packet overtakes (only needed if a stretch shortens by 30,000 km in 100 ms)."""
    return np.maximum.accumulate(time_ns + delay_ns) - time_ns


def _held(
    time_ns: Ints,
    delay_ns: Ints,
    used: NDArray[np.bool_],
    connected: NDArray[np.bool_],
    state: Ints,
    events: dict[int, str],
    end_ns: int,
) -> Stretch | None:
    """Return a stretch that is in use only in some rows, and keeps its delay in the others."""
    if not used.any():
        return None
    delay_ns = _fifo(time_ns, _fill(delay_ns, used))
    state = np.where(used, state, -1)
    # Drop rows that repeat the previous one.
    needed = used | np.concatenate([[True], np.diff(state) != 0])
    connected = connected | ~used
    return _rows(time_ns[needed], delay_ns[needed], connected[needed], state[needed], events, end_ns)


def _rows(
    time_ns: Ints,
    delay_ns: Ints,
    connected: NDArray[np.bool_],
    state: Ints,
    events: dict[int, str],
    end_ns: int,
) -> Stretch:
    """Return the rows plus one that ends the period; path_id changes with ``state``.

    Changes without an outage are soft handovers that lose no packets.
    """
    changed = np.concatenate([[False], np.diff(state) != 0])
    event = []
    for at_ns, new, up in zip(time_ns.tolist(), changed.tolist(), connected.tolist(), strict=True):
        kind = events.get(at_ns, "")
        is_outage = kind in (handover.HARD, handover.UNREACHABLE) and not up
        event.append(kind if is_outage else handover.SOFT if new else "")
    return Stretch(
        np.append(time_ns, end_ns),
        np.append(delay_ns, delay_ns[-1]),
        np.append(connected, connected[-1]),
        np.append(np.cumsum(changed), np.cumsum(changed)[-1]),
        [*event, ""],
    )
