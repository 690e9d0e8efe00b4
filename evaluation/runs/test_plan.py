from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.evaluation.runs.plan import Run, draw_offset_s, expand
from leogym.evaluation.runs.schemes import Contestants, Policy
from tests.support import scenarios
from tests.support.sample_results import SAMPLE_TRACES, sample_plan


def policy(interval_ms: float, onnx: bytes = b"net") -> Policy:
    files = {"policy.onnx": onnx, "policy.json": b"{}"}
    return Policy(Path("p"), files, {"interval_ms": interval_ms})


CLASSIC = Contestants(["cubic", "reno"], {})


def plan(
    contestants: Contestants = CLASSIC, suite: str = "leo-single", traces: Any = SAMPLE_TRACES, **changes: Any
) -> list[Run]:
    settings: dict[str, Any] = {"backend": "simulator", "backend_schemes": ["cubic", "reno"], "base_seed": 1}
    settings |= {"repeats": 2, "version": "1", **changes}
    return expand(suites.load(suite), contestants, traces, **settings)


def in_turn(folder: Path, duration_s: float, repeats: int) -> list[Run]:
    """Return Cubic's runs of a suite whose repeats follow one another through a path."""
    flows = "flows: [{scheme: $scheme, route: [l]}]"
    scenario = f"{{duration_s: {duration_s}, links: {{l: {{trace: sd-ny-bp}}}}, {flows}}}"
    path = scenarios.written(folder, f"name: turns\ntitle: Turns\nin_turn: true\nscenario: {scenario}\n")
    return [run for run in plan(suite=path, repeats=repeats) if run.scheme == "cubic"]


def test_every_scenario_scheme_and_repeat_is_planned_once_and_the_first_repeats_come_first():
    runs = sample_plan("leo-pair", ["cubic", "reno"], 3)
    assert len(runs) == len({run.run_id for run in runs}) == 4 * 2 * 3
    assert [run.repeat for run in runs] == sorted(run.repeat for run in runs)


def test_all_schemes_of_a_repeat_meet_the_same_seed_and_stretch_of_path():
    for scenario in ("sd-ny-isl", "sd-ny-bp", "ny-ldn-isl"):
        met = {
            (run.repeat, run.scenario.seed, run.offset_s) for run in plan() if run.scenario.name == scenario
        }
        assert len(met) == 2


def test_repeats_differ_in_seed_and_offset_and_offsets_lie_in_the_period():
    runs = [run for run in plan(repeats=20) if run.scheme == "cubic"]
    assert len({run.scenario.seed for run in runs}) == len({run.offset_s for run in runs}) == len(runs)
    assert all(0 <= run.offset_s < 5731 for run in runs)


def test_repeats_in_turn_follow_one_another_through_the_period(tmp_path):
    runs = in_turn(tmp_path, duration_s=2.5, repeats=4)
    assert [run.offset_s for run in runs] == [0, 2.5, 5, 7.5]
    assert len({run.scenario.seed for run in runs}) == 4


def test_repeats_in_turn_meet_the_same_stretches_in_the_next_period(tmp_path):
    runs = in_turn(tmp_path, duration_s=1146.2, repeats=10)
    offsets = [run.offset_s for run in runs]
    assert offsets[:5] == offsets[5:] == [0, 1146.2, 2292.4, 3438.6, 4584.8]
    assert len({run.scenario.seed for run in runs}) == 10


def test_a_part_of_the_grid_is_all_that_some_of_a_suites_own_schemes_run(tmp_path):
    links = "links: {l: {rate_mbps: 1, delay_ms: $rtt}}, flows: [{scheme: $scheme, route: [l]}]"
    scenario = f"{{name: $rtt ms, duration_s: 1, {links}}}"
    grid = "schemes: [cubic, reno]\nonly: {reno: {rtt: [20]}}\ngrid: {rtt: [10, 20]}"
    path = scenarios.written(tmp_path, f"name: parts\ntitle: Parts\n{grid}\nscenario: {scenario}\n")
    own, given = (plan(contestants, path, repeats=1) for contestants in (Contestants(None, {}), CLASSIC))
    told = [[f"{run.scheme} {run.scenario.name}" for run in runs] for runs in (own, given)]
    assert told[0] == ["cubic 10 ms", "cubic 20 ms", "reno 20 ms"]
    assert told[1] == ["cubic 10 ms", "cubic 20 ms", "reno 10 ms", "reno 20 ms"]


def test_offsets_spread_over_the_whole_period():
    drawn = sorted(draw_offset_s(seed, 100.0) for seed in range(400))
    assert all(abs(value - 100 * rank / 400) < 10 for rank, value in enumerate(drawn))


def test_the_same_arguments_give_the_same_plan():
    assert plan() == plan()


def test_identity_follows_what_decides_the_result():
    ids = [plan()[0].run_id]
    ids += [plan(base_seed=2)[0].run_id, plan(version="2")[0].run_id]
    ids += [plan(Contestants(["x"], {"x": policy(30.0, onnx)}))[0].run_id for onnx in (b"1", b"2")]
    changed = {name: replace(trace, sha256="0" * 63 + "9") for name, trace in SAMPLE_TRACES.items()}
    ids.append(plan(traces=changed)[0].run_id)
    assert len(set(ids)) == len(ids)


def test_more_repeats_leave_the_identity_of_the_first_ones():
    assert {run.run_id for run in plan(repeats=2)} < {run.run_id for run in plan(repeats=5)}


def test_an_unknown_scheme_is_told_with_the_known_ones():
    with pytest.raises(
        InputError,
        match=r"schemes: vegas: not a scheme that this backend runs, but .* \(there are: cubic, reno",
    ):
        plan(Contestants(["vegas"], {}))


def test_a_policy_runs_at_its_own_interval():
    runs = plan(Contestants(["cubic", "x"], {"x": policy(20.0)}))
    assert {(run.scheme, run.interval_ms) for run in runs} == {("cubic", 30.0), ("x", 20.0)}
    assert {run.scheme: set(run.policies) for run in runs} == {"cubic": set(), "x": {"x"}}


def test_policies_of_two_intervals_cannot_share_a_run(tmp_path):
    flows = "[{scheme: a, route: [l]}, {scheme: b, route: [l]}]"
    text = f"duration_s: 1\nlinks: {{l: {{rate_mbps: 1, delay_ms: 1}}}}\nflows: {flows}\n"
    contestants = Contestants(["a", "b"], {"a": policy(20.0), "b": policy(30.0)})
    with pytest.raises(InputError, match=r"must share their interval_ms \(a 20, b 30\)"):
        plan(contestants, suite=scenarios.written(tmp_path, text))


def test_a_file_runs_as_written_first_and_with_drawn_seeds_after(tmp_path):
    flows = "[{scheme: cubic, route: [l]}, {scheme: reno, route: [l]}]"
    text = f"seed: 77\nduration_s: 1\nlinks: {{l: {{trace: sd-ny-bp}}}}\nflows: {flows}\n"
    first, second = plan(suite=scenarios.written(tmp_path, text))
    assert (first.scenario.seed, first.offset_s, first.scheme) == (77, 0.0, "cubic+reno")
    assert second.scenario.seed != 77
    assert second.offset_s > 0
