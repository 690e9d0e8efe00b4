"""The shipped policies on scenarios that their training never drew."""

from pathlib import Path

import leosim
import pytest

from leogym.agents.judging import held_out
from leogym.agents.training import policy_folder, rollout
from leogym.agents.training.settings import TrainSettings
from leogym.common.errors import InputError

TRAINED = sorted(Path(__file__).parent.glob("trained/*"))


def test_astraea_aurora_clone_orbit_and_orca_come_trained():
    assert {"astraea", "aurora", "orbit", "clone", "orca"} <= {folder.name for folder in TRAINED}
    assert all(policy_folder.is_whole(folder / "policy") for folder in TRAINED)


# The clone has its own tests; Astraea is tested on LEO paths, below.
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


def test_trained_astraea_has_more_power_than_reno_on_leo_paths():
    ranges = {"sampler": "leo", "flows": 1, "duration_s": 60.0}
    settings = TrainSettings(agent="astraea", scenarios=ranges, interval_ms=20.0)
    policy = leosim.Policy.load(str(Path(__file__).parent / "trained/astraea/policy"))
    earned = rollout.evaluate_policy(policy, settings, 6)
    assert earned["power"] > rollout.evaluate_scheme("reno", settings, 6)["power"]
    assert earned["loss_rate"] < 0.05


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match=r"\(folder\): has neither config.yaml nor a policy"):
        held_out(tmp_path, episodes=1)
