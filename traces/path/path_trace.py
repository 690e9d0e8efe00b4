"""Write built paths as path traces: CSV, format version 2. `leosim.PathTrace` is the parser."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leogym.common import digests
from leogym.common.atomic import destination
from leogym.common.errors import InputError
from leogym.common.output_file import temporary_file
from leogym.traces.capacity.columns import COLUMNS, FORMAT, VERSION, plain_lines
from leogym.traces.orbit import constellation
from leogym.traces.orbit.earth import LIGHT_KM_PER_S
from leogym.traces.orbit.flown import iso
from leogym.traces.path import handover
from leogym.traces.path.announcement import ReportError
from leogym.traces.path.build import Builder, on_stderr
from leogym.traces.path.clock import Clock
from leogym.traces.path.command import canonical
from leogym.traces.path.conditions import Conditions
from leogym.traces.path.path import Block
from leogym.traces.path.spec import PathSpec

_PROVENANCE = (
    "computed by LeoGym: {} orbits over the WGS 72 Earth, every leg straight at the speed of light in vacuum"
)


@dataclass
class Summary:
    """Statistics of a trace, collected during writing."""

    rows: int = 0
    min_delay_ms: float = float("inf")
    max_delay_ms: float = 0.0
    hard_handovers: int = 0
    soft_handovers: int = 0
    down_s: float = 0.0
    """Time without connection: outages and unreachable spans."""
    off_grid_s: list[float] = field(default_factory=list)
    """Times of hard handovers between re-selections, because a satellite went out of reach."""
    handovers: list[dict[str, Any]] = field(default_factory=list)
    detour: str | None = None
    """A note if the greatest delay is far above that of the shortest route."""
    max_delay_at_s: float = 0.0
    _last: tuple[int, bool] = (0, True)

    def add(self, block: Block, clock: Clock, report: ReportError) -> None:
        """Add a block, which ends where the next one starts."""
        step_ns = clock.step_ms * 1_000_000
        last_ns, last_connected = self._last
        time_ns = np.concatenate([[last_ns], block.time_ns])
        connected = np.concatenate([[last_connected], block.connected[:-1]])
        self.down_s += float(np.diff(time_ns)[~connected].sum()) / 1e9
        self._last = (int(block.time_ns[-1]), bool(block.connected[-1]))
        self.rows += len(block.time_ns)
        self.min_delay_ms = min(self.min_delay_ms, float(block.delay_ns.min()) / 1e6)
        longest = int(np.argmax(block.delay_ns))
        if block.chain is not None and block.delay_ns[longest] / 1e6 > self.max_delay_ms:
            self.max_delay_at_s = float(block.time_ns[longest]) / 1e9
        self.max_delay_ms = max(self.max_delay_ms, float(block.delay_ns[longest]) / 1e6)
        if not block.event or block.event == handover.UNREACHABLE:
            return
        first_ns = int(block.time_ns[0])
        instant_ns = first_ns + clock.first_step * step_ns
        kind = "soft" if handover.is_soft(block.event) else "hard"
        self.soft_handovers += kind == "soft"
        self.hard_handovers += kind == "hard"
        phase_ns = clock.reattach_phase_steps * step_ns
        if kind == "hard" and (instant_ns - phase_ns) % (clock.reattach_steps * step_ns):
            self.off_grid_s.append(first_ns / 1e9)
        time_s = first_ns / 1e9
        self.handovers.append(
            {
                "time_s": time_s,
                "kind": kind,
                "end": block.side or None,
                "predicted_s": report.predicted_s(time_s, instant_ns),
            }
        )

    def __str__(self) -> str:
        # Without the last row, which ends the period: `leogym traces check` counts the same.
        return (
            f"{self.rows - 1} rows, delay {self.min_delay_ms:.3f} to {self.max_delay_ms:.3f} ms, "
            f"{self.hard_handovers} hard and {self.soft_handovers} soft handovers, "
            f"down for {self.down_s:.3f} s"
        )


def metadata(builder: Builder, summary: Summary, conditions: Conditions | None = None) -> dict[str, Any]:
    """Return the metadata of a trace. It does not depend on when or where the trace is built."""
    spec, clock = builder.spec, builder.clock
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": spec.name,
        "from": spec.from_site.model_dump(),
        "to": spec.to_site.model_dump(),
        "constellation": builder.constellation.name,
        "constellation_source": builder.constellation.source,
        "orbits": "SGP4" if builder.constellation.sgp4 else "circular two-body",
        **elements(builder),
        "altitude_km": round(builder.orbits.lowest_km(), 3),
        "links": spec.links,
        "attach": spec.attach,
        **({} if spec.delays == "straight" else {"delays": spec.delays}),
        "reattach_s": clock.reattach_steps * clock.step_ms / 1000,
        "reattach_phase_s": clock.reattach_phase_steps * clock.step_ms / 1000,
        "off_grid_handovers_s": summary.off_grid_s,
        "route_s": clock.route_steps * clock.step_ms / 1000,
        "min_elevation_deg": builder.min_elevation_deg if spec.max_slant_km is None else None,
        "max_slant_km": spec.max_slant_km,
        "step_ms": spec.step_ms,
        "epoch": iso(builder.epoch),
        "start_s": spec.start_s,
        "duration_s": spec.duration_s,
        "earth": "WGS 72",
        "light_km_per_s": LIGHT_KM_PER_S,
        "command": canonical(spec),
        "seed": spec.seed,
        **({} if conditions is None else conditions.metadata()),
        "report_error": spec.report_error,
        "handovers": summary.handovers,
        "provenance": _PROVENANCE.format("SGP4" if builder.constellation.sgp4 else "circular two-body"),
    }


def elements(builder: Builder) -> dict[str, Any]:
    """Return what identifies the catalogued satellites of a trace; empty for shells."""
    satellites, file = builder.constellation.catalogue, builder.constellation.file
    if satellites is None or file is None:
        return {}
    epochs = sorted(own.epoch for own in satellites.satellites)
    return {
        "elements": {
            "sha256": digests.sha256(file),
            "satellites": len(epochs),
            "first_epoch": iso(epochs[0]),
            "last_epoch": iso(epochs[-1]),
        }
    }


def require_elements(stated: Any, spec: PathSpec) -> None:
    """Raise InputError unless the constellation of ``spec`` has the elements that a trace's metadata state.

    ``stated`` is the value of ``elements`` there, see `elements`; None for shells.
    """
    if not isinstance(stated, dict):
        return
    file = constellation.load(spec.constellation).file
    if file is None or digests.sha256(file) != stated.get("sha256"):
        raise InputError(f"{file or spec.constellation}: has other elements than the trace was built from")


def rows_text(block: Block, capacity_mbps: float) -> str:
    """Return the CSV lines of a block."""
    rows = len(block.time_ns)
    events = [block.event, *[""] * (rows - 1)]
    path_id = np.full(rows, block.path_id)
    return plain_lines(block.time_ns, block.delay_ns, block.connected, path_id, events, capacity_mbps)


def write(
    spec: PathSpec,
    out: Path,
    advance: Callable[[float], None] = lambda _: None,
    noted: Callable[[str], None] = on_stderr,
) -> Summary:
    """Build a path and write it to ``out`` atomically.

    Rows first go to a temporary file, because the metadata in the first line depends on them. ``advance`` is
    called with the seconds of the path that were just built, ``noted`` as by `Builder`.

    Raises:
        InputError: the folder cannot be written, or the path cannot be built.
    """
    builder = Builder(spec, noted)
    conditions = None if spec.plain else Conditions(builder)
    summary, report = Summary(), ReportError(spec.report_error, spec.seed)
    try:
        target = destination(out)
        with temporary_file(target, ".rows") as rows, temporary_file(target, ".whole") as whole:
            for block in builder.blocks():
                summary.add(block, builder.clock, report)
                text = rows_text(block, spec.capacity_mbps) if conditions is None else conditions.add(block)
                rows.write(text)
                advance(len(block.time_ns) * spec.step_ms / 1000)
            summary.detour = builder.detour(summary.max_delay_ms, summary.max_delay_at_s)
            if conditions is not None:
                rows.write(conditions.end())
                summary.rows, summary.down_s = conditions.rows, conditions.down_s
                summary.max_delay_ms = conditions.max_delay_ms
            whole.write(f"# {json.dumps(metadata(builder, summary, conditions))}\n{COLUMNS}\n")
            rows.seek(0)
            while part := rows.read(1 << 20):
                whole.write(part)
            whole.flush()
            os.fsync(whole.fileno())
            os.replace(whole.name, target)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    return summary
