"""``leogym papers keep FOLDER``: reduce an evaluation to a few small files for a repository."""

import gzip
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import polars as pl
from matplotlib import rc_context
from matplotlib.lines import Line2D

from leogym.common.atomic import write_atomically
from leogym.common.command_line import OneLineParser, as_folder
from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.templates import environment
from leogym.results.figure_style import FAINT, INK, RC, canvas, looks
from studies.papers import suites as common
from studies.papers import table as claims
from studies.papers.paper import load
from studies.papers.verdicts import verdicts

PLACE = Path(__file__).parent / "results"
MOST_BYTES = 1_500_000
DIGITS = 5
"""Significant digits of kept numbers."""
SUMMARY, CLAIMS, EVALUATIONS = "summary.csv.gz", "claims.csv", "evaluations.csv"
TEXTS = "where", "says", "needs", "reason"
"""Columns of a claim that do not depend on results."""
FIGURE_ALT = "Power of each scheme relative to the best of each suite"


@dataclass(frozen=True)
class Kept:
    """The tables that are kept of one evaluation, or of several."""

    summary: pl.DataFrame
    claims: pl.DataFrame
    evaluations: pl.DataFrame
    """One row each: what was run, by which command, with which versions."""

    @classmethod
    def of(cls, results: Results) -> Self:
        """Reduce an evaluation."""
        beside = claims.table(verdicts(results), results.quick)
        return cls(rounded(results.summary), rounded(beside), _evaluation(results))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a folder that `keep` wrote.

        Raises:
            InputError: it is none.
        """
        try:
            return cls(
                pl.read_csv(folder / SUMMARY),
                pl.read_csv(folder / CLAIMS, schema=claims.SCHEMA),
                pl.read_csv(folder / EVALUATIONS),
            )
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{folder}: holds no kept results: {' '.join(str(error).split())}") from None

    def with_present_texts(self) -> Self:
        """Return the same results with the claims' texts as the papers' files have them now."""
        texts = pl.DataFrame(
            [
                {"paper": name, "claim": claim.id, **{text: getattr(claim, text) for text in TEXTS}}
                for name in self.claims["paper"].unique()
                for claim in load(name).claims
            ],
            schema={name: claims.SCHEMA[name] for name in ("paper", "claim", *TEXTS)},
        )
        written = self.claims.drop(TEXTS).join(
            texts, on=["paper", "claim"], how="left", maintain_order="left"
        )
        return replace(self, claims=written.select(*claims.SCHEMA))

    def with_newer(self, newer: Self) -> Self:
        """Return both, of a suite's scheme and of a claim that both have the newer.

        A claim of several suites stays unchanged unless the newer evaluation had all its suites.
        """
        suite_and_scheme = ["suite", "scheme"]
        decided = newer.claims.filter(pl.col("verdict") != "not run")
        return type(self)(
            pl.concat(
                [self.summary.join(newer.summary, on=suite_and_scheme, how="anti"), newer.summary]
            ).sort("suite", maintain_order=True),
            pl.concat([self.claims.join(decided, on=["paper", "claim"], how="anti"), decided]).sort(
                "paper", maintain_order=True
            ),
            pl.concat([self.evaluations, newer.evaluations]),
        )


def _evaluation(results: Results) -> pl.DataFrame:
    about = results.description
    row = {
        "suites": ", ".join(evaluated.name for evaluated in results.suites),
        "schemes": ", ".join(results.schemes),
        "runs": results.runs["run_id"].n_unique(),
        "command": about["command"],
        "commit": about["commit"] or "unknown",
        "seed": about["seed"],
        "date": about["date"],
        "platform": about["platform"],
        "versions": ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
    }
    return pl.DataFrame([row])


def keep(results: Results, folder: Path, *, add: bool = False) -> list[Path]:
    """Write the summary, claims, main figure and a page into ``folder``; return the files.

    ``add``: to the tables in ``folder``; this evaluation replaces rows that both have.
    """
    if results.quick:
        raise InputError(f"{results.folder}: was run with --quick: a look, not a result to keep")
    tables = Kept.of(results)
    if add:
        tables = Kept.read(folder).with_newer(tables).with_present_texts()
    suites = {evaluated.name: evaluated for evaluated in results.suites}
    here = [
        suites.get(name) or suite.load(name) for name in tables.summary["suite"].unique(maintain_order=True)
    ]
    power = relative_power(tables.summary, [evaluated.name for evaluated in here if evaluated.tests_schemes])
    files = {
        SUMMARY: gzip.compress(tables.summary.write_csv().encode(), mtime=0),
        CLAIMS: tables.claims.write_csv().encode(),
        EVALUATIONS: tables.evaluations.write_csv().encode(),
        "main.svg": figure(power).encode(),
        "README.md": page(tables).encode(),
    }
    if (size := sum(map(len, files.values()))) > MOST_BYTES:
        raise InputError(f"{results.folder}: {size:,} bytes to keep: more than {MOST_BYTES:,}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_atomically(folder / name, data)
    return [folder / name for name in files]


def renew_texts(folder: Path) -> Path:
    """Write the claims in ``folder`` with the papers' texts of now; return the file."""
    path = folder / CLAIMS
    write_atomically(path, Kept.read(folder).with_present_texts().claims.write_csv().encode())
    return path


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with numbers rounded to `DIGITS` significant digits: smaller, and exact enough."""
    return table.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS))


def relative_power(summary: pl.DataFrame, tested: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return each scheme's power by suite of ``tested``, as a share of the suite's best scheme.

    A suite's power is the geometric mean over its scenarios. Includes only suites where all of
    `common.TWELVE` have one; if some of these were not run, all schemes that ran in every suite.
    """
    power = summary.filter((pl.col("metric") == "power") & (pl.col("mean") > 0))
    means = power.group_by("suite", "scheme").agg(pl.col("mean").log().mean().exp(), pl.len())
    cells = {(suite, scheme): mean for suite, scheme, mean, _ in means.sort("suite").iter_rows()}
    ran = set(power["scheme"])
    schemes = [name for name in common.TWELVE if name in ran] or sorted(ran)
    shares: dict[str, dict[str, float]] = {name: {} for name in schemes}
    for tried in tested:
        of = {name: cells[tried, name] for name in schemes if (tried, name) in cells}
        if len(of) == len(schemes):
            for name, mean in of.items():
                shares[name][tried] = mean / max(of.values())
    return shares


