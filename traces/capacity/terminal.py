"""Parameters of a Starlink terminal's path, for the model ``starlink``, as data.

``data/terminals`` has a YAML file per place and year, with a source per number; `leogym traces calibrate`
writes such a file from a user's own measurements.

A distribution is a table of its values at evenly spaced probabilities from 0 to 1; between them it is even.
Two values are a uniform distribution, and ``[0, 0, 30]`` is 0 half of the time.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, ValidationError, model_validator

from leogym.common import yaml_text
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import Probability, Range, Strict
from leogym.traces.capacity.span import Floats

FOLDER = Path(__file__).resolve().parents[1] / "data" / "terminals"
FORMAT = "leogym-terminal"
VERSION = 1
FRAME_MS = 4 / 3
MAX_VALUES = 101
_MAX_FRAMES = 64


def _table(values: tuple[float, ...]) -> tuple[float, ...]:
    if not 2 <= len(values) <= MAX_VALUES:
        raise ValueError(f"must have 2 to {MAX_VALUES} values, not {len(values)}")
    if any(low > high for low, high in pairwise(values)):
        raise ValueError("must not fall from one value to the next")
    return values


def _shares(values: tuple[float, ...]) -> tuple[float, ...]:
    if not 1 <= len(values) <= _MAX_FRAMES or abs(sum(values) - 1) > 1e-6:
        raise ValueError(f"must have 1 to {_MAX_FRAMES} shares with a sum of 1")
    return values


Correlation = Annotated[float, Range(ge=0, le=0.95)]
Mbps = Annotated[tuple[Annotated[float, Range(ge=0.01, le=10_000)], ...], AfterValidator(_table)]
GapMs = Annotated[tuple[Annotated[float, Range(ge=0, le=400)], ...], AfterValidator(_table)]
Factor = Annotated[tuple[Annotated[float, Range(ge=0, le=10)], ...], AfterValidator(_table)]
DelayMs = Annotated[tuple[Annotated[float, Range(ge=0, le=2000)], ...], AfterValidator(_table)]
RttMs = Annotated[tuple[Annotated[float, Range(ge=0.1, le=2000)], ...], AfterValidator(_table)]
Losses = Annotated[tuple[Probability, ...], AfterValidator(_table)]
BurstMs = Annotated[tuple[Annotated[float, Range(ge=0.05, le=80)], ...], AfterValidator(_table)]
Shares = Annotated[tuple[Probability, ...], AfterValidator(_shares)]


class Direction(Strict):
    """Capacity, gaps and loss towards the terminal or from it."""

    capacity_mbps: Mbps
    """Mean of a slot between two reconfigurations."""
    capacity_correlation: Correlation = 0.0
    """Of the capacities of neighbouring slots, as normal scores."""
    second: Factor = (1.0, 1.0)
    """Capacity of a second as a multiple of its slot's."""
    gap_ms: GapMs
    """Time without capacity at the start of a slot; packets wait."""
    lost_ms: GapMs
    """End of a slot in which everything is lost: what is in flight to the satellite that is left. In the
    second around a reconfiguration this is a tenth of a percent of loss per ms."""
    loss: Losses
    """Loss per packet in between, drawn per slot."""


class RoundTrip(Strict):
    """RTT without queues of the user's own; half of it each way."""

    base_ms: RttMs
    """Of a slot; above it is `jitter_ms`."""
    base_correlation: Correlation = 0.0
    jitter_ms: DelayMs = (0.0, 0.0)
    """RTT above the base, besides the wait for a frame, drawn every `jitter_every_ms`."""
    jitter_every_ms: Annotated[float, Range(ge=10, le=1000)] = 20.0
    jitter_correlation: Correlation = 0.0
    """Of neighbouring values' normal scores."""
    swing: Annotated[float, Range(ge=0, le=2)] = 0.0
    """Jitter swings by a slow factor: standard deviation of its logarithm. Its median is 1."""
    swing_s: Annotated[float, Range(ge=0.1, le=100)] = 5.0
    """Time after which the factor's correlation is 1/e."""


class Frames(Strict):
    """When a terminal's packets come: in bursts, with silence in between, both directions together."""

    apart: Shares
    """Shares of bursts that begin 1, 2, … frames of 4/3 ms after the one before."""
    burst_ms: BurstMs
    """Length of a burst; shorter than the time to the next one."""


class Terminal(Strict):
    """The parameters of the model ``starlink``."""

    format: Annotated[str, Field(pattern=f"^{FORMAT}$")]
    version: Annotated[int, Range(ge=VERSION, le=VERSION)]
    about: str
    sources: dict[str, str] = Field(default_factory=dict)
    """Where the numbers come from, by field."""
    downlink: Direction
    uplink: Direction
    round_trip: RoundTrip
    frames: Frames

    @model_validator(mode="after")
    def _bursts_fit(self) -> Terminal:
        if self.frames.burst_ms[0] >= FRAME_MS and self.frames.apart[0] == 1:
            raise ValueError("frames: burst_ms: must leave silence between bursts")
        return self


def names() -> list[str]:
    """Return the names of the parameter sets that come with LeoGym."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name_or_file: str) -> Terminal:
    """Load a parameter set that comes with LeoGym, or a file of the user's.

    Raises:
        InputError: there is none, or the file is invalid; the message names field and rule.
    """
    shipped = names()
    if name_or_file in shipped:
        return _known(name_or_file)
    path = Path(name_or_file)
    if not path.is_file():
        raise InputError(
            f"model: {name_or_file!r}: neither a file nor a known terminal "
            f"{suggest_names(name_or_file, shipped, leogym_command('traces', 'list'))}"
        )
    return read(path)


@cache
def _known(name: str) -> Terminal:
    return read(FOLDER / f"{name}.yaml")


def read(path: Path) -> Terminal:
    """Read a parameter file; raise InputError with field and rule if it is invalid."""
    return parse(yaml_text.read(path), str(path))


def parse(data: object, source: str) -> Terminal:
    """Return the parameters in a mapping; raise InputError with field and rule if they are invalid."""
    try:
        return Terminal.model_validate(_tuples(data))
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def _tuples(data: object) -> object:
    """Return YAML's data with tuples for lists and floats for whole numbers, as the strict schema wants."""
    if isinstance(data, dict):
        return {key: _tuples(value) for key, value in data.items()}
    if isinstance(data, list):
        return tuple(_tuples(value) for value in data)
    return data


def at(table: tuple[float, ...], probability: Floats | float) -> Floats:
    """Return a distribution's values at these probabilities."""
    return np.asarray(np.interp(probability, np.linspace(0, 1, len(table)), table), dtype=np.float64)


def mean(table: tuple[float, ...]) -> float:
    """Return a distribution's mean."""
    values = np.asarray(table)
    return float((values[1:] + values[:-1]).mean() / 2)
