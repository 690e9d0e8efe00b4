from pathlib import Path

import leosim
import numpy as np
import pytest
import torch

from leogym.agents.clone.conftest import TINY
from leogym.agents.clone.conftest import tiny as tiny  # the fixture
from leogym.agents.engines.rllib import offline
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.stopping import Stopped
from leogym.agents.training.test_stopping import Looks
from leogym.common.errors import InputError
from tests.support import training_runs
from tests.support.training_runs import latest, rows, trained

pytestmark = pytest.mark.xdist_group("ray")

SMALL = {
    "pool": TINY["pool"].model_dump(),
    "hidden": [8],
    "batch_size": 16,
    "resident": 4,
    "progress_steps": 10,
    "checkpoint_steps": 20,
    "learning_rate": 1e-2,
}


def settings_of(agent: str, tiny, **changes):
    return training_runs.settings_of(agent, **{**SMALL, "pool_folder": tiny.pool_folder, **changes})


def losses(run: RunFolder, column: str) -> list[float]:
    return [float(row[column]) for row in rows(run)]


@pytest.mark.parametrize("agent", ["bc", "cql"])
def test_what_is_learned_offline_is_exported_and_resumed_exactly(agent, tiny, tmp_path):
    whole = trained(settings_of(agent, tiny, steps=40), tmp_path / "whole")
    first = losses(whole, "policy_loss")
    assert len(first) == 4
    assert np.isfinite(first).all()
    assert np.isfinite(losses(whole, "value_loss")).all() == (agent == "cql")

    with pytest.raises(Stopped):
        trained(settings_of(agent, tiny, steps=20), tmp_path / "halves", stop=Looks(13))
    trained(settings_of(agent, tiny, steps=20), tmp_path / "halves", resume=True)
    halves = trained(settings_of(agent, tiny, steps=40), tmp_path / "halves", resume=True)
    assert losses(halves, "policy_loss") == first
    assert (halves.policy / "policy.onnx").read_bytes() == (whole.policy / "policy.onnx").read_bytes()


def test_a_policy_takes_signals_as_they_are_and_its_network_normal_ones(tiny, tmp_path):
    settings = settings_of("bc", tiny, steps=20)
    run = trained(settings, tmp_path / "run")
    training = offline.Training(offline.BC, settings, Path(tiny.pool_folder))
    training.load(latest(run))
    drawn = training.transitions.draw(9).observation[:, 0]
    module = training.learner.module["default_policy"]
    with torch.no_grad():
        normal = torch.from_numpy(training._normal(drawn))
        wanted = module.forward_inference({"obs": normal})["action_dist_inputs"][:, :1].numpy()
    policy = leosim.Policy.load(str(run.policy))
    assert policy.spec == "sage"
    np.testing.assert_allclose(policy.act(np.ascontiguousarray(drawn)), wanted, atol=1e-4)
    assert np.ptp(wanted) > 1e-3


def test_cloning_learns_what_the_schemes_did(tiny, tmp_path):
    run = trained(settings_of("bc", tiny, steps=300, progress_steps=50), tmp_path / "run")
    seen = losses(run, "policy_loss")
    assert seen[-1] < seen[0] - 0.5


def test_a_pool_of_another_reward_is_refused(tiny, tmp_path):
    settings = settings_of("bc", tiny, steps=1, reward="sage-r1")
    with pytest.raises(InputError, match=r"pool\.json: reward: is 'sage', not 'sage-r1'"):
        trained(settings, tmp_path / "run")


def test_a_checkpoint_of_other_networks_is_refused(tiny, tmp_path):
    trained(settings_of("bc", tiny, steps=20), tmp_path / "run")
    for changes in ({"hidden": [9]}, {"hidden": [8, 8]}):
        with pytest.raises(InputError, match=r"learner\.pt: cannot be read: has other networks"):
            trained(settings_of("bc", tiny, steps=40, **changes), tmp_path / "run", resume=True)


def test_the_actor_follows_the_critics_once_it_has_cloned_enough(tiny, tmp_path):
    # Critics' values in the actor's loss make it differ from a likelihood.
    runs = {
        cloning: trained(settings_of("cql", tiny, steps=30, cloning_steps=cloning), tmp_path / str(cloning))
        for cloning in (20, 1000)
    }
    short, long = (losses(runs[cloning], "policy_loss") for cloning in (20, 1000))
    assert short[:2] == long[:2]
    assert short[2] != long[2]
