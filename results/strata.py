"""When repeats reuse a stretch of a path, keep only the variation within that stretch."""

import math
from collections.abc import Hashable, Sequence

import numpy as np


def within(values: Sequence[float], strata: Sequence[Hashable]) -> list[float]:
    """Return values with the same mean that differ only as much as repeats of one stratum do.

    If repeats cover a path in turn (`Suite.in_turn`), their mean covers the whole path. Differences between
    its stretches are then no error of that mean, but differences between repeats of a stretch are. So each
    value becomes the overall mean plus its distance from its stratum's mean. The factor sqrt(k / (k - 1))
    corrects that distance, because k values lie too near to their sample mean. If a stratum has a single
    value, all values are returned unchanged.

    Few repeats make 95 % intervals too narrow, with strata or without. With two repeats in each of five
    strata they cover the mean in 88 to 89 % of cases. With five repeats and no strata they cover it in 85 %.

    Args:
        values: finite, one per repeat.
        strata: each value's stratum.
    """
    members: dict[Hashable, list[int]] = {}
    for index, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(index)
    if len(members) < 2 or min(map(len, members.values())) < 2:
        return list(values)
    data = np.asarray(values, dtype=float)
    adjusted = np.full_like(data, data.mean())
    for indices in members.values():
        adjusted[indices] += (data[indices] - data[indices].mean()) * math.sqrt(
            len(indices) / (len(indices) - 1)
        )
    return adjusted.tolist()
