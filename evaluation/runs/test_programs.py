from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.configs.scenario import Scenario, parse
from leogym.evaluation.entries import confinement
from leogym.evaluation.entries.process import Program
from leogym.evaluation.runs import execute, inputs, plan, programs
from leogym.evaluation.runs.backends import SERIES_MS, Inputs, Lab, Simulator
from leogym.evaluation.runs.schemes import about, load_policy, load_program, shipped
from leogym.evaluation.runs.schemes import parse as parse_schemes
from leogym.kernel_bridge.runner.stop import Stop

CONFINED = pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))
MINE = "class Mine:\n    agent = 'aurora'\n    def act(self, observation):\n        return 0.3\n"


def scenario(schemes: list[str], duration_s: float = 6.0) -> Scenario:
    flows = [{"scheme": name, "start_s": 1.0 * at, "route": ["path"]} for at, name in enumerate(schemes)]
    link = {"rate_mbps": 20.0, "delay_ms": 15.0, "queue": {"kind": "droptail", "bdp": 1.0}}
    given = {"name": "shared", "duration_s": duration_s, "links": {"path": link}, "flows": flows}
    return parse(given, "test")


class InProcess:
    """Stands for a program's process: a policy that the test's own process asks."""

    policy: leosim.Policy

    def __init__(self, program: Program, decisions: int) -> None:
        self.most, self.asked = decisions, 0

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *_: object) -> None:
        assert 0 < self.asked <= self.most

    def act(self, slots: list[int], observations: np.ndarray) -> np.ndarray:
        self.asked += len(slots)
        return self.policy.act(observations)[:, 0]


@pytest.mark.parametrize("name", ["astraea", "orca"])
def test_flows_that_a_program_steers_have_the_bytes_of_a_policy_that_does_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = load_policy(shipped()[name])
    text = scenario([name, "cubic", name]).to_json()
    engine = Simulator(Inputs({}, {name: one.files}))
    expected = engine.run(text, one.interval_ms)
    monkeypatch.setattr(InProcess, "policy", leosim.Policy.load(str(one.folder)), raising=False)
    monkeypatch.setattr(programs, "Running", InProcess)
    found = programs.simulate(
        text,
        name,
        Program("class", "Mine", b"", name, one.interval_ms),
        {},
        {},
        interval_ms=one.interval_ms,
        series_ms=SERIES_MS,
        stop=Stop(),
    )
    assert found.flows == expected.flows
    assert found.links == expected.links
    for ours, theirs in (
        (found.flow_series, expected.flow_series),
        (found.link_series, expected.link_series),
    ):
        assert ours.keys() == theirs.keys()
        for column in ours:
            np.testing.assert_array_equal(ours[column], theirs[column])


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return f"{file}:Mine"


@CONFINED
def test_a_program_is_a_scheme_like_others_and_one_that_fails_makes_its_runs_invalid(
    mine: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(MINE.replace("return 0.3", "raise ValueError('no idea')"))
    tried = suite.parse(
        {"name": "tried", "title": "", "repeats": 1, "scenario": scenario(["$scheme"], 3.0).model_dump()},
        "test",
    )
    contestants = parse_schemes(f"mine={mine},bad={bad}:Mine,cubic", Simulator.schemes())
    runs = plan.expand(
        tried,
        contestants,
        {},
        backend="simulator",
        known=Simulator.schemes(),
        base_seed=1,
        repeats=1,
        version="",
    )
    needed = inputs.gather(runs, {}, contestants)
    finished = {
        run.scheme: last
        for run, last in execute.run_here(runs, needed, 1, lambda run, parts: list(parts)[-1])
    }
    assert finished["bad"].invalid == "ValueError: no idea"
    for name in ("mine", "cubic"):
        [flow] = finished[name].flows
        assert flow["scheme"] == name
        assert flow["goodput_mbps"] > 1.0
    assert contestants.policies["mine"].interval_ms == 30.0


@CONFINED
def test_two_programs_of_one_run_and_a_program_on_another_backend_are_refused_in_one_line(mine: str) -> None:
    policy = load_program(mine)
    assert policy.program is not None
    assert "confined to a process of its own" in about("mine", policy)
    given = Inputs({}, {}, programs={"a": policy.program, "b": policy.program})
    with pytest.raises(InputError, match="shared: flows: one program steers flows of a run, not a and b"):
        Simulator(given).check([scenario(["a", "b"])])
    with pytest.raises(InputError, match="--schemes: a: only --backend simulator runs a program"):
        Lab(given)