def figure(power: Mapping[str, Mapping[str, float]]) -> str:
    """Return the main figure as SVG: a dot per suite, and each scheme's geometric mean over suites."""
    overall = {name: _geometric(list(of.values())) for name, of in power.items() if of}
    order = sorted(overall, key=lambda name: overall[name])
    look = looks(order)
    with canvas(7.2, 1.2 + 0.3 * len(order)) as (drawn, [axes]):
        for row, name in enumerate(order):
            shares = list(power[name].values())
            axes.plot(shares, [row] * len(shares), "o", color=FAINT, markeredgecolor="#9aa3ae", markersize=4)
            axes.plot(overall[name], row, look[name].marker, color=look[name].color, markersize=9, zorder=3)
            axes.annotate(
                f"{overall[name]:.2f}", (overall[name], row), (0, 8), textcoords="offset points", ha="center",
                fontsize=8,
            )  # fmt: skip
        axes.set_yticks(range(len(order)), order, color=INK)
        axes.set_ylim(-0.6, len(order) - 0.2)
        axes.set_xlim(0.0, 1.03)
        axes.set_xlabel("power, as a share of the best scheme's in each suite (1: best everywhere)")
        dot = Line2D(
            [], [], marker="o", color=FAINT, markeredgecolor="#9aa3ae", linestyle="", label="a suite"
        )
        mean = Line2D([], [], marker="D", color=INK, linestyle="", label="geometric mean over suites")
        axes.legend(handles=[dot, mean], loc="lower right")
        buffer = io.StringIO()
        # A white background, to be legible on dark pages.
        with rc_context({**RC, "svg.hashsalt": "main"}):
            drawn.savefig(
                buffer,
                format="svg",
                facecolor="white",
                metadata={"Date": None, "Creator": "LeoGym", "Title": FIGURE_ALT},
            )
    return buffer.getvalue()


def page(tables: Kept) -> str:
    """Return the page that describes the evaluations and the files."""
    template = environment(Path(__file__).parent, autoescape=False).get_template("keep.md.j2")
    sections = [
        (load(str(name)), claims.counted(rows["verdict"]))
        for (name,), rows in tables.claims.group_by(["paper"], maintain_order=True)
    ]
    imported = tables.claims["ours"].str.extract(r"(\w+)-authors").drop_nulls()
    first, *later = tables.evaluations.iter_rows(named=True)
    return template.render(
        first=first,
        later=later,
        sections=sections,
        authors=", ".join(sorted(set(imported))),
        alt=FIGURE_ALT,
        digits=DIGITS,
    )


def _geometric(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def run(arguments: Sequence[str]) -> int:
    """Run a command line."""
    parser = OneLineParser(
        prog="leogym papers keep",
        description="Reduce an evaluation to a few small files for a repository.",
        examples=("runs/papers", "runs/leo-orbit --add", "--texts"),
    )
    parser.add_argument("folder", type=as_folder, nargs="?", metavar="FOLDER", help="of an evaluation")
    parser.add_argument(
        "--to", type=as_folder, default=PLACE, metavar="DIR", help="default: studies/papers/results"
    )
    parser.add_argument(
        "--add", action="store_true", help="to what is kept there: replace what both have, leave the rest"
    )
    parser.add_argument(
        "--texts", action="store_true", help="only write the claims' sentences and reasons as they are now"
    )
    options = parser.parse_args(arguments)
    if options.texts == (options.folder is not None) or (options.texts and options.add):
        parser.error("give the FOLDER of an evaluation, or --texts alone")
    if options.texts:
        print(renew_texts(options.to))
        return 0
    for path in keep(Results.read(options.folder), options.to, add=options.add):
        print(path)
    return 0
