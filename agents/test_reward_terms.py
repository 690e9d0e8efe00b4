import leosim
import pytest

from leogym.agents import train_cli
from leogym.common.errors import InputError


@pytest.mark.parametrize("reward", ["throughput:1,delay", "{throughput: 1, loss: 0.5}"])
def test_a_reward_that_pays_for_a_penalty_is_refused_unless_its_plus_is_written(tmp_path, reward):
    given = ["--agent", "astraea", "--steps", "1", "--out", str(tmp_path / "run")]
    with pytest.raises(InputError, match=r"reward: (delay|loss) is a penalty, .*:-.*:\+") as caught:
        train_cli.run([*given, "--set", f"reward={reward}"])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    leosim.Batch(1, reward="throughput:1,delay:+1")
