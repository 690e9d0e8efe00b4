"""Positions of a path's nodes over time, rebuilt from the trace's spec."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leogym.traces.path.build import Builder
from leogym.traces.path.network import Network
from leogym.traces.path.spec import PathSpec

SAMPLE_S = 10.0  # between samples, satellites deviate from a straight line by at most 0.1 km

Kind = Literal["user", "satellite", "gateway"]


@dataclass(frozen=True)
class ChainSpan:
    """A chain of nodes, with their positions while the path used it."""

    start_s: float
    end_s: float
    event: str  # the event at the start of the chain, or an empty string
    kinds: list[Kind]
    names: list[str]
    sample_s: NDArray[np.float64]  # from ``start_s`` to ``end_s``, shape (samples,)
    position_km: NDArray[np.float64]  # Earth-fixed, shape (samples, nodes, 3)


def chain_spans(spec: PathSpec) -> list[ChainSpan]:
    """Return a path's chains, without times that have no route; raise InputError if it cannot be built."""
    builder = Builder(spec, noted=lambda _: None)  # its trace has said them
    network, clock = builder.network, builder.clock
    blocks = list(builder.blocks())
    starts = [
        index
        for index, block in enumerate(blocks)
        if index == 0 or block.path_id != blocks[index - 1].path_id
    ]
    spans = []
    for first, after in zip(starts, [*starts[1:], len(blocks) - 1], strict=False):
        block = blocks[first]
        start_s, end_s = float(block.time_ns[0]) / 1e9, float(blocks[after].time_ns[0]) / 1e9
        if block.chain is None or end_s <= start_s:
            continue
        samples = np.linspace(start_s, end_s, 2 + int((end_s - start_s) // SAMPLE_S))
        positions = network.chain_positions_km(block.chain, samples + clock.seconds(clock.first_step))
        kinds: list[Kind] = [_kind(network, node) for node in block.chain]
        names = [network.node_name(node) for node in block.chain]
        spans.append(
            ChainSpan(start_s, end_s, block.event.partition("(")[0], kinds, names, samples, positions)
        )
    return spans


def _kind(network: Network, node: int) -> Kind:
    if node >= network.first_user:
        return "user"
    return "gateway" if node >= network.first_gateway else "satellite"


def lon_lat_deg(position_km: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return longitude and geocentric latitude, in degrees, of positions (…, 3)."""
    lon = np.degrees(np.arctan2(position_km[..., 1], position_km[..., 0]))
    lat = np.degrees(np.arctan2(position_km[..., 2], np.hypot(position_km[..., 0], position_km[..., 1])))
    return lon, lat
