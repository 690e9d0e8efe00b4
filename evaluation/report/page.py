"""``report.html``: one offline file with tables, figures, explanations and provenance."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import polars as pl
from markupsafe import Markup

from leogym.common import yaml_text
from leogym.common.atomic import write_atomically
from leogym.common.command_line import leogym_command
from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from leogym.evaluation.fidelity import spot
from leogym.evaluation.fidelity.bounds import BEYOND
from leogym.evaluation.fidelity.summary import Fidelity, kernel, of_results
from leogym.evaluation.figures import figure_module
from leogym.evaluation.recorded import warnings
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import drawing, first_screen, packing, path_maps, ranking, time_series, training
from leogym.evaluation.report.section import FigureName, MakeSection, Section
from leogym.evaluation.report.tables import table
from leogym.evaluation.report.templates import environment
from leogym.results import figure_style
from leogym.results.intervals import RESAMPLES
from leogym.results.metrics import METRICS, ORACLE_SHARE, SHARED

TEMPLATES = Path(__file__).parent / "templates"
PARTS = ("figures", "table", "study")
"""Parts of a suite's section that grow with the number of runs."""
LEFT_OUT = {
    "figures": "<p class=facts>The page has no room for these figures: <code>figures/</code> has them.</p>",
    "table": "<p class=facts>The page has no room for this table: <code>summary.csv</code> has it.</p>",
}
QUICK = "quick: a look, not a result"


@dataclass(frozen=True)
class FigureGroup:
    """A suite's figures of one kind, as inline SVG."""

    kind: str
    title: str
    caption: str
    panels: list[str]
    columns: int
    """Panels per row; 0: as many as fit."""


@dataclass(frozen=True)
class Prepared:
    """Slow parts of a page, made before it is rendered: simulations, series and maps."""

    distances: list[Fidelity]
    spots: dict[str, spot.SpotCheck | None]
    charts: dict[str, time_series.Explorer]
    maps: str

    @classmethod
    def of(cls, results: Results) -> Self:
        """Prepare an evaluation's page."""
        return cls(
            of_results(results),
            {suite.name: spot.of_suite(suite.name) for suite in results.suites},
            time_series.explorers(results),
            path_maps.maps(results) if any(suite.figures for suite in results.suites) else "",
        )


def write(results: Results, make_section: MakeSection | None = None) -> Path:
    """Write the CSV tables, ``figures/`` and ``report.html`` into the folder; return the report's path.

    ``make_section`` adds a study's files and its section of the report.
    """
    folder = results.folder
    summary = results.summary.with_columns(pl.lit(results.quick).alias("quick"))
    write_atomically(folder / "summary.csv", summary.write_csv().encode())
    places = ranking.ranking(results)
    write_atomically(folder / "ranking.csv", ranking.table(places, results.quick).write_csv().encode())
    with drawing.begun(results) as drawn:
        study = None if make_section is None else make_section(results)
        prepared = Prepared.of(results)
        groups = write_figures(results, drawn, study.figures if study else {})
    path = folder / "report.html"
    write_atomically(path, render(results, groups, study, places, prepared).encode())
    return path


def write_figures(
    results: Results,
    drawn: Iterable[tuple[Suite, str, list[drawing.Drawn]]],
    figure_names: Mapping[str, FigureName],
) -> dict[str, list[FigureGroup]]:
    """Write all panels to ``figures/`` and delete earlier ones there; return the page's figures by suite."""
    folder = results.folder / "figures"
    folder.mkdir(exist_ok=True)
    groups: dict[str, list[FigureGroup]] = {suite.name: [] for suite in results.suites}
    written = set()
    for suite, kind, panels in drawn:
        name = figure_names.get(suite.name)
        for panel in panels:
            file = f"{f'{name.file}--' if name else ''}{panel.name}.svg"
            write_atomically(folder / file, panel.svg.encode())
            written.add(file)
        if panels:
            module, inline = figure_module(kind), [panel.inline for panel in panels]
            title = f"{module.TITLE} ({name.title})" if name else module.TITLE
            groups[suite.name].append(FigureGroup(kind, title, module.CAPTION, inline, columns_of(panels)))
    for stale in folder.glob("*.svg"):
        if stale.name not in written and figure_style.is_own(stale.read_bytes()):
            stale.unlink()
    return groups


def columns_of(panels: Sequence[figure_style.Panel | drawing.Drawn]) -> int:
    """Return the length of all rows of panels if it is equal and 2 or 3, else 0."""
    lengths = set(Counter(panel.row for panel in panels if panel.row).values())
    return lengths.pop() if lengths in ({2}, {3}) else 0


