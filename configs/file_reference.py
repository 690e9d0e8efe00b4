"""Writes the keys of suites, sweeps and samplers into a page: ``python -m configs.file_reference FILE``."""

import re
import sys
from pathlib import Path

from pydantic import BaseModel

from leogym.common.atomic import write_atomically
from leogym.configs import key_table
from leogym.configs.sampling import (
    AstraeaSampling,
    AuroraSampling,
    FlowMix,
    LeoSampling,
    MixtureSampling,
    NamedSampling,
    Part,
    TraceSampling,
)
from leogym.configs.suite import Compare, Quick, Spot, Suite, Value
from leogym.configs.sweep import EarlyStopping, Population, Search, Sweep

SUITE: dict[type[BaseModel], str] = {Suite: "", Quick: "quick", Spot: "spot", Compare: "compare"}
SWEEP: dict[type[BaseModel], str] = {
    Sweep: "",
    Search: "search.NAME",
    EarlyStopping: "early_stopping",
    Population: "population",
}
SAMPLERS: dict[type[BaseModel], str] = {
    FlowMix: "Keys of all samplers",
    AstraeaSampling: "astraea",
    LeoSampling: "leo",
    AuroraSampling: "aurora",
    TraceSampling: "traces",
    MixtureSampling: "mixture",
    Part: "parts[]",
    NamedSampling: "named",
}
"""Every model with its place in the file, or with its sampler's name."""
PLACES = SUITE | SWEEP | SAMPLERS

TABLES = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """Return the page with new tables of keys."""
    models = {"suite": SUITE, "sweep": SWEEP, "sampler": SAMPLERS}

    def tables(match: re.Match[str]) -> str:
        return match[1] + "\n".join(["", *map(_section, models[match[2]]), match[3]])

    return TABLES.sub(tables, text)


def _section(model: type[BaseModel]) -> str:
    """Return the table of a model under its heading; a sampler's leaves out what all samplers have."""
    place = PLACES[model]
    heading = place if " " in place else f"`{place}`" if place else f"Keys of a {model.__name__.lower()}"
    return key_table.section(model, f"### {heading}", PLACES | {Value: "value"})


if __name__ == "__main__":
    file = Path(sys.argv[1])
    write_atomically(file, page(file.read_text(encoding="utf-8")).encode())
