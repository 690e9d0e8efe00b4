"""Shortest routes over satellites, gateways and users at one instant."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Chain = tuple[int, ...]

_ROUNDING = 1 + 1e-9  # tolerance of bounds: lengths are summed in different orders


def chain_km(position_km: Floats, chain: Chain) -> float:
    """Return the length of a chain, given positions of shape (nodes, 3)."""
    return float(np.linalg.norm(np.diff(position_km[list(chain)], axis=0), axis=1).sum())


def within(position_km: Floats, source: int, target: int, bound_km: float) -> NDArray[np.bool_]:
    """Return which nodes can lie on a chain from source to target of at most ``bound_km``, shape (nodes,).

    These are the nodes in an ellipsoid with source and target as foci.
    """
    if np.isinf(bound_km):
        return np.ones(len(position_km), dtype=bool)
    detour = np.linalg.norm(position_km - position_km[source], axis=1)
    detour += np.linalg.norm(position_km - position_km[target], axis=1)
    return detour <= bound_km * _ROUNDING


def shortest(
    position_km: Floats, links: NDArray[np.int64], source: int, target: int, bound_km: float = np.inf
) -> Chain | None:
    """Return the shortest chain from source to target, both included, or None.

    Positions are (nodes, 3), links (links, 2) and usable in both directions. ``bound_km``, the length of a
    chain that exists, only saves work.
    """
    if source == target:
        return (source,)
    # Here, because the import takes time and cached paths are not routed again.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    length = np.linalg.norm(position_km[links[:, 0]] - position_km[links[:, 1]], axis=1)
    # Store both directions, or scipy builds the transposed graph at every call.
    row, column = np.concatenate([links, links[:, ::-1]]).T
    order = np.argsort(row, kind="stable")
    start = np.zeros(len(position_km) + 1, dtype=np.int32)
    np.cumsum(np.bincount(row, minlength=len(position_km)), out=start[1:])
    graph = csr_array(
        (np.concatenate([length, length])[order], column[order].astype(np.int32), start),
        shape=(len(position_km), len(position_km)),
    )
    distance, previous = dijkstra(graph, indices=source, return_predecessors=True, limit=bound_km * _ROUNDING)
    if np.isinf(distance[target]):
        return None
    chain = [target]
    while chain[-1] != source:
        chain.append(int(previous[chain[-1]]))
    return tuple(reversed(chain))
