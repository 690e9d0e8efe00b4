"""Fit a terminal's parameters to observations.

A parameter starts at its value in the data. The model with it is then measured as the data were, and the
parameter moves by the difference between them, a few times over (indirect inference: Gourieroux, Monfort and
Renault, 1993). So what measuring does to a value, such as bins, a wait for the next burst or a maximum over
some probes, is the same on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leogym.common.units import NS_PER_MS
from leogym.traces.calibrate import distance
from leogym.traces.calibrate.measured import Floats, Measured, simulated
from leogym.traces.calibrate.observed import Observed, Sample, frames_apart, observe
from leogym.traces.capacity import terminal
from leogym.traces.capacity.terminal import Terminal

ROUNDS = 8
_HIGHEST = 0.995  # quantile that a fine table ends with
_DRAWS = 200  # of slots, for standard errors
_VALUES = ((21, 100), (11, 50), (6, 20), (3, 0))
"""Values of a table, and the slots that it needs."""
_LEAST_JITTER_NS = 20 * NS_PER_MS
_WHOLE_BINS = 0.8  # a burst of n - 0.8 bins touches n, wherever in a frame it begins
_MOST_APART = 24


@dataclass(frozen=True)
class _Table:
    """A table of the model, the distribution that shows it, and its bounds."""

    field: str
    sample: str
    low: float
    high: float
    fine: bool = False
    """Whether a slot has many values."""


_TABLES = (
    _Table("downlink.capacity_mbps", "down_mbps", 0.01, 10_000),
    _Table("uplink.capacity_mbps", "up_mbps", 0.01, 10_000),
    _Table("downlink.second", "down_second", 0, 10, fine=True),
    _Table("uplink.second", "up_second", 0, 10, fine=True),
    _Table("downlink.gap_ms", "down_gap_ms", 0, 400),
    _Table("uplink.gap_ms", "up_gap_ms", 0, 400),
    _Table("downlink.lost_ms", "lost_ms", 0, 400),
    _Table("downlink.loss", "loss", 0, 1),
    _Table("round_trip.base_ms", "base_ms", 0.1, 2000),
    _Table("round_trip.jitter_ms", "jitter_ms", 0, 2000, fine=True),
)
_BOUNDS = {table.field: (table.low, table.high) for table in _TABLES}
_OTHER_DIRECTION = {
    "downlink.gap_ms": "uplink.gap_ms",
    "downlink.lost_ms": "uplink.lost_ms",
    "downlink.loss": "uplink.loss",
}
"""Fields that the other direction takes, too, if the data do not tell it apart."""
_SPIKE = _Table("downlink.gap_ms", "spike_ms", 0, 400)
"""Without a fine capacity, the wait that probes see tells the gap."""


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter."""

    field: str
    values: tuple[float, ...]
    errors: tuple[float, ...]
    """Standard errors, from drawing slots with replacement."""


@dataclass(frozen=True)
class Fit:
    """Fitted parameters."""

    terminal: Terminal
    parameters: list[Parameter]
    unfitted: list[str]
    """Fields that the data do not show, as before."""


def fit(
    data: Observed, like: Sequence[Measured], start: Terminal, seed: int = 0, rounds: int = ROUNDS
) -> Fit:
    """Return the parameters that make the model look as the data do.

    Args:
        data: what was observed; may be a part of what the paths show.
        like: how it was measured.
        start: parameters of what the data do not show.
        seed: of the model's draws.
        rounds: how often model and data are compared.
    """
    tables = _tables(data)
    wanted = _statistics(data, tables, like)
    fields = {name: np.array(value) for name, value in wanted.items()}
    late: list[dict[str, Floats]] = []
    for number in range(rounds):
        parameters = _terminal(fields, start, data, like)
        model = observe(
            [simulated(parameters, path, seed + 1000 * number + index) for index, path in enumerate(like)]
        )
        statistics = _statistics(model, tables, like, wanted)
        drawn = _drawn_statistics(model, wanted)
        # Smaller steps at the end, and their mean, average the noise of the model's draws.
        step = 1.0 if number < (rounds + 1) // 2 else 0.5
        fields = {
            name: _moved(
                name, drawn.get(name, value), value, wanted[name], statistics.get(name, wanted[name]), step
            )
            for name, value in fields.items()
        }
        if step < 1:
            late.append(fields)
    if late:
        fields = {name: np.mean([earlier[name] for earlier in late], axis=0) for name in fields}
    errors = _errors(data, tables, like, wanted)
    parameters = [
        Parameter(name, tuple(np.atleast_1d(value).tolist()), tuple(np.atleast_1d(errors[name]).tolist()))
        for name, value in fields.items()
    ]
    return Fit(_terminal(fields, start, data, like), parameters, _unfitted(fields))


