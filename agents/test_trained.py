"""The policies that come with the project: what they earn on scenarios that their training never drew."""

from pathlib import Path

import leosim
import pytest

from agents.__main__ import held_out
from configs.errors import InputError

TRAINED = sorted(Path(__file__).parent.glob("*/trained"))


def test_aurora_and_orca_come_trained():
    assert {"aurora", "orca"} <= {folder.parent.name for folder in TRAINED}


@pytest.mark.parametrize("folder", TRAINED, ids=lambda folder: folder.parent.name)
def test_a_trained_policy_fills_links_that_it_never_saw_without_filling_their_queues(folder):
    assert leosim.Policy.load(str(folder / "policy")).spec == folder.parent.name
    earned = held_out(folder, episodes=6)
    assert earned["normalized_goodput"] > 0.75
    assert earned["delay_inflation"] < 2.0


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(InputError, match=r"config\.yaml: cannot be read"):
        held_out(tmp_path, episodes=1)
