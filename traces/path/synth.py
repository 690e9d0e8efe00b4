"""Path traces without an orbit, from the numbers in papers and of operators."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ValidationError, model_validator

from leogym.common import output_folder
from leogym.common.command_line import leogym_command, number, option
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.output_file import whole_file
from leogym.common.strict import NonNegative, Positive, Probability, Range, Strict
from leogym.common.units import NS_PER_S
from leogym.traces.capacity import terminal, uniform_steps
from leogym.traces.capacity.columns import COLUMNS, FORMAT, VERSION
from leogym.traces.capacity.directions import Directions
from leogym.traces.capacity.loss import ConstantLoss, GilbertElliott
from leogym.traces.capacity.outages import Outages
from leogym.traces.capacity.rows import Overlay
from leogym.traces.capacity.settings import parse_loss_burst
from leogym.traces.capacity.span import Grid, Model, View
from leogym.traces.capacity.starlink import Starlink
from leogym.traces.capacity.uniform_steps import UniformSteps

Pair = tuple[float, float]
Share = Annotated[float, Range(ge=0.001, le=1000)]

DEFAULT_FOLDER = output_folder.RUNS / "traces"
"""The folder of traces whose place nobody names."""

_STEPS: dict[str, Any] = {"capacity_mbps": uniform_steps.CAPACITY_MBPS, "rtt_ms": uniform_steps.RTT_MS}
PRESETS: dict[str, dict[str, Any]] = {
    "uniform-steps": _STEPS,
    # The same capacities and delays as without loss.
    "uniform-steps-lossy": {**_STEPS, "max_loss": 0.01},
    **{name: {"model": name} for name in terminal.names()},
    # Five times the capacity, and a server farther away; both are assumptions.
    "starlink-fast": {"model": "starlink", "rtt_ms": (30.0, 45.0), "capacity_scale": 5.0},
    # A geostationary path; 144 Mbit/s is Viasat's downstream in "Evaluation of TCP HyStart over satellite".
    "geo": {"capacity_mbps": (144.0, 144.0), "rtt_ms": (600.0, 600.0), "period_s": 300.0},
    # "LeoTCP", section IV-D: hard handovers of 20 to 200 ms every 5 s.
    "outages": {
        "capacity_mbps": (100.0, 100.0),
        "rtt_ms": (50.0, 50.0),
        "period_s": 5.0,
        "outage_ms": 100.0,
        "duration_s": 100.0,
    },
}
"""Fields by preset name that differ from `SynthSpec`'s defaults."""


def _range(text: str) -> Pair:
    try:
        low, *further = map(float, text.split(","))
        (high,) = further or (low,)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW,HIGH") from None
    return low, high


def _pair(text: str) -> Pair:
    try:
        up, down = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not UP,DOWN") from None
    return up, down


def _terminal(text: str) -> str:
    # A cached trace is named for its text, which a file of that name may outlive.
    if text not in terminal.names():
        raise argparse.ArgumentTypeError(f"{text!r}: must be one of {', '.join(terminal.names())}")
    return text