def _tables(data: Observed) -> list[_Table]:
    tables = [table for table in _TABLES if _some(data.samples.get(table.sample))]
    if not any(table.field == "downlink.gap_ms" for table in tables) and _some(data.samples.get("spike_ms")):
        tables.append(_SPIKE)
    return tables


def _some(sample: Sample | None) -> bool:
    return sample is not None and len(sample.values) > 1


def _probabilities(table: _Table, data: Observed) -> Floats:
    if table.fine:
        # The very highest value says little of a table's last part.
        return np.linspace(0, 1, 21) * _HIGHEST
    return np.linspace(0, 1, next(values for values, least in _VALUES if data.slots >= least))


def _statistics(
    data: Observed, tables: list[_Table], like: Sequence[Measured], wanted: dict[str, Floats] | None = None
) -> dict[str, Floats]:
    """Return each field's statistics in the data: values of tables, correlations, shares and losses."""
    statistics: dict[str, Floats] = {}
    for table in tables:
        sample = data.samples.get(table.sample)
        if sample is None or not len(sample.values):
            continue
        at = _probabilities(table, data)
        if wanted is not None and len(wanted[table.field]) != len(at):
            at = np.linspace(0, 1, len(wanted[table.field]))
        statistics[table.field] = np.quantile(sample.values, at).clip(table.low, table.high)
    for field, name in (
        ("downlink.capacity_correlation", "down_mbps"),
        ("uplink.capacity_correlation", "up_mbps"),
        ("round_trip.base_correlation", "base_ms"),
    ):
        if name in data.series:
            statistics[field] = np.array(distance.slot_correlation(data.series[name]))
    if "jitter_ms" in data.series:
        every = np.array(data.every_ns)
        lags = np.maximum(np.rint(_jitter_every_ns(like) / every).astype(np.int64), 1)
        statistics["round_trip.jitter_correlation"] = np.array(
            distance.jitter_correlation(data.series["jitter_ms"], lags)
        )
        swing, swing_s = distance.swing(data.series["jitter_ms"], every)
        statistics["round_trip.swing"], statistics["round_trip.swing_s"] = np.array(swing), np.array(swing_s)
    if "apart_ms" in data.samples and len(data.samples["apart_ms"].values):
        statistics["frames.apart"] = frames_apart(data.samples["apart_ms"].values, _MOST_APART)
        statistics["frames.burst_ms"] = _burst_ms(data.samples["burst_ms"].values, like)
    return statistics


def _jitter_every_ns(like: Sequence[Measured]) -> int:
    every = max(int(path.probe_ns[1] - path.probe_ns[0]) for path in like if path.rtt_ms is not None)
    return min(max(_LEAST_JITTER_NS, every), 1000 * NS_PER_MS)


def _burst_ms(seen_ms: Floats, like: Sequence[Measured]) -> Floats:
    bin_ms = max(path.bin_ns for path in like) / NS_PER_MS
    whole = seen_ms - _WHOLE_BINS * bin_ms
    return np.quantile(whole, np.linspace(0, 1, 21) * 0.999).clip(0.05, 80)


def _drawn_statistics(model: Observed, wanted: dict[str, Floats]) -> dict[str, Floats]:
    """Return statistics of the model's own values of a slot, with the noise of the measured ones."""
    statistics: dict[str, Floats] = {}
    for field, sample in model.drawn.items():
        if field in wanted:
            statistics[field] = np.quantile(sample.values, np.linspace(0, 1, len(wanted[field])))
        correlation = field.replace("capacity_mbps", "capacity_correlation").replace(
            "base_ms", "base_correlation"
        )
        if correlation != field and correlation in wanted:
            statistics[correlation] = np.array(distance.slot_correlation((sample,)))
    return statistics


