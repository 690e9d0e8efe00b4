import json

import leosim
import pytest

from studies.reference import rewards


def row(reward="power", seed=1, power=0.7, loss_rate=0.01):
    figures = {"power": power, "loss_rate": loss_rate, "reference_power": 0.6}
    return {"reward": reward, "seed": seed, "steps": 4096, **figures}


def test_rewards_that_are_no_aim_by_themselves_are_left_out():
    left_out = {name.partition(":")[0] for name in {*leosim.Batch.rewards()} - {*rewards.names()}}
    assert left_out == {*rewards.INCOMPLETE}
    assert {"astraea", "aurora", "fair-share", "power"} <= {*rewards.names()}


@pytest.mark.parametrize(
    ("changed", "passed"), [({}, True), ({"power": 0.6}, False), ({"loss_rate": 0.06}, False)]
)
def test_a_policy_needs_more_power_than_reno_and_little_loss(changed, passed):
    assert rewards.passes(row(**changed)) == passed
    assert rewards.line(row(**changed)).endswith("passes" if passed else "FAILS")


def test_rows_of_a_check_replace_those_of_the_same_reward_and_seed(tmp_path, monkeypatch):
    file = tmp_path / "rewards.json"
    file.write_text(json.dumps([row("orca"), row("power", power=0.1)]))
    monkeypatch.setattr(rewards, "FILE", file)
    monkeypatch.setattr(rewards, "train", lambda reward, seed, length, folder: (reward, seed))
    monkeypatch.setattr(rewards, "measured", lambda run: row(*run))
    assert rewards.check(["power"], [1, 2], ("--steps", "1"), tmp_path)
    assert json.loads(file.read_text()) == [row("orca"), row("power"), row("power", seed=2)]
