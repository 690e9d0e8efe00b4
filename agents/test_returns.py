import re
from pathlib import Path

import pytest

from leogym.agents import __main__, returns
from leogym.registration import PRESETS


@pytest.mark.parametrize("preset", PRESETS, ids=[preset.id for preset in PRESETS])
def test_a_trained_policy_is_above_random_and_constant_actions_and_these_are_below_the_threshold(preset):
    reached = {row.policy: row.mean for row in returns.measure([preset.id], 6)}
    trained = max(reached.pop(name) for name in returns.POLICIES)
    assert max(reached.values()) < min(trained, preset.threshold)


@pytest.mark.parametrize("preset", PRESETS, ids=[preset.id for preset in PRESETS])
def test_the_docs_have_what_an_id_stands_for_and_its_returns(preset):
    docs = (Path(returns.__file__).resolve().parents[1] / "docs" / "environments.md").read_text()
    reward = preset.arguments.get("reward", "astraea")
    assert f"\n| `{preset.id}` | {preset.summary} | `{reward}` | {preset.steps:,} |\n" in docs
    assert f"\n| `{preset.id}` | {preset.threshold:g} | " in docs


def test_the_command_prints_a_row_for_an_environment(capsys):
    assert __main__.run(["returns", "leo/Static-v0", "--episodes", "1"]) == 0
    head, _, row = capsys.readouterr().out.splitlines()
    assert head == (
        "| id | threshold | random | always -1 | always +0 | always +1 | astraea | orca | aurora |"
    )
    assert re.fullmatch(r"\| `leo/Static-v0` \| \d+( \| -?\d+\.\d){7} \|", row)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["leo/Mars-v0"], "returns: leo/Mars-v0: unknown environment .there are: leo/SingleFlow-v0"),
        (["leo/Static-v0", "--episodes", "0"], "returns: --episodes: 0: must be at least 1"),
    ],
)
def test_bad_arguments_are_named_in_one_line(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        __main__.run(["returns", *arguments])
