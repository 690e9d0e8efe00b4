import argparse
import json

import pytest

from leogym.agents import __main__ as command
from leogym.agents.engines import bench
from leogym.results.intervals import interval


def test_one_seed_has_no_interval_and_says_how_many_it_is_of(monkeypatch, capsys):
    monkeypatch.setattr(bench, "earned", lambda engine, seed, steps: {"sb3": 0.5, "rllib": 0.48}[engine])
    assert bench.compare(1, 100, ["sb3", "rllib"]) == 0
    said = capsys.readouterr().out
    assert "NaN" not in said
    for line in said.splitlines():
        row = json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
        assert (row["n"], row["ci"]) == (1, None)


def test_several_seeds_have_an_interval():
    assert bench.spread(interval([0.4, 0.5, 0.6], seed=0))["n"] == 3
    low, high = bench.spread(interval([0.4, 0.5, 0.6], seed=0))["ci"]
    assert low < 0.5 < high


@pytest.mark.parametrize("text", ["0", "-3", "many"])
def test_seeds_are_at_least_one(text):
    with pytest.raises(argparse.ArgumentTypeError, match="above 0"):
        command.positive(text)


def test_the_options_name_every_engine():
    assert set(command.ENGINES) == bench.ENGINES.keys()
