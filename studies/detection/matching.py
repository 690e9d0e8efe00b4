"""Matches detections with path changes, one to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy.optimize import linear_sum_assignment

Pair = tuple[int, int]


def matched(detected_s: Sequence[float], true_s: Sequence[float], window_s: float) -> list[Pair]:
    """Match detections with path changes.

    A detection and a change may match if they are at most ``window_s`` apart. Each is in one pair at most. As
    many as possible are matched, and of all such matchings this is one with the smallest sum of distances.

    Args:
        detected_s: (n,) times of detections in s, sorted.
        true_s: (m,) times of path changes in s, sorted.
        window_s: largest distance of a pair in s, at least 0.

    Returns:
        Index pairs of detection and change, sorted.
    """
    apart_s = np.abs(np.subtract.outer(np.asarray(detected_s, dtype=float), np.asarray(true_s, dtype=float)))
    may_match = apart_s <= window_s
    # A pair that may not match costs more than all that may.
    forbidden = 1.0 + window_s * (1 + min(apart_s.shape))
    detected, true = linear_sum_assignment(np.where(may_match, apart_s, forbidden))
    match = may_match[detected, true]
    # Pairs that cross are no closer than the same ones in order.
    return list(zip(sorted(detected[match].tolist()), sorted(true[match].tolist()), strict=True))


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
