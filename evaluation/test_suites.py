"""Run every shipped suite, shortened, on the simulator."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import leosim
import pytest
import yaml

from leogym.configs import suite as suites
from leogym.configs.suite import Case, Suite
from leogym.evaluation import cli
from leogym.evaluation.runs import plan
from leogym.evaluation.runs.backends import backend
from leogym.evaluation.runs.inputs import gather, load_traces
from leogym.evaluation.runs.plan import Run, Trace
from leogym.evaluation.runs.schemes import of_suites
from leogym.results.metrics import flow_rows
from leogym.traces.path import cache, named_paths, shared

MOST_S = 60.0
PATH_S = 120.0


@pytest.fixture(scope="module", autouse=True)
def short_paths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Build two minutes of each named path, which then repeat: whole revolutions took most of the time.

    LeoBench's tests build whole ones, and those of traces whole paths that share links.
    All pytest workers use the same folder.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "short-paths"
    whole, pairs = named_paths.spec, shared.named

    def short_pairs(name: str) -> shared.Pairs:
        first, second = (spec.model_copy(update={"duration_s": PATH_S}) for spec in pairs(name).specs)
        return replace(pairs(name), specs=(first, second))

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LEOGYM_CACHE", str(folder))
        patched.setattr(
            named_paths, "spec", lambda name: whole(name).model_copy(update={"duration_s": PATH_S})
        )
        patched.setattr(shared, "named", short_pairs)
        yield


class Ends(Suite):
    """A suite's first and last case, at most a minute each."""

    def cases(self, scheme: str) -> Iterator[Case]:
        """Yield the two cases."""
        found = list(super().cases(scheme))
        for case in found[:1] + found[1:][-1:]:
            last_s = max(flow.start_s for flow in case.scenario.flows)
            duration_s = min(case.scenario.duration_s, max(MOST_S, last_s + 5.0))
            yield replace(case, scenario=case.scenario.model_copy(update={"duration_s": duration_s}))


def runs_of(name: str) -> Iterator[tuple[Run, list[dict[str, Any]]]]:
    """Yield the runs, with rows, of a suite's quick first repeat with its first and last scheme."""
    quick = suites.load(name).as_quick()
    schemes = [quick.schemes[0], quick.schemes[-1]]
    ends = Ends.model_validate({**quick.model_dump(), "schemes": schemes, "only": {}})
    own = of_suites([ends])
    for name in {name for case in ends.cases("cubic") for name in case.scenario.traces}:
        cache.file(name)  # here: `load_traces` would build them in processes, which know no short paths
    traces = load_traces([ends])
    known = {trace: Trace(one.period_s, one.sha256) for trace, one in traces.items()}
    runs = plan.expand(
        ends,
        own,
        known,
        backend="simulator",
        backend_schemes=backend("simulator").schemes(),
        base_seed=1,
        repeats=1,
        version=leosim.__version__,
    )
    engine = backend("simulator")(gather(runs, traces, own))
    for run in runs:
        measured = engine.run(run.scenario.to_json(), run.interval_ms)
        yield run, flow_rows(measured, run.scenario, run.fairness_last_s, compare=run.compare)


# The simulator has one of quic-leo's stacks.
@pytest.mark.parametrize("name", [name for name in suites.shipped() if name != "quic-leo"])
def test_every_suite_runs_and_measures_what_its_table_is_headed_by(name: str) -> None:
    one = suites.load(name)
    for run, rows in runs_of(name):
        # Two metrics: a scheme beside itself has no share, and an unfinished transfer no completion time.
        shown = [row[metric] for row in rows for metric in one.headline[:2] if row[metric] is not None]
        assert shown, run.scenario.name
        assert min(shown) > 0, run.scenario.name
        assert all(row["goodput_mbps"] > 0 for row in rows), run.scenario.name


def test_the_curve_has_the_lines_that_theory_gives(tmp_path: Path) -> None:
    data = suites.load("parking-lot-3").model_dump(exclude_defaults=True)
    data |= {"grid": {"rtt_ms": [20]}, "parameters": {"rtts": 60}, "repeats": 1}
    path = tmp_path / "lot.yaml"
    path.write_text(yaml.safe_dump(data))
    assert cli.run([str(path), "--schemes", "cubic", "--out", str(tmp_path / "out")]) == 0
    drawn = (tmp_path / "out" / "figures" / "parking-lot-3--curve.svg").read_text()
    assert "max-min" in drawn
    assert "proportional" in drawn
