"""An evaluation's folder read back: the only source of figures and report."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import polars as pl

from leogym.configs import suite
from leogym.configs.scenario import Scenario
from leogym.configs.suite import Suite
from leogym.evaluation.recorded import description as run_json
from leogym.evaluation.recorded import invalid
from leogym.evaluation.recorded.damage import DamagedError
from leogym.evaluation.recorded.series import (
    KINDS,
    difference,
    files_of,
    key_of,
    read_table,
    require_apart,
)
from leogym.evaluation.recorded.store import ROWS, file_name, read_rows
from leogym.results.intervals import summarize
from leogym.results.metrics import METRICS, ORACLE, ORACLE_SHARE, Metric


@dataclass(frozen=True)
class Series:
    """One run's time series from ``series/``."""

    repeat: int
    offset_s: float
    flows: pl.DataFrame
    links: pl.DataFrame


@dataclass(frozen=True)
class Results:
    """An evaluation's folder."""

    folder: Path
    description: dict[str, Any]
    runs: pl.DataFrame
    """``runs.parquet`` with a column ``run_scheme`` for the scheme under test."""
    digests: dict[str, str] | None = None
    """SHA-256 of the kept series by `series.key_of`; None in a folder of a version that recorded none."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the folder, or raise an `InputError`."""
        require_apart(folder)
        description = run_json.read(folder)
        record = read_rows(folder)
        if record.rows.is_empty():
            raise DamagedError(folder / ROWS, "has no run yet", folder)
        return cls(folder, description, record.rows, record.digests)

    @cached_property
    def invalid(self) -> list[dict[str, Any]]:
        """The runs that the machine was too slow for; not in ``runs``."""
        return invalid.read(self.folder).rows(named=True)

    @property
    def quick(self) -> bool:
        """Whether the suites ran with ``--quick``."""
        return bool(self.description["config"].get("quick", False))

    @property
    def spot(self) -> bool:
        """Whether the suites ran with ``--spot``."""
        return bool(self.description["config"].get("spot", False))

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The rows of ``summary.csv``, without its column for `quick`."""
        return with_oracle_shares(summarize(self.runs))

    def headline(self, suite: Suite) -> list[Metric]:
        """Return the metrics of a suite's table: its own, and `ORACLE_SHARE` if the oracle ran."""
        mine = (pl.col("suite") == suite.name) & (pl.col("metric") == ORACLE_SHARE.name)
        shares = [] if self.summary.filter(mine).is_empty() else [ORACLE_SHARE]
        return [*(METRICS[name] for name in suite.headline), *shares]

    def shared(self, suite: Suite) -> bool:
        """Whether the suite's table has a flow's share of a link that several flows of a run use."""
        shares = {"power", "normalized_goodput"} & set(suite.headline)
        mine = self.runs.filter(pl.col("suite") == suite.name)
        return bool(shares) and mine["run_id"].n_unique() < len(mine)

    @cached_property
    def suites(self) -> list[Suite]:
        """The suites as run."""
        present = set(self.runs["suite"])
        parsed = (suite.parse(data, "run.json: suites") for data in self.description["config"]["suites"])
        return [parsed_suite for parsed_suite in parsed if parsed_suite.name in present]

    @cached_property
    def schemes(self) -> list[str]:
        """All measured schemes, in the table's order."""
        order = list(self.description["config"]["schemes"])
        measured = list(dict.fromkeys(self.summary["scheme"]))
        return sorted(measured, key=lambda name: order.index(name) if name in order else len(order))

    def scenarios(self, suite_name: str) -> list[str]:
        """Return the names of a suite's scenarios in the suite's order."""
        mine = self.runs.filter(pl.col("suite") == suite_name)["scenario"].unique().to_list()
        order = self.description["config"]["scenarios"].get(suite_name, [])
        return sorted(mine, key=lambda name: (order.index(name) if name in order else len(order), name))

    def scenario(self, suite_name: str, name: str, scheme: str) -> Scenario | None:
        """Return a suite's scenario with a scheme under test, as run; None if there is none."""
        return self._scenarios(suite_name, scheme).get(name)

    def _scenarios(self, suite_name: str, scheme: str) -> dict[str, Scenario]:
        for candidate in self.suites:
            if candidate.name == suite_name:
                return {case.scenario.name: case.scenario for case in candidate.cases(scheme)}
        return {}

    def contests(self, suite_name: str, scenario: str) -> list[str]:
        """Return the schemes, or mixes such as ``cubic+reno``, under test in a scenario."""
        mine = self.runs.filter((pl.col("suite") == suite_name) & (pl.col("scenario") == scenario))
        names = mine["run_scheme"].unique().to_list()
        ranks = {name: rank for rank, name in enumerate(self.schemes)}
        return sorted(names, key=lambda name: (ranks.get(name, len(ranks)), name))

    def interval(self, suite_name: str, scenario: str, scheme: str, metric: str) -> dict[str, Any] | None:
        """Return the summary's row (mean, ci_low, ci_high, n); None if the metric is undefined."""
        return self._rows_of_summary.get((suite_name, scenario, scheme, metric))

    @cached_property
    def _rows_of_summary(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """The summary's rows by suite, scenario, scheme and metric; the first backend wins."""
        keys = ("suite", "scenario", "scheme", "metric")
        return {tuple(row[key] for key in keys): row for row in self.summary.reverse().iter_rows(named=True)}

    def series(self, suite_name: str, scenario: str) -> dict[str, Series]:
        """Return `first_series` of each contest of a scenario that has files, in order."""
        return {
            contest: run_series
            for contest in self.contests(suite_name, scenario)
            if (run_series := self.first_series(suite_name, scenario, contest)) is not None
        }

    def series_files(
        self, suite_name: str, scenario: str, contest: str, repeat: int
    ) -> dict[str, Path] | None:
        """Return the files of a run's series by kind; None if they were not kept.

        Raises:
            DamagedError: a file is missing or changed since it was recorded.
        """
        paths = files_of(self.folder, file_name(suite_name, scenario, contest, repeat))
        if self.digests is None:
            return paths if all(path.exists() for path in paths.values()) else None
        if not any(key_of(path) in self.digests for path in paths.values()):
            return None
        for path in paths.values():
            if (why := difference(path, self.digests.get(key_of(path)))) is not None:
                raise DamagedError(path, why, self.folder)
        return paths

    def first_series(self, suite_name: str, scenario: str, contest: str) -> Series | None:
        """Return the series of the first recorded repeat; None if they were not kept."""
        rows = self.runs.filter(
            (pl.col("suite") == suite_name)
            & (pl.col("scenario") == scenario)
            & (pl.col("run_scheme") == contest)
        ).sort("repeat")
        if rows.is_empty():
            return None
        first = rows.row(0, named=True)
        paths = self.series_files(suite_name, scenario, contest, first["repeat"])
        if paths is None:
            return None
        flows, links = (read_table(paths[kind]) for kind in KINDS)
        return Series(first["repeat"], first["offset_s"], flows, links)


def with_oracle_shares(summary: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``summary.csv``, and one of `ORACLE_SHARE` per scheme where the oracle ran.

    Each is the scheme's power and its interval over the oracle's mean power.
    """
    place = ["suite", "scenario", "backend"]
    power = summary.filter(pl.col("metric") == "power")
    of_oracle = pl.col("scheme") == ORACLE
    bound = power.filter(of_oracle & (pl.col("mean") > 0)).select(*place, pl.col("mean").alias("bound"))
    shares = (
        power.filter(~of_oracle)
        .join(bound, on=place, maintain_order="left")
        .with_columns(
            pl.lit(ORACLE_SHARE.name).alias("metric"),
            *(pl.col(name) / pl.col("bound") for name in ("mean", "ci_low", "ci_high")),
        )
    )
    return pl.concat([summary, shares.select(summary.columns)])
