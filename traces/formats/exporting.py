"""Export path traces as folders of other tools, with a sidecar for values that a format cannot express."""

import json
import shutil
import tempfile
from pathlib import Path

from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError
from leogym.common.output_file import whole_file
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import Export
from leogym.traces.formats.mahimahi import SIDECAR
from leogym.traces.formats.registry import FORMATS
from leogym.traces.path import cache


def export(name_or_file: str, kind: str, out: Path) -> list[str]:
    """Write a path trace in another format into the folder ``out``, atomically.

    Returns:
        One line per written file.

    Raises:
        InputError: the trace cannot be read or expressed, or ``out`` is not empty or cannot be written.
    """
    form = FORMATS[kind]
    assert form.write is not None, f"{kind} cannot be written"
    path = cache.file(name_or_file)
    data = cache.read_bytes(path)
    trace = cache.parse(data, str(path))
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out}: --out: must be a new or empty folder")
    series = rows.from_trace(trace)
    sidecar = {
        "format": f"leogym-export-{kind}",
        "version": 1,
        "command": leogym_command("traces", "export", name_or_file, "--format", kind, "--out", "DIR"),
        "trace": json.loads(trace.metadata),
        "trace_sha256": cache.sha256(name_or_file),
        "period_s": series.period_ns / 1e9,
    }
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    job = Export(series, str(path), folder, sidecar)
    try:
        form.write(job)
        job.sidecar["not_expressed"] = job.not_expressed
        with whole_file(folder / SIDECAR) as file:
            file.write(json.dumps(job.sidecar, indent=1) + "\n")
        job.contents[SIDECAR] = "; ".join(job.not_expressed)
        folder.chmod(0o755)
        if out.exists():
            out.rmdir()
        folder.rename(out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"{out / name}: {content}" for name, content in job.contents.items()]