_OPTIONS = {
    "model": option("--model", "starlink's terminal; calibrate writes such a file", metavar="NAME|FILE"),
    "seed": option("--seed", "default 0", type=int, metavar="N"),
    "duration_s": option("--duration", "default 300", type=number, metavar="S"),
    "period_s": option("--period-s", "period of all draws, default 15", type=number, metavar="S"),
    "rtt_ms": option("--rtt-ms", "base RTT", type=_range, metavar="LOW,HIGH"),
    "capacity_mbps": option("--capacity-mbps", "both ways", type=_range, metavar="LOW,HIGH"),
    "capacity_scale": option("--capacity-scale", "multiply starlink's capacity", type=number, metavar="X"),
    "max_loss": option("--max-loss", "loss uniform from 0 to this", type=number, metavar="P"),
    "outage_ms": option("--outage-ms", "outage at the end of every period", type=number, metavar="MS"),
    "outage_way": option("--outage-way", "default both; up is from → to", choices=["both", "up", "down"]),
    "extra_delay_ms": option("--extra-delay-ms", "one-way delay on top", type=_pair, metavar="UP,DOWN"),
    "extra_loss": option("--extra-loss", "loss per packet on top", type=_pair, metavar="UP,DOWN"),
    "capacity_share": option("--capacity-share", "factors on the capacity", type=_pair, metavar="UP,DOWN"),
    "terminal_at": option("--terminal-at", "end with starlink's dish, default to", choices=["from", "to"]),
    "loss": option("--loss", "loss per packet, default 0", type=number, metavar="P"),
    "loss_burst": option("--loss-burst", "Gilbert-Elliott bursts", metavar="MEAN,BURST_MS[,LOSS]"),
}
"""Each field's option and the keywords of its argument."""

_NAMED: dict[str, Callable[[str], Any]] = {
    **{
        field: keywords.get("type", str)
        for field, (_, keywords) in _OPTIONS.items()
        if field not in ("model", "seed", "capacity_scale", "terminal_at", "loss_burst")
    },
    "model": _terminal,
}
"""Parsers of the fields that a trace's name may set."""


class SynthSpec(Strict):
    """Parameters of a trace without an orbit. `leogym traces synth` has a flag for every field."""

    name: str
    """One of `PRESETS`."""
    seed: Annotated[int, Range(ge=0, lt=2**63)] = 0
    duration_s: Annotated[float, Range(gt=0, le=86_400)] = 300.0
    period_s: Annotated[float, Range(ge=1, le=86_400)] = 15.0
    """Period of all draws."""
    model: str | None = None
    """Parameters of a Starlink terminal: a name of `traces.capacity.terminal`, or a file."""
    rtt_ms: tuple[Positive, Positive] | None = None
    """Minimum and maximum base RTT, drawn uniformly; the one-way delay is half of it.
    A terminal has its own."""
    capacity_mbps: tuple[NonNegative, NonNegative] | None = None
    """Minimum and maximum capacity, both ways; a terminal has its own."""
    capacity_scale: Annotated[float, Range(ge=0.01, le=100)] = 1.0
    """Factor on a terminal's capacity."""
    max_loss: Probability = 0.0
    """Loss per packet, drawn uniformly from 0 to this."""
    outage_ms: NonNegative = 0.0
    """Outage at the end of every period, announced as a hard handover."""
    outage_way: Literal["both", "up", "down"] = "both"
    """The direction that is out; up is from → to."""
    extra_delay_ms: tuple[NonNegative, NonNegative] = (0.0, 0.0)
    """One-way delay on top, up and down."""
    extra_loss: tuple[Probability, Probability] = (0.0, 0.0)
    """Loss per packet on top, up and down."""
    capacity_share: tuple[Share, Share] = (1.0, 1.0)
    """Factors on the capacity up and down."""
    terminal_at: Literal["from", "to"] = "to"
    """The end with the terminal: ``to`` makes from → to a download."""
    loss: Probability = 0.0
    loss_burst: str | None = None

    @model_validator(mode="after")
    def _ranges(self) -> SynthSpec:
        if self.name not in PRESETS:
            raise ValueError(f"name: {self.name!r}: no such preset {suggest_names(self.name, PRESETS)}")
        for field, pair in (("rtt_ms", self.rtt_ms), ("capacity_mbps", self.capacity_mbps)):
            if pair is not None and not pair[0] <= pair[1] <= 1e4:
                raise ValueError(f"{field}: must be LOW,HIGH with LOW <= HIGH <= 10000")
        if self.is_starlink and (self.capacity_mbps is not None or self.max_loss or self.outage_ms):
            raise ValueError("capacity_mbps: starlink has its own capacity, loss and gaps")
        if self.outage_ms >= 1000 * self.period_s:
            raise ValueError("outage_ms: must be shorter than period_s")
        if self.outage_way != "both" and not self.outage_ms:
            raise ValueError("outage_way: needs outage_ms")
        if max(self.extra_delay_ms) > 1e3:
            raise ValueError("extra_delay_ms: must be at most 1000")
        if not self.is_starlink and self.terminal_at != "to":
            raise ValueError("terminal_at: only starlink has a terminal")
        if not self.is_starlink and self.capacity_scale != 1.0:
            raise ValueError("capacity_scale: only starlink has a capacity of its own")
        if self.is_starlink != (PRESETS[self.name].get("model") is not None):
            raise ValueError("model: only starlink has a terminal")
        if not self.is_starlink and self.rtt_ms is None:
            raise ValueError("rtt_ms: must be given")
        if self.loss_burst is not None:
            parse_loss_burst(self.loss_burst)
        return self

    @property
    def is_starlink(self) -> bool:
        """Whether the trace is a Starlink terminal's, with frames and reconfigurations."""
        return self.model is not None


