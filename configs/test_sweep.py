import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs import sweep

BASE = """
name: small
agent: ppo
trials: 40
search:
  learning_rate: {log_uniform: [1e-4, 1e-2]}
  rollout_steps: {integer: [16, 18]}
  gamma: {uniform: [0.9, 1]}
  hidden: {choice: [[8], [16, 16]]}
  seed: {grid: [1, 2, 3]}
"""


def read(tmp_path, text):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    return sweep.read(path)


def test_what_is_drawn_is_drawn_once_for_all_of_a_grid_and_lies_in_its_range(tmp_path):
    found = read(tmp_path, BASE).assignments()
    assert len(found) == 120
    assert [trial["seed"] for trial in found[:6]] == [1, 2, 3, 1, 2, 3]
    for first, *others in (found[at : at + 3] for at in range(0, 120, 3)):
        for other in others:
            assert {**other, "seed": 1} == first
    rates = [trial["learning_rate"] for trial in found]
    assert 1e-4 <= min(rates) < 3e-4
    assert 3e-3 < max(rates) <= 1e-2
    assert 0.3 < np.mean(np.array(rates) < 1e-3) < 0.7  # half of the octaves
    assert {trial["rollout_steps"] for trial in found} == {16, 17, 18}
    assert {str(trial["hidden"]) for trial in found} == {"[8]", "[16, 16]"}


def test_the_same_seed_draws_the_same_trials_and_more_trials_keep_the_first(tmp_path):
    found = read(tmp_path, BASE).assignments()
    assert read(tmp_path, BASE.replace("trials: 40", "trials: 3")).assignments() == found[:9]
    assert read(tmp_path, BASE + "seed: 2\n").assignments()[0] != found[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("agent: ppo\n", ""), "sweep.yaml: .*give one of agent and agents"),
        (("trials: 40", "trials: 0"), "sweep.yaml: trials: "),
        (("trials: 40", "trails: 40"), r"sweep.yaml: trails: unknown key \(nearest: trials,"),
        (("{integer: [16, 18]}", "{integer: [18, 16]}"), "search.rollout_steps: .*low <= high"),
        (("{log_uniform: [1e-4, 1e-2]}", "{log_uniform: [0, 1]}"), "learning_rate: .*above 0"),
        (("{uniform: [0.9, 1]}", "{uniform: [0, 1], grid: [1]}"), "search.gamma: .*give one of"),
        (("{uniform: [0.9, 1]}", "{}"), "search.gamma: .*give one of"),
        (("{uniform: [0.9, 1]}", "{normal: [0, 1]}"), r"search.gamma.normal: unknown key \("),
    ],
)
def test_a_file_that_is_no_sweep_is_one_line(tmp_path, change, message):
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, BASE.replace(*change))
    assert "\n" not in str(caught.value)
