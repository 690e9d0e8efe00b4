"""How far two measured paths are apart."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.calibrate.measured import Floats, Ints
from leogym.traces.calibrate.observed import Observed, Sample

LAGS_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0)
_FEWEST_PAIRS = 8
_WINDOW_NS = 240 * NS_PER_MS
"""Jitter is averaged over this much, so that what is drawn anew every 20 ms hardly counts."""
_NEAREST_NS, _FARTHEST_NS = NS_PER_S // 2, 7 * NS_PER_S
_TINY = 0.05  # of the mean jitter, so that windows without any have a logarithm
_SWINGS_S = np.geomspace(0.3, 100, 400)
_NO_SWING_S = 5.0


def kolmogorov_smirnov(first_values: Floats, second_values: Floats) -> float:
    """Return the largest distance between two samples' distribution functions."""
    first_values, second_values = np.sort(first_values), np.sort(second_values)
    at = np.concatenate([first_values, second_values])
    apart = np.searchsorted(first_values, at, side="right") / len(first_values) - np.searchsorted(
        second_values, at, side="right"
    ) / len(second_values)
    return float(np.abs(apart).max())


def by_chance(first_count: float, second_count: float) -> float:
    """Return the distance that two samples of one distribution exceed in 5 % of cases, by their sizes."""
    return float(1.358 * np.sqrt(1 / first_count + 1 / second_count))


@dataclass(frozen=True)
class Distance:
    """How far a distribution of the data is from the model's."""

    name: str
    values: int
    slots: int
    apart: float
    chance: float
    """For distributions with one value per slot; NaN otherwise, because values within a slot depend."""


def distances(data: Observed, model: Observed) -> list[Distance]:
    """Return the distance of each distribution that both have."""
    by_quantity = []
    for name, sample in data.samples.items():
        other = model.samples.get(name)
        if other is None or not len(sample.values) or not len(other.values):
            continue
        slots = len(np.unique(sample.slot))
        single = slots == len(sample.values)
        # Values that correlate with the next ones tell as much as fewer that do not.
        near = max(slot_correlation(data.series[name]), 0.0) if name in data.series and single else 0.0
        worth = (1 - near) / (1 + near)
        chance = by_chance(slots * worth, len(other.values) * worth) if single else float("nan")
        apart = kolmogorov_smirnov(sample.values, other.values)
        by_quantity.append(Distance(name, len(sample.values), slots, apart, chance))
    return by_quantity


def autocorrelation(observed: Observed) -> Floats:
    """Return the RTT's autocorrelation at `LAGS_S`; NaN where a lag is shorter than the probes' interval."""
    parts = observed.series.get("rtt_ms", ())
    result = np.full(len(LAGS_S), np.nan)
    for index, lag_s in enumerate(LAGS_S):
        products = variance = 0.0
        for part, every_ns in zip(parts, observed.every_ns, strict=True):
            lag = round(lag_s * NS_PER_S / every_ns)
            for piece in pieces(part):
                centred = piece - part.values.mean()
                if 1 <= lag <= len(piece) // 2:
                    products += float((centred[lag:] * centred[:-lag]).mean()) * len(piece)
                    variance += float((centred**2).mean()) * len(piece)
        if variance > 0:
            result[index] = products / variance
    return result


def pieces(part: Sample) -> list[Floats]:
    """Return the stretches of a path without a slot left out."""
    return np.split(part.values, np.flatnonzero(np.diff(part.slot) > 1) + 1)


def scores(values: Floats) -> Floats:
    """Return normal scores: ranks as quantiles of the normal distribution."""
    return ndtri((rankdata(values) - 0.5) / len(values))


def slot_correlation(parts: tuple[Sample, ...]) -> float:
    """Return the correlation of neighbouring slots' normal scores; 0 if there are too few."""
    whole = scores(np.concatenate([part.values for part in parts])) if parts else np.zeros(0)
    pairs: list[tuple[float, float]] = []
    first = 0
    for part in parts:
        own = whole[first : first + len(part.values)]
        first += len(part.values)
        next_one = np.diff(part.slot) == 1
        pairs += zip(own[:-1][next_one].tolist(), own[1:][next_one].tolist(), strict=True)
    return _correlation(np.array(pairs))