def parse(fields: dict[str, Any], source: str) -> SynthSpec:
    """Return the spec with these fields (None means the preset's); raise InputError if one is invalid."""
    stated_fields = {field: value for field, value in fields.items() if value is not None}
    try:
        # Any preset's ranges will do for an unknown name, so the error reported is the name's.
        return SynthSpec.model_validate({**PRESETS.get(str(fields.get("name")), _STEPS), **stated_fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if not first["loc"]:
            raise InputError(f"{source}: {first['msg'].removeprefix('Value error, ')}") from None
        raise InputError(one_line(source, error)) from None


def named(text: str) -> SynthSpec | None:
    """Parse a trace name ``NAME[@SEED][:FIELD=VALUE…]``, or return None if NAME is no preset.

    Raises:
        InputError: the seed or a field is invalid.
    """
    called, *assignments = text.split(":")
    name, at, seed = called.partition("@")
    if name not in PRESETS:
        return None
    if at and not (seed.isdecimal() and seed.isascii()):
        raise InputError(f"{text}: trace: the seed after @ must be a non-negative integer")
    fields: dict[str, Any] = {"name": name, "seed": int(seed) if at else None}
    for assignment in assignments:
        field, equals, value = assignment.partition("=")
        if field not in _NAMED or not equals:
            raise InputError(f"{text}: trace: {assignment!r}: must be FIELD=VALUE (of {', '.join(_NAMED)})")
        try:
            fields[field] = _NAMED[field](value)
        except argparse.ArgumentTypeError as error:
            raise InputError(f"{text}: trace: {field}: {error}") from None
    return parse(fields, text)


def command(spec: SynthSpec) -> str:
    """Return the shortest command that builds ``spec``'s trace, without its output file."""
    preset = parse({"name": spec.name}, spec.name)
    words = [spec.name]
    for field, (flag, _) in _OPTIONS.items():
        value = getattr(spec, field)
        if value != getattr(preset, field):
            words += [flag, ",".join(f"{v:.12g}" for v in value) if isinstance(value, tuple) else f"{value}"]
    return leogym_command("traces", "synth", *words)


def models(spec: SynthSpec) -> dict[str, Model]:
    """Return a trace's models."""
    grid = Grid(round(spec.period_s * NS_PER_S))
    chosen: dict[str, Model] = {}
    if spec.is_starlink:
        chosen["capacity"] = Starlink(
            grid,
            spec.seed,
            terminal.load(str(spec.model)),
            terminal_at=spec.terminal_at,
            with_base=True,
            rtt_ms=spec.rtt_ms,
            scale=spec.capacity_scale,
        )
    else:
        chosen["capacity"] = UniformSteps(
            grid,
            spec.seed,
            capacity_mbps=spec.capacity_mbps or uniform_steps.CAPACITY_MBPS,
            rtt_ms=spec.rtt_ms,
            max_loss=spec.max_loss,
        )
    if spec.outage_ms:
        chosen["outages"] = Outages(grid, spec.outage_ms, spec.outage_way)
    apart = spec.extra_delay_ms, spec.extra_loss, spec.capacity_share
    if apart != ((0.0, 0.0), (0.0, 0.0), (1.0, 1.0)):
        chosen["directions"] = Directions(*apart)
    if spec.loss:
        chosen["loss"] = ConstantLoss(spec.loss)
    if spec.loss_burst is not None:
        chosen["loss_burst"] = GilbertElliott(parse_loss_burst(spec.loss_burst), spec.seed)
    return chosen


def reselections(spec: SynthSpec) -> dict[str, Any]:
    """Return the metadata that announces a trace's re-selections or outages."""
    phase_s = spec.period_s - spec.outage_ms / 1e3 if spec.outage_ms else 0.0
    slots = range(math.ceil((spec.duration_s - phase_s) / spec.period_s))
    times_s = [slot * spec.period_s + phase_s for slot in slots]
    kind = "hard" if spec.outage_ms else "reselection"
    return {
        "reattach_s": spec.period_s,
        "reattach_phase_s": phase_s,
        "handovers": [
            {"time_s": time_s, "kind": kind, "end": None, "predicted_s": time_s} for time_s in times_s
        ],
    }


def write(spec: SynthSpec, out: Path) -> int:
    """Write a trace to ``out`` atomically and return its number of rows; raise InputError if that fails."""
    chosen = models(spec)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "name": spec.name,
        "links": "synthetic",
        "duration_s": spec.duration_s,
        "period_s": spec.period_s,
        # Re-selections and handovers are announced; the steps of uniform-steps are not.
        **(reselections(spec) if spec.is_starlink or spec.outage_ms else {}),
        "command": command(spec),
        "seed": spec.seed,
        **{field: model.metadata() for field, model in chosen.items()},
        "provenance": "drawn by LeoGym from a model without an orbit; nothing in it is measured",
    }
    overlay = Overlay(list(chosen.values()), 1.0)
    end_ns, period_ns = round(spec.duration_s * NS_PER_S), round(spec.period_s * NS_PER_S)
    none, connected = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
    rows = 0
    with whole_file(out) as file:
        file.write(f"# {json.dumps(metadata)}\n{COLUMNS}\n")
        for start_ns in [*range(0, end_ns, period_ns), end_ns]:
            view = View(np.array([start_ns]), min(start_ns + period_ns, end_ns), lambda _: None)
            part = overlay.rows(view, none, connected, 0, "")
            file.write(part.text())
            rows += len(part.time_ns)
    return rows


def add(commands: Any) -> None:
    """Add the subcommand ``synth``."""
    parser = commands.add_parser(
        "synth",
        help="make a path trace without an orbit",
        examples=(
            "uniform-steps --rtt-ms 5,100 --out steps.csv",
            "starlink --duration 60 --out starlink.csv",
        ),
    )
    parser.add_argument("name", help=", ".join(PRESETS))
    for field, (flag, keywords) in _OPTIONS.items():
        parser.add_argument(flag, dest=field, **keywords)
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"default {DEFAULT_FOLDER}/NAME.csv")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status."""
    spec = parse({"name": arguments.name} | {field: getattr(arguments, field) for field in _OPTIONS}, "synth")
    with default_file(arguments.out, spec.name) as out:
        print(f"{out}: {write(spec, out)} rows")
    return 0


@contextmanager
def default_file(out: Path | None, name: str) -> Iterator[Path]:
    """Yield the file ``out``, or that of the trace ``name`` in `DEFAULT_FOLDER`, which is then created."""
    if out is not None:
        yield out
        return
    with output_folder.made(DEFAULT_FOLDER) as folder:
        yield folder / f"{name}.csv"