def _moved(name: str, drawn: Floats, value: Floats, wanted: Floats, simulated: Floats, step: float) -> Floats:
    """Return a field's next value from wanted and simulated statistics and the model's values ``drawn``."""
    if name == "frames.apart":
        # Shares move by ratios, so none falls below 0.
        ratio = np.where(simulated > 0, wanted / np.maximum(simulated, 1e-9), 1.0)
        moved = value * ratio**step
        return moved / moved.sum()
    if name == "frames.burst_ms":
        return value
    moved = value + step * (wanted - simulated + drawn - value)
    if name in _BOUNDS:
        return np.sort(moved).clip(*_BOUNDS[name])
    if name.endswith("correlation"):
        return moved.clip(0, 0.95)
    if name == "round_trip.swing":
        return moved.clip(0, 2)
    if name == "round_trip.swing_s":
        return (value * (wanted / simulated) ** step).clip(0.1, 100)
    return moved


def _terminal(
    fields: dict[str, Floats], start: Terminal, data: Observed, like: Sequence[Measured]
) -> Terminal:
    """Return ``start`` with these fields."""
    tree: dict[str, Any] = start.model_dump()
    for field, values in fields.items():
        group, name = field.split(".")
        value: Any
        if name.endswith("correlation"):
            value = float(np.clip(values, 0, 0.95))
        elif name.startswith("swing"):
            value = float(values)
        elif name == "apart":
            shares = values[: int(np.flatnonzero(values)[-1]) + 1]
            value = tuple((shares / shares.sum()).tolist())
        else:
            value = tuple(values.clip(*_BOUNDS.get(field, (0.05, 80))).tolist())
        tree[group][name] = value
        other = _OTHER_DIRECTION.get(field)
        if other is not None and other not in fields:
            group, name = other.split(".")
            tree[group][name] = value
    if "round_trip.jitter_ms" in fields:
        tree["round_trip"]["jitter_every_ms"] = _jitter_every_ns(like) / NS_PER_MS
    return terminal.parse(tree, "fit")


def _errors(
    data: Observed, tables: list[_Table], like: Sequence[Measured], wanted: dict[str, Floats]
) -> dict[str, Floats]:
    """Return standard errors of the data's statistics: the spread over slots drawn with replacement."""
    rng = np.random.default_rng(0)
    present = np.unique(np.concatenate([sample.slot for sample in data.samples.values()]))
    draws: dict[str, list[Floats]] = {name: [] for name in wanted}
    where = {name: _by_slot(sample) for name, sample in data.samples.items()}
    for _ in range(_DRAWS):
        chosen = rng.choice(present, size=len(present))
        samples = {name: _drawn(data.samples[name], where[name], chosen) for name in where}
        again = Observed(samples, {}, data.every_ns, data.slots, {})
        for name, value in _statistics(again, tables, like, wanted).items():
            draws[name].append(value)
    return {
        name: np.std(draws[name], axis=0)
        if draws[name]
        # Of a correlation with the slot before (Bartlett, 1946). The others need slots in their order, too.
        else np.sqrt((1 - value**2) / len(present))
        if name.endswith(("capacity_correlation", "base_correlation"))
        else np.full(np.shape(value), np.nan)
        for name, value in wanted.items()
    }


def _by_slot(sample: Sample) -> dict[int, Floats]:
    order = np.argsort(sample.slot, kind="stable")
    slots, first = np.unique(sample.slot[order], return_index=True)
    return dict(zip(slots.tolist(), np.split(sample.values[order], first[1:]), strict=True))


def _drawn(sample: Sample, where: dict[int, Floats], chosen: Floats) -> Sample:
    parts = [where[slot] for slot in chosen.tolist() if slot in where]
    values = np.concatenate(parts) if parts else sample.values[:0]
    return Sample(values, np.zeros(len(values), dtype=np.int64))


def _unfitted(fields: dict[str, Floats]) -> list[str]:
    every = [f"{group}.{name}" for group, names in _FIELDS.items() for name in names]
    measured = set(fields) | {other for field, other in _OTHER_DIRECTION.items() if field in fields}
    return [field for field in every if field not in measured]


_FIELDS = {
    group: list(kind.model_fields)
    for group, kind in (
        ("downlink", terminal.Direction),
        ("uplink", terminal.Direction),
        ("round_trip", terminal.RoundTrip),
        ("frames", terminal.Frames),
    )
}