def jitter_correlation(parts: tuple[Sample, ...], lags: Ints) -> float:
    """Return the correlation of all parts' normal scores that are a part's lag apart within a slot."""
    whole = scores(np.concatenate([part.values for part in parts])) if parts else np.zeros(0)
    first = 0
    earlier_values: list[Floats] = []
    later_values: list[Floats] = []
    for part, lag in zip(parts, lags.tolist(), strict=True):
        own = whole[first : first + len(part.values)]
        first += len(part.values)
        within_slot = part.slot[lag:] == part.slot[:-lag]
        earlier_values.append(own[:-lag][within_slot])
        later_values.append(own[lag:][within_slot])
    if not earlier_values:
        return 0.0
    return _correlation(np.stack([np.concatenate(earlier_values), np.concatenate(later_values)], axis=1))


def swing(parts: tuple[Sample, ...], every_ns: Ints) -> tuple[float, float]:
    """Return how far the jitter's slow factor swings (deviation of its logarithm), and over how many s.

    Of the logarithms of windows' means: their covariance at lags beyond what else correlates is that of the
    factor's logarithm, c exp(-lag / s), whatever distribution it multiplies.
    """
    lengths = np.maximum(np.rint(_WINDOW_NS / every_ns).astype(np.int64), 1).tolist()
    windows = [_windows(part, length) for part, length in zip(parts, lengths, strict=True)]
    if not windows or min(window.shape[1] for window in windows) < 3:
        return 0.0, _NO_SWING_S
    mean = np.concatenate([window.ravel() for window in windows]).mean()
    logs = [np.log(window + _TINY * mean) if mean > 0 else np.zeros_like(window) for window in windows]
    whole = np.concatenate([window.ravel() for window in logs])
    lags_s, covariances, pairs = [], [], []
    for window, length, ns in zip(logs, lengths, every_ns.tolist(), strict=True):
        centred = window - whole.mean()
        window_ns = length * ns
        for lag in range(-(-_NEAREST_NS // window_ns), min(_FARTHEST_NS // window_ns + 1, window.shape[1])):
            products = centred[:, :-lag] * centred[:, lag:]
            lags_s.append(lag * window_ns / NS_PER_S)
            covariances.append(products.mean())
            pairs.append(products.size)
    if not lags_s:
        return 0.0, _NO_SWING_S
    faded = np.exp(-np.array(lags_s) / _SWINGS_S[:, None])
    weight, covariance = np.array(pairs), np.array(covariances)
    # Covariances of short swings are tiny at all lags here: no swing exceeds what the windows vary.
    scale = ((weight * covariance * faded).sum(axis=1) / (weight * faded**2).sum(axis=1)).clip(0, whole.var())
    best = int((weight * (covariance - scale[:, None] * faded) ** 2).sum(axis=1).argmin())
    if scale[best] == 0:
        return 0.0, _NO_SWING_S
    return float(np.sqrt(scale[best])), float(_SWINGS_S[best])


def _windows(part: Sample, length: int) -> Floats:
    """Return the means of windows of ``length`` values, shape (slots, windows)."""
    slots = np.split(part.values, np.flatnonzero(np.diff(part.slot)) + 1)
    count = min(len(slot) for slot in slots) // length
    if count == 0:
        return np.zeros((len(slots), 0))
    return np.stack([slot[: count * length].reshape(count, length).mean(axis=1) for slot in slots])


def _correlation(pairs: Floats) -> float:
    if len(pairs) < _FEWEST_PAIRS or bool(np.any(np.ptp(pairs, axis=0) == 0)):
        return 0.0
    return float(np.asarray(np.corrcoef(pairs.T))[0, 1])
