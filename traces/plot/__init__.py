"""Pictures of a path trace: a figure (PNG, SVG, PDF) or an animated globe (HTML)."""

from pathlib import Path

import leosim

from leogym.common.errors import InputError
from leogym.common.output_file import write_file
from leogym.traces.path.spec import PathSpec

FORMATS = ("png", "svg", "pdf", "html")


def save(trace: leosim.PathTrace, source: str, out: Path, spec: PathSpec | None = None) -> None:
    """Draw a trace into ``out``, atomically and in the format of its suffix.

    ``source`` is the trace's name or file. Without ``spec`` the picture has no chains. Raises InputError if
    the suffix is not in `FORMATS`, or the file cannot be written.
    """
    # Here, because the imports take time and few commands draw.
    from leogym.traces.plot import figure, globe
    from leogym.traces.plot.chains import chain_spans

    kind = out.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise InputError(f"--out: {out}: must end in {', '.join('.' + suffix for suffix in FORMATS)}")
    spans = [] if spec is None else chain_spans(spec)
    if kind == "html":
        write_file(out, globe.page(trace, source, spans).encode())
    else:
        write_file(out, figure.render(trace, source, spans, kind))
