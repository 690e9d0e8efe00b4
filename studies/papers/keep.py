"""``leogym papers keep FOLDER``: reduce an evaluation to a few small files for a repository."""

import gzip
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import polars as pl
from matplotlib import rc_context
from matplotlib.lines import Line2D

from leogym.common.atomic import write_atomically
from leogym.common.command_line import OneLineParser, as_folder
from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.configs.suite import Suite
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.templates import environment
from leogym.results.figure_style import FAINT, INK, RC, canvas, looks
from studies.papers import kept_verdicts
from studies.papers import suites as common
from studies.papers import table as claims
from studies.papers.claim import AUTHORS, LEARNED
from studies.papers.independent import independent
from studies.papers.kinds import Ordering
from studies.papers.paper import load
from studies.papers.verdicts import Verdict, verdicts

PLACE = Path(__file__).parent / "results"
MOST_BYTES = 1_500_000
DIGITS = 5
"""Significant digits of kept numbers."""
SUMMARY, CLAIMS, EVALUATIONS = "summary.csv.gz", "claims.csv", "evaluations.csv"
INTERVALS = "values.csv"
TEXTS = "where", "says", "needs", "reason", "headline"
"""Columns of a claim that do not depend on results."""
FIGURE_ALT = "Power of each scheme relative to the best of each suite"


@dataclass(frozen=True)
class Kept:
    """The tables that are kept of one evaluation, or of several."""

    summary: pl.DataFrame
    claims: pl.DataFrame
    values: pl.DataFrame
    """A claim's intervals, by which a changed region can judge it again; none of orderings."""
    evaluations: pl.DataFrame
    """One row each: what was run, by which command, with which versions."""

    @classmethod
    def of(cls, results: Results) -> Self:
        """Reduce an evaluation."""
        judged = verdicts(results)
        return cls(
            rounded(results.summary),
            rounded(claims.table(judged, results.quick)),
            rounded(_values(judged)),
            _evaluation(results),
        )

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
                pl.read_csv(folder / INTERVALS, schema=kept_verdicts.VALUES),
                pl.read_csv(folder / EVALUATIONS),
            )
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"{folder}: holds no kept results: {' '.join(str(error).split())}") from None

    def judged_again(self) -> Self:
        """Return the same results with every claim of the papers' files as they are now, judged by them."""
        judged = kept_verdicts.judge_again(self.claims, self.values, self.summary)
        rows = [
            claims.row(verdict, quick=False) if isinstance(verdict, Verdict) else _with_present_texts(verdict)
            for verdict in judged
        ]
        new = [verdict for verdict in judged if isinstance(verdict, Verdict)]
        return replace(
            self,
            claims=rounded(pl.DataFrame(rows, schema=claims.SCHEMA)),
            values=rounded(_values(new)),
        )

    def with_newer(self, newer: Self) -> Self:
        """Return both, of a suite's scheme that both have the one with more runs, or else the newer.

        A claim is the newer evaluation's if that decides it, unless the older one has decided what it
        measures now with more runs. A claim of several suites stays unchanged unless the newer evaluation had
        all its suites.
        """
        suite_and_scheme = ["suite", "scheme"]
        runs = [
            table.group_by(suite_and_scheme).agg(pl.col("n").max()) for table in (self.summary, newer.summary)
        ]
        fewer = (
            runs[1]
            .join(runs[0], on=suite_and_scheme, suffix="_before")
            .filter(pl.col("n") < pl.col("n_before"))
        )
        summary = newer.summary.join(fewer, on=suite_and_scheme, how="anti")
        with_fewer_runs = set(fewer.select(suite_and_scheme).iter_rows())
        same_claim = ["paper", "claim"]
        before = {
            (row["paper"], row["claim"]): row["digest"]
            for row in self.claims.iter_rows(named=True)
            if row["verdict"] != "not run"
        }
        better = [
            row["verdict"] != "not run"
            and not (
                before.get((row["paper"], row["claim"])) == row["digest"]
                and any((row["suite"], scheme) in with_fewer_runs for scheme in row["schemes"].split(","))
            )
            for row in newer.claims.iter_rows(named=True)
        ]
        decided = newer.claims.filter(pl.Series(better, dtype=pl.Boolean))
        decided_values = newer.values.join(decided, on=same_claim, how="semi")
        return type(self)(
            pl.concat([self.summary.join(summary, on=suite_and_scheme, how="anti"), summary]).sort(
                "suite", maintain_order=True
            ),
            pl.concat([self.claims.join(decided, on=same_claim, how="anti"), decided]).sort(
                "paper", maintain_order=True
            ),
            pl.concat([self.values.join(decided, on=same_claim, how="anti"), decided_values]),
            pl.concat([self.evaluations, newer.evaluations]),
        )


