"""Where people live: cells of a grid of latitude and longitude."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit import ground

Floats = NDArray[np.float64]


@cache
def _table() -> Floats:
    """Return latitude, longitude and inhabitants of cells of one degree, shape (cells, 3)."""
    rows = ground.rows("population.csv")
    table = np.array([[row["lat_deg"], row["lon_deg"], row["thousands"]] for row in rows], dtype=np.float64)
    table[:, 2] *= 1000
    return table


def cells(cell_deg: int) -> Floats:
    """Return the inhabited cells of a grid that starts at the south pole and the date line.

    Args:
        cell_deg: edge of a cell in degrees of latitude and longitude, from 1 to 30.

    Returns:
        Mean latitude and longitude of each cell's inhabitants in degrees, and their number; shape (cells, 3),
        the most populous first (``data/population.csv`` names the source).
    """
    table = _table()
    row, column = np.floor((table[:, :2] + [90, 180]) / cell_deg).astype(int).T
    _, cell = np.unique(row * 360 + column, return_inverse=True)
    people = np.bincount(cell, table[:, 2])
    lat_deg, lon_deg = (np.bincount(cell, degrees * table[:, 2]) / people for degrees in table[:, :2].T)
    grid = np.column_stack([lat_deg, lon_deg, people]).astype(np.float64)
    return grid[np.argsort(-people, kind="stable")]
