"""The policies that come with the project: what they earn on scenarios that their training never drew."""

from pathlib import Path

import leosim
import pytest

from agents.__main__ import held_out
from configs import suite
from configs.errors import InputError
from evaluation import plan, schemes
from evaluation.backends import Inputs, Simulator
from evaluation.metrics import run_metrics, shared_window_s

TRAINED = sorted(Path(__file__).parent.glob("*/trained"))


ALONE = [folder for folder in TRAINED if folder.parent.name in {"aurora", "orca"}]
"""Trained on one flow a link; Sage, on what schemes did, has its own test."""


def test_astraea_aurora_and_orca_come_trained():
    assert {"astraea", "aurora", "orca"} <= {folder.parent.name for folder in TRAINED}


@pytest.mark.parametrize("folder", ALONE, ids=lambda folder: folder.parent.name)
def test_a_trained_policy_fills_links_that_it_never_saw_without_filling_their_queues(folder):
    assert leosim.Policy.load(str(folder / "policy")).spec == folder.parent.name
    earned = held_out(folder, episodes=6)
    assert earned["normalized_goodput"] > 0.75
    assert earned["delay_inflation"] < 2.0


@pytest.mark.parametrize(("name", "cell"), [("intra-rtt", "60 ms"), ("inter-rtt", "60 ms, 1.0 BDP")])
def test_two_flows_of_trained_astraea_fill_a_link_and_share_it(name, cell):
    policy = schemes.load_policy(Path(__file__).parent / "astraea/trained")
    contestants = schemes.Contestants(["astraea"], {"astraea": policy})
    runs = plan.expand(
        suite.load(name),
        contestants,
        {},
        backend="simulator",
        known=Simulator.schemes(),
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
    with pytest.raises(InputError, match=r"config\.yaml: cannot be read"):
        held_out(tmp_path, episodes=1)
