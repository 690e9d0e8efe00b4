"""All formats: import, export, check, their help and the documentation use this list."""

from leogym.traces.formats import (
    hypatia,
    irtt,
    leoem,
    leoreplayer,
    mahimahi,
    netem_trace,
    ping_log,
    starlink_csv,
    wetlinks,
)
from leogym.traces.formats.format import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        mahimahi,
        leoreplayer,
        netem_trace,
        leoem,
        hypatia,
        starlink_csv,
        irtt,
        ping_log,
        wetlinks,
    )
}
READABLE = [name for name, form in FORMATS.items() if form.read]
WRITABLE = [name for name, form in FORMATS.items() if form.write]
CHECKABLE = [name for name, form in FORMATS.items() if form.check]


def taking(option: str) -> str:
    """Return the names of the formats that take an option of ``import``."""
    return ", ".join(name for name in READABLE if option in FORMATS[name].options)


def listing(verb: str) -> str:
    """Return a line per format that ``verb``, import or export, takes: its name, help and suffixes."""
    lines = []
    for name in READABLE if verb == "import" else WRITABLE:
        form = FORMATS[name]
        suffixes = f" ({', '.join(form.suffixes)})" if verb == "import" else ""
        lines.append(f"  {name:<13} {form.help}{suffixes}")
    return "\n".join(["formats:", *lines])