def _with_present_texts(row: dict[str, Any]) -> dict[str, Any]:
    [claim] = [claim for claim in load(row["paper"]).judged if claim.id == row["claim"]]
    texts = {text: getattr(claim, text) for text in TEXTS}
    return row | texts | {"independent": claim.id in independent(row["paper"])}


def _values(judged: Sequence[Verdict]) -> pl.DataFrame:
    rows = [
        {
            "paper": verdict.paper.name,
            "claim": verdict.claim.id,
            "label": value.label,
            "mean": value.interval.mean,
            "ci_low": None if math.isnan(value.interval.low) else value.interval.low,
            "ci_high": None if math.isnan(value.interval.high) else value.interval.high,
        }
        for verdict in judged
        if not isinstance(verdict.claim, Ordering)
        for value in verdict.ours
    ]
    return pl.DataFrame(rows, schema=kept_verdicts.VALUES)


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
        tables = Kept.read(folder).with_newer(tables)
    return write(tables.judged_again(), folder, results.suites)


def write(tables: Kept, folder: Path, evaluated: Sequence[Suite] = ()) -> list[Path]:
    """Write tables, figure and page into ``folder``; return the files.

    ``evaluated``: the suites as they ran, of which others than the shipped ones may be.
    """
    suites = {ran.name: ran for ran in evaluated}
    here = [
        suites.get(name) or suite.load(name) for name in tables.summary["suite"].unique(maintain_order=True)
    ]
    power = relative_power(tables.summary, [ran.name for ran in here if ran.tests_schemes])
    files = {
        SUMMARY: gzip.compress(tables.summary.write_csv().encode(), mtime=0),
        CLAIMS: tables.claims.write_csv().encode(),
        INTERVALS: tables.values.write_csv().encode(),
        EVALUATIONS: tables.evaluations.write_csv().encode(),
        "main.svg": figure(power).encode(),
        "README.md": page(tables).encode(),
    }
    if (size := sum(map(len, files.values()))) > MOST_BYTES:
        raise InputError(f"{folder}: {size:,} bytes to keep: more than {MOST_BYTES:,}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_atomically(folder / name, data)
    return [folder / name for name in files]


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with numbers rounded to `DIGITS` significant digits: smaller, and exact enough."""
    return table.with_columns(pl.col(pl.Float64).round_sig_figs(DIGITS))


def relative_power(summary: pl.DataFrame, tested: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return each scheme's power by suite of ``tested``, as a share of the suite's best scheme.

    A suite's power is the geometric mean over its scenarios. Includes only suites where all of
    `common.TWELVE` have one; if some of these were not run, all schemes that ran in every suite. Schemes with
    the authors' weights have a share of the suites in which they ran.
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
            of |= {
                name + AUTHORS: cells[tried, name + AUTHORS]
                for name in schemes
                if (tried, name + AUTHORS) in cells
            }
            for name, mean in of.items():
                shares.setdefault(name, {})[tried] = mean / max(of.values())
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
        # Above the axes: no place inside is free of dots.
        axes.legend(handles=[dot, mean], loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
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
        for (name,), rows in claims.own(tables.claims).group_by(["paper"], maintain_order=True)
    ]
    imported = tables.claims["ours"].str.extract(r"(\w+)-authors").drop_nulls()
    first, *later = tables.evaluations.iter_rows(named=True)
    return template.render(
        first=first,
        later=later,
        sections=sections,
        authors=", ".join(sorted(set(imported))),
        absent=", ".join(name for name in LEARNED if name not in set(imported)),
        headline=claims.counted(tables.claims.filter(pl.col("headline"))["verdict"]),
        independent=claims.counted(tables.claims.filter(pl.col("independent"))["verdict"]),
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
        examples=("runs/papers", "runs/leo-orbit --add", "--judge"),
    )
    parser.add_argument("folder", type=as_folder, nargs="?", metavar="FOLDER", help="of an evaluation")
    parser.add_argument(
        "--to", type=as_folder, default=PLACE, metavar="DIR", help="default: studies/papers/results"
    )
    parser.add_argument(
        "--add", action="store_true", help="to what is kept there: replace what both have, leave the rest"
    )
    parser.add_argument(
        "--judge", action="store_true", help="only judge what is kept by the claims as they are now"
    )
    options = parser.parse_args(arguments)
    if options.judge == (options.folder is not None) or (options.judge and options.add):
        parser.error("give the FOLDER of an evaluation, or --judge alone")
    if options.judge:
        files = write(Kept.read(options.to).judged_again(), options.to)
    else:
        files = keep(Results.read(options.folder), options.to, add=options.add)
    for path in files:
        print(path)
    return 0
