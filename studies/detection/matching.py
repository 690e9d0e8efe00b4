"""Matches detections with path changes, one to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

Pair = tuple[int, int]


def matched(detected_s: Sequence[float], true_s: Sequence[float], window_s: float) -> list[Pair]:
    """Match detections with path changes.

    A detection and a change may match if they are at most ``window_s`` apart. Each is in one pair at most. As
    many as possible are matched, and of all such matchings this is one with the smallest sum of distances.

    On a line two pairs that cross can be uncrossed without a longer sum, so it is enough to walk through both
    lists side by side, and keep the best matching for every two prefixes.

    Args:
        detected_s: (n,) times of detections in s, sorted.
        true_s: (m,) times of path changes in s, sorted.
        window_s: largest distance of a pair in s, at least 0.

    Returns:
        Index pairs of detection and change, sorted.
    """
    detected, true = np.asarray(detected_s, dtype=float), np.asarray(true_s, dtype=float)
    # The best of each two prefixes: pairs (negative: more is better) and the sum of their distances.
    best: list[list[tuple[int, float]]] = [[(0, 0.0)] * (len(true) + 1) for _ in range(len(detected) + 1)]
    for i in range(1, len(detected) + 1):
        for j in range(1, len(true) + 1):
            best[i][j] = min(best[i - 1][j], best[i][j - 1])
            apart = abs(float(detected[i - 1] - true[j - 1]))
            if apart <= window_s:
                pairs, distance = best[i - 1][j - 1]
                best[i][j] = min(best[i][j], (pairs - 1, distance + apart))
    pairs = []
    i, j = len(detected), len(true)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


@dataclass(frozen=True)
class Score:
    """How well detections tell the path changes of one run. None: there is nothing to divide by."""

    precision: float | None
    """Share of detections that match a change."""
    recall: float | None
    """Share of changes that a detection matches."""
    recall_of_steps: float | None
    """The same, of the changes that are marked as steps."""
    lag_s: float | None
    """Median of detection less change over the pairs; negative: the detection came before the change."""


def score(
    detected_s: Sequence[float],
    true_s: Sequence[float],
    steps: Sequence[bool],
    window_s: float,
    counted_s: tuple[float, float],
) -> Score:
    """Score the detections of a run.

    All detections and changes may match, but only those within ``counted_s`` count, so that no pair is cut in
    two at the run's ends.

    Args:
        detected_s: (n,) times of detections in s, sorted.
        true_s: (m,) times of path changes in s, sorted; also some before and after the counted time.
        steps: (m,) whether the change counts for ``recall_of_steps``.
        window_s: largest distance of a pair in s.
        counted_s: begin and end (excluded) of the time that counts.
    """
    begin_s, end_s = counted_s
    pairs = matched(detected_s, true_s, window_s)
    counted_detections = [begin_s <= time_s < end_s for time_s in detected_s]
    true = [begin_s <= time_s < end_s for time_s in true_s]
    stepped = [counted and step for counted, step in zip(true, steps, strict=True)]
    hits, matched_changes = {i for i, _ in pairs}, {j for _, j in pairs}
    lags_s = [detected_s[i] - true_s[j] for i, j in pairs if true[j]]
    return Score(
        precision=_share([i in hits for i, counted in enumerate(counted_detections) if counted]),
        recall=_share([j in matched_changes for j, counted in enumerate(true) if counted]),
        recall_of_steps=_share([j in matched_changes for j, counted in enumerate(stepped) if counted]),
        lag_s=median(lags_s) if lags_s else None,
    )


def _share(hits: list[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None
