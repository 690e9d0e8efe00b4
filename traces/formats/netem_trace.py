"""JSON for the netem-trace crate and for rattan: capacity, delay and loss as repeated patterns.

Format (netem-trace 0.5, features ``serde`` and ``human``): a model is an object whose only key is the name of
its configuration type; bandwidths and durations are strings with units; ``count`` 0 repeats forever. Delay
and loss have only static and repeated models, so each span of constant delay is an object.
"""

import json
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.output_file import whole_file
from leogym.traces.formats.format import Export, Format
from leogym.traces.formats.mahimahi import DIRECTIONS
from leogym.traces.formats.series import Series

CAPACITY = "Bw", lambda bps: {"bw": f"{bps}bps"}
DELAY = "Delay", lambda ns: {"delay": f"{ns}ns"}
LOSS = "Loss", lambda share: {"loss": [share]}
"""Kinds of configurations, with a value's entry: bit/s of whole IP packets (0 in outages), delay and loss."""


def write_spans(
    file: IO[str], series: Series, values: NDArray[Any], kind: str, entry: Callable[[Any], dict[str, Any]]
) -> int:
    """Write the spans in which ``values`` is constant as a pattern; return their number."""
    starts = np.concatenate([[True], values[1:] != values[:-1]])
    lengths_ns = np.diff(np.append(series.time_ns[starts], series.period_ns))
    models = [
        {f"Static{kind}Config": {**entry(value), "duration": f"{ns}ns"}}
        for value, ns in zip(values[starts].tolist(), lengths_ns.tolist(), strict=True)
    ]
    # One model per line keeps files readable and diffs small.
    lines = ",\n".join(map(json.dumps, models))
    file.write(f'{{"Repeated{kind}PatternConfig": {{"pattern": [\n{lines}\n], "count": 0}}}}\n')
    return len(models)


def _write(job: Export) -> None:
    """Write capacity per direction; delay and loss in one file each if both directions have the same."""
    series = job.series
    for direction in DIRECTIONS:
        with whole_file(job.folder / f"{direction}.bw.json") as file:
            spans = write_spans(file, series, series.capacity_bps(direction), *CAPACITY)
        job.contents[f"{direction}.bw.json"] = f"BwTraceConfig, {spans} spans"
    for field, (kind, entry), way in (("delay_ns", DELAY, ", one way"), ("loss", LOSS, "")):
        alike = np.array_equal(getattr(series.up, field), getattr(series.down, field))
        for direction in DIRECTIONS[: 1 if alike else 2]:
            name = f"{kind.lower()}.json" if alike else f"{direction}.{kind.lower()}.json"
            values = getattr(series.way(direction), field)
            with whole_file(job.folder / name) as file:
                spans = write_spans(file, series, values, kind, entry)
            job.contents[name] = f"{kind}TraceConfig, {spans} spans{way}"
    job.not_expressed.append("connected: an outage is a bandwidth of 0; path_id and events are left out")
    job.sidecar["offset_s"] = 0.0


FORMAT = Format(
    "netem-trace",
    "JSON for the crate netem-trace and for rattan: capacity, delay and loss, exact",
    write=_write,
)
