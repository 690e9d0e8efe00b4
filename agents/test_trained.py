"""The shipped policies on scenarios that their training never drew."""

from pathlib import Path

import leosim
import pytest

from leogym.agents.judging import held_out
from leogym.agents.training import policy_folder
from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.evaluation.runs import plan, schemes
from leogym.evaluation.runs.backends import Inputs, Simulator
from leogym.results.metrics import run_metrics, shared_window_s

TRAINED = sorted(Path(__file__).parent.glob("trained/*"))


def test_astraea_aurora_orbit_orca_and_sage_come_trained():
    assert {"astraea", "aurora", "orbit", "orca", "sage"} <= {folder.name for folder in TRAINED}
    assert all(policy_folder.is_whole(folder / "policy") for folder in TRAINED)


# Sage has its own tests; Astraea is tested on fairness, below.
@pytest.mark.parametrize("name", ["aurora", "orca"])
def test_a_trained_policy_has_earned_more_than_the_action_0_where_nothing_was_chosen(name):
    folder = Path(__file__).parent / "trained" / name
    assert leosim.Policy.load(str(folder / "policy")).spec == name
    earned = held_out(folder, episodes=6)
    # Action 0 is CUBIC alone for Orca and slow start's rate for Aurora; either fills most links.
    idle = earned["action_0"]
    assert earned["reward"] >= 1.3 * idle["reward"]
    assert earned["power"] >= 1.3 * idle["power"]
    # Aurora's links have up to 5 % random loss, and Aurora causes more.
    assert earned["loss_rate"] <= {"aurora": 0.2, "orca": 0.02}[name]


@pytest.mark.parametrize(("name", "cell"), [("intra-rtt", "60 ms"), ("inter-rtt", "60 ms, 1.0 BDP")])
def test_two_flows_of_trained_astraea_fill_a_link_and_share_it(name, cell):
    policy = schemes.load_policy(Path(__file__).parent / "trained/astraea")
    contestants = schemes.Contestants(["astraea"], {"astraea": policy})
    runs = plan.expand(
        suite.load(name),
        contestants,
        {},
        backend="simulator",
        backend_schemes=Simulator.schemes(),
        base_seed=1,
        repeats=1,
        version="",
    )
    (run,) = [run for run in runs if run.scenario.name == cell]
    engine = Simulator(Inputs({}, {"astraea": policy.files}))
    measured = engine.run(run.scenario.to_json(), run.interval_ms)
    metrics = run_metrics(measured, run.scenario, shared_window_s(measured.flows, run.fairness_last_s))
    assert metrics["goodput_ratio"] is not None
    assert metrics["utilization"] is not None
    assert metrics["goodput_ratio"] >= 0.8
    assert metrics["utilization"] >= 0.9
    assert all(flow["delay_inflation"] <= 1.3 for flow in measured.flows)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match=r"\(folder\): has neither config.yaml nor a policy"):
        held_out(tmp_path, episodes=1)
