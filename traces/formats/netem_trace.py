"""JSON for the netem-trace crate and for rattan: capacity, delay and loss as repeated patterns.

Format (netem-trace 0.5, features ``serde`` and ``human``): a model is an object whose only key is the name of
its configuration type; bandwidths and durations are strings with units; ``count`` 0 repeats forever. Delay
and loss have only static and repeated models, so each span of constant delay is an object.
"""

import json
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.output_file import whole_file
from leogym.traces.formats.format import Export, Format
from leogym.traces.formats.mahimahi import DIRECTIONS
from leogym.traces.formats.series import Series


def _spans(series: Series, values: NDArray[Any]) -> tuple[list[Any], list[int]]:
    """Return values and lengths in ns of the spans in which ``values`` is constant."""
    starts = np.concatenate([[True], values[1:] != values[:-1]])
    edges = np.append(series.time_ns[starts], series.period_ns)
    return values[starts].tolist(), np.diff(edges).tolist()


def _write_repeated(file: IO[str], kind: str, models: list[dict[str, Any]]) -> int:
    # One model per line keeps files readable and diffs small.
    lines = ",\n".join(json.dumps({f"Static{kind}Config": model}) for model in models)
    name = f"Repeated{kind}PatternConfig"
    file.write(f'{{"{name}": {{"pattern": [\n{lines}\n], "count": 0}}}}\n')
    return len(models)


def write_capacity(series: Series, direction: str, file: IO[str]) -> int:
    """Write a ``BwTraceConfig`` in bit/s of whole IP packets; outages are 0. Return its number of spans."""
    values, lengths = _spans(series, series.capacity_bps(direction))
    models = [{"bw": f"{bps}bps", "duration": f"{ns}ns"} for bps, ns in zip(values, lengths, strict=True)]
    return _write_repeated(file, "Bw", models)


def write_delay(series: Series, direction: str, file: IO[str]) -> int:
    """Write a ``DelayTraceConfig`` of a direction's delays. Return its number of spans."""
    values, lengths = _spans(series, series.way(direction).delay_ns)
    models = [
        {"delay": f"{delay}ns", "duration": f"{ns}ns"} for delay, ns in zip(values, lengths, strict=True)
    ]
    return _write_repeated(file, "Delay", models)


def write_loss(series: Series, direction: str, file: IO[str]) -> int:
    """Write a ``LossTraceConfig`` of a direction's independent loss. Return its number of spans."""
    values, lengths = _spans(series, series.way(direction).loss)
    models = [{"loss": [loss], "duration": f"{ns}ns"} for loss, ns in zip(values, lengths, strict=True)]
    return _write_repeated(file, "Loss", models)


def _write(job: Export) -> None:
    """Write capacity per direction; delay and loss in one file each if both directions have the same."""
    series = job.series
    for direction in DIRECTIONS:
        with whole_file(job.folder / f"{direction}.bw.json") as file:
            spans = write_capacity(series, direction, file)
        job.contents[f"{direction}.bw.json"] = f"BwTraceConfig, {spans} spans"
    for quantity, field, write_quantity, description in (
        ("delay", "delay_ns", write_delay, "DelayTraceConfig, {} spans, one way"),
        ("loss", "loss", write_loss, "LossTraceConfig, {} spans"),
    ):
        alike = np.array_equal(getattr(series.up, field), getattr(series.down, field))
        for direction in DIRECTIONS[: 1 if alike else 2]:
            name = f"{quantity}.json" if alike else f"{direction}.{quantity}.json"
            with whole_file(job.folder / name) as file:
                job.contents[name] = description.format(write_quantity(series, direction, file))
    job.not_expressed.append("connected: an outage is a bandwidth of 0; path_id and events are left out")
    job.sidecar["offset_s"] = 0.0


FORMAT = Format(
    "netem-trace",
    "JSON for the crate netem-trace and for rattan: capacity, delay and loss, exact",
    write=_write,
)
