"""The declaration of a format in its module: name and help, its options, its reader and its writer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leogym.common.errors import InputError
from leogym.traces.formats.announced import DETECTED, ReattachOptions
from leogym.traces.formats.series import Series
from leogym.traces.formats.tally import Tally

REATTACH_OPTIONS = ("reattach_s", "reattach_phase_s")  # of all formats
PROBE_OPTIONS = ("terminal_at", "uplink", "downlink", "capacity_mbps", "bin_ms", "altitude_km")


@dataclass(frozen=True)
class Options:
    """Options of an import, for values that the file does not state."""

    uplink: Path | None = None
    downlink: Path | None = None
    pings: Path | None = None  # WetLinks' net_ping.csv
    delay_ms: float | None = None
    capacity_mbps: float = 100.0
    bin_ms: int | None = None
    columns: str | None = None
    terminal_at: str = "to"  # the user's end, from which up and down are seen
    altitude_km: float | None = None  # of the lowest satellite; by default that of the format
    reattach: ReattachOptions = DETECTED


@dataclass(frozen=True)
class Fault:
    """A violation of physics, or of the file's own claims, in a line."""

    line: int
    kind: str  # a key of `Format.fault_kinds`
    field: str
    rule: str


@dataclass
class Import:
    """An import under way: the file and its options, and the reader's report besides the rows."""

    path: Path
    options: Options
    bin_ms: int
    tally: Tally
    floor_ns: float
    """RTTs below it are not measured."""
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


@dataclass
class Export:
    """An export under way: rows, their source for messages, and the writer's report on the folder."""

    series: Series
    source: str
    folder: Path
    sidecar: dict[str, Any]
    contents: dict[str, str] = field(default_factory=dict)
    """What each written file holds, by its name."""
    not_expressed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Format:
    """A format of another tool."""

    name: str
    help: str
    suffixes: tuple[str, ...] = ()
    """Of the files that `read` takes."""
    read: Callable[[Import], Series] | None = None
    write: Callable[[Export], None] | None = None
    check: Callable[[Path], tuple[int, list[Fault]]] | None = None
    """Return a file's number of rows, and its faults."""
    fault_kinds: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    """Fields of `Options` that apply, besides `REATTACH_OPTIONS`."""
    samples: str = "samples"
    """What a file holds, in the plural."""
    bin_ms: int = 100
    """Default length of a row."""
    altitude_km: float = 0.0
    """The lowest satellite's, if the format names the constellation."""


def exported_files(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Return the files of an exported folder; raise InputError if one is missing."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: file: has no {missing[0]}: not an exported folder")
    return [folder / name for name in names]