def render(
    results: Results,
    groups: dict[str, list[FigureGroup]],
    study: Section | None,
    places: list[ranking.Place],
    prepared: Prepared,
) -> str:
    """Return the report's HTML; ``places`` is the power ranking."""
    looks = figure_style.looks(results.schemes)
    distances, charts, maps = prepared.distances, prepared.charts, prepared.maps
    headline_names = {metric.name for suite in results.suites for metric in results.headline(suite)}
    used = [metric for metric in (*METRICS.values(), ORACLE_SHARE) if metric.name in headline_names]
    sections = [section(results, suite, groups, prepared, study) for suite in results.suites]
    page = partial(
        environment(TEMPLATES).get_template("page.html.j2").render,
        results=results,
        title=_title(results.schemes),
        places=places,
        leads=first_screen.leads_by_suite(results),
        badges=first_screen.badges(results, distances, study),
        counts=first_screen.counts(results),
        suites=sections,
        metrics=used,
        study=study,
        maps=Markup(maps),
        training=training.panels(results.description, looks),
        plotly=Markup(packing.plotly()) if charts or maps else "",
        fidelity=distances,
        fidelity_command=leogym_command("fidelity", "--runs"),
        beyond=BEYOND,
        kernel=kernel() if distances else "",
        looks=looks,
        about=results.description["config"]["schemes"],
        description=results.description,
        quick=QUICK if results.quick else "",
        quick_panels=drawing.QUICK_PANELS,
        seeds=_seeds(results),
        resamples=RESAMPLES,
        light=figure_style.css_variables(dark=False),
        dark=figure_style.css_variables(dark=True),
    )
    parts = [
        part for index, suite_section in enumerate(sections) for part in _parts(suite_section, looks, index)
    ]
    for suite_section in sections:
        suite_section["parts"] = dict.fromkeys(PARTS, "")
    room = packing.MOST_BYTES - len(page(packed=True).encode())
    for index, text in enumerate(packing.placed(parts, room)):
        sections[index // len(PARTS)]["parts"][PARTS[index % len(PARTS)]] = text
    return page(
        packed=any(
            'class="packed"' in text for suite_section in sections for text in suite_section["parts"].values()
        )
    )


def section(
    results: Results,
    suite: Suite,
    groups: dict[str, list[FigureGroup]],
    prepared: Prepared,
    study: Section | None,
) -> dict[str, Any]:
    """Return the template's values for a suite's section."""
    chart = prepared.charts.get(suite.name)
    return {
        "suite": suite,
        "metrics": results.headline(suite),
        "shared": SHARED if results.shared(suite) else "",
        "tables": [
            {
                "scenario": scenario,
                "rows": table(results, suite, scenario),
                "starved": warnings.starved_in(results, suite.name, scenario),
            }
            for scenario in results.scenarios(suite.name)
        ],
        "figures": [group for group in groups[suite.name] if not (chart and group.kind in time_series.KINDS)],
        "explorer": chart,
        "command": command_of(results, suite),
        "study": "" if study is None else study.in_suites.get(suite.name, ""),
        "size": _size(results, suite),
        "warnings": warnings.lines_of_suite(results, suite.name),
        "spot": prepared.spots[suite.name],
        "config": yaml_text.dump(suite.model_dump(mode="json"), allow_unicode=True),
    }


def _parts(
    suite_section: dict[str, Any], looks: dict[str, figure_style.Look], number: int
) -> list[packing.Part]:
    texts = [
        suite_section["study"]
        if name == "study"
        else environment(TEMPLATES)
        .get_template(f"{name}.html.j2")
        .render(suite_section=suite_section, looks=looks, number=number)
        for name in PARTS
    ]
    return [packing.Part(text, LEFT_OUT.get(name, "")) for name, text in zip(PARTS, texts, strict=True)]


def _title(schemes: list[str]) -> str:
    if len(schemes) == 1:
        return f"How {schemes[0]} performs"
    if len(schemes) > 4 or len("".join(schemes)) > 60:
        return f"How {len(schemes)} schemes compare"
    return f"How {', '.join(schemes[:-1])} and {schemes[-1]} compare"


def _size(results: Results, suite: Suite) -> dict[str, Any]:
    mine = results.runs.filter(results.runs["suite"] == suite.name)
    return {
        "runs": mine["run_id"].n_unique(),
        "scenarios": mine["scenario"].n_unique(),
        "contests": mine["run_scheme"].n_unique(),
        "repeats": mine["repeat"].n_unique(),
        "backends": ", ".join(sorted(mine["backend"].unique())),
    }


def _seeds(results: Results) -> list[dict[str, Any]]:
    keys = ["suite", "scenario", "repeat", "seed", "offset_s"]
    return results.runs.select(keys).unique().sort(keys).to_dicts()


def command_of(results: Results, suite: Suite) -> str:
    """Return the command line that runs a suite alone as before; the user's policies keep their folders."""
    words = _arguments(str(results.description["command"]))
    config = results.description["config"]
    name = suite.name
    if name not in suites.shipped() and suite.source != f"configs/scenarios/{name}.yaml":
        # Use the path of a user's file from the command; a scenario file's suite has it as source.
        files = [word for word in [*words, suite.source] if word.endswith((".yaml", ".yml"))]
        named = [word for word in files if Path(word).stem == name]
        name = (named or (files if len(files) == 1 else []) or [name])[0]
    options: list[str] = []
    if "--schemes" in words[:-1]:
        options += ["--schemes", words[words.index("--schemes") + 1]]
    elif suite.tests_schemes:
        options += ["--schemes", ",".join(_tested(results, suite))]
    if (backend := config.get("backend", "simulator")) != "simulator":
        options += ["--backend", str(backend)]
    if config.get("repeats"):
        options += ["--repeats", str(config["repeats"])]
    options += [f"--{name}" for name in ("quick", "spot") if config.get(name)]
    if (seed := results.description["seed"]) != 1:
        options += ["--seed", str(seed)]
    return leogym_command("evaluate", name, *options)


def _arguments(command: str) -> list[str]:
    """Return a command's words, with ``--name=value`` as two."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]


def _tested(results: Results, suite: Suite) -> list[str]:
    ran = set(results.runs.filter(pl.col("suite") == suite.name)["run_scheme"])
    return [scheme for scheme in results.schemes if scheme in ran]
