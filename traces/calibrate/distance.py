"""How far two measured paths are apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from leogym.configs.units import NS_PER_S
from leogym.traces.calibrate.measured import Floats, Ints
from leogym.traces.calibrate.observed import Observed, Sample

LAGS_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0)
_FEWEST_PAIRS = 8


def kolmogorov_smirnov(one: Floats, other: Floats) -> float:
    """Return the largest distance between two samples' distribution functions."""
    one, other = np.sort(one), np.sort(other)
    at = np.concatenate([one, other])
    apart = np.searchsorted(one, at, side="right") / len(one) - np.searchsorted(
        other, at, side="right"
    ) / len(other)
    return float(np.abs(apart).max())


def by_chance(one: float, other: float) -> float:
    """Return the distance that two samples of one distribution exceed in 5 % of cases, by their sizes."""
    return float(1.358 * np.sqrt(1 / one + 1 / other))


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
    found = []
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
        found.append(Distance(name, len(sample.values), slots, apart, chance))
    return found


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
    one: list[Floats] = []
    other: list[Floats] = []
    for part, lag in zip(parts, lags.tolist(), strict=True):
        own = whole[first : first + len(part.values)]
        first += len(part.values)
        same = part.slot[lag:] == part.slot[:-lag]
        one.append(own[:-lag][same])
        other.append(own[lag:][same])
    return _correlation(np.stack([np.concatenate(one), np.concatenate(other)], axis=1)) if one else 0.0


def _correlation(pairs: Floats) -> float:
    if len(pairs) < _FEWEST_PAIRS or bool(np.any(np.ptp(pairs, axis=0) == 0)):
        return 0.0
    return float(np.asarray(np.corrcoef(pairs.T))[0, 1])
