"""Import other tools' files as path traces, with metadata and notes for the user."""

from pathlib import Path

import numpy as np

from leogym.common.output_file import whole_file
from leogym.common.units import NS_PER_MS
from leogym.traces.formats import announced, mahimahi, plausible
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Fault, Format, Import, Options
from leogym.traces.formats.registry import FORMATS
from leogym.traces.formats.series import Series
from leogym.traces.formats.tally import Tally

_FAULTS_IN_WARNINGS = 20
_RANGES_IN_WARNING = 12


def read(path: Path, name: str, options: Options) -> tuple[Series, Import]:
    """Read a file of the format ``name``, or an exported folder.

    Returns:
        Rows, and the import with its metadata, notes and faults.

    Raises:
        InputError: the file is not valid, or an option is missing.
    """
    form = FORMATS[name]
    assert form.read is not None, f"{name} cannot be imported"
    altitude_km = form.altitude_km if options.altitude_km is None else options.altitude_km
    job = Import(
        path,
        options,
        options.bin_ms or form.bin_ms,
        Tally(form.samples),
        plausible.least_rtt_ns(altitude_km),
    )
    series = form.read(job)
    if "terminal_at" in form.options:
        job.metadata["terminal_at"] = options.terminal_at
        series = series.turned() if options.terminal_at == "to" else series
    job.notes += job.tally.notes(path)
    series, raised = rows.without_overtaking(series)
    if raised:
        job.notes.append(
            f"{raised} of {len(series.time_ns)} delays raised so that no packet overtakes an earlier one"
        )
        job.metadata["raised_delays"] = raised
    if "handovers" not in job.metadata:  # the reader of a format that marks changes has announced them
        exported = announced.of_export(mahimahi.read_sidecar(path)) if path.is_dir() else {}
        if exported and options.reattach == announced.DETECTED:
            job.metadata |= exported
        else:
            announcements, notes = announced.of_series(series, options.reattach)
            job.metadata |= announcements
            job.notes += notes
    return series, job


def line_ranges(lines: list[int], limit: int = _RANGES_IN_WARNING) -> str:
    """Format the first ``limit`` ranges of ascending line numbers, such as ``1-3, 7``."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and line <= ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(texts[:limit]) + (", …" if len(texts) > limit else "")


def _fault_warnings(form: Format, faults: list[Fault], path: Path, listing: Path | None) -> list[str]:
    """Return a warning per kind of fault, with its lines, and the name of the file that lists them all."""
    warnings = []
    for kind, description in form.fault_kinds.items():
        of_kind = [fault for fault in faults if fault.kind == kind]
        if of_kind:
            limit = _RANGES_IN_WARNING if listing else len(of_kind)
            lines = line_ranges([fault.line for fault in of_kind], limit)
            warnings.append(
                f"{path}: {len(of_kind)} rows with {description}: lines {lines}; the first: {of_kind[0].rule}"
            )
    if listing is not None:
        warnings.append(f"{path}: {listing.name} lists all of them")
    return warnings


def import_file(path: Path, name: str, options: Options, command: str, out: Path) -> tuple[str, list[str]]:
    """Convert another tool's file to a path trace.

    Returns:
        A summary and warnings.

    Raises:
        InputError: the file is not valid, or ``out`` cannot be written.
    """
    series, job = read(path, name, options)
    many = len(job.faults) > _FAULTS_IN_WARNINGS
    listing = out.with_name(f"{out.name}.faults.csv") if many else None
    warnings = [*job.notes, *_fault_warnings(FORMATS[name], job.faults, path, listing)]
    metadata = {
        "name": path.stem,
        "from": None,
        "to": None,
        "constellation": None,
        "step_ms": None,
        "command": command,
        "seed": 0,
        "provenance": f"imported from {path.name} ({name})",
        "notes": warnings,
        **job.metadata,
    }
    rows.write(series, metadata, out)
    if listing is not None:
        with whole_file(listing) as file:
            file.write("line,kind,field,rule\n")
            file.writelines(
                f'{fault.line},{fault.kind},{fault.field},"{fault.rule}"\n' for fault in job.faults
            )
    down_s = float((series.end_ns - series.time_ns)[~series.usable].sum()) / 1e9
    delays = np.concatenate([series.up.delay_ns, series.down.delay_ns]) / NS_PER_MS
    return (
        f"{out}: {len(series.time_ns)} rows over {series.period_ns / 1e9:g} s, "
        f"delay {delays.min():.3f} to {delays.max():.3f} ms, down for {down_s:.3f} s"
    ), warnings
