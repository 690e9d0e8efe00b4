import csv
import json
from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.agents.worst_cases import command, measure, search
from leogym.agents.worst_cases.measure import Beside, Contestant
from leogym.agents.worst_cases.situation import DEFAULT, Situation, axes
from leogym.common.errors import InputError

POLICY = Path(__file__).resolve().parents[2] / "core/control/tests/fixtures/perceptron"


def test_every_point_is_a_valid_scenario_within_the_ranges():
    box = axes({"rate_mbps": (20.0, 50.0), "rtt_ms": (30.0, 90.0), "loss": (0.0, 0.002)})
    rng = np.random.default_rng(1)
    for _ in range(200):
        one = Situation.at(rng.uniform(-1.5, 1.5, len(box)), box)
        assert 20 <= one.least_rate_mbps <= one.rate_mbps <= 50
        assert 30 <= one.rtt_ms <= one.most_rtt_ms <= 90
        assert 0 <= one.loss <= 0.002
        assert 1 <= one.flows <= 4
        assert (one.flows - 1) * one.apart_s < one.duration_s
        assert len(one.scenario("a").flows) == one.flows


def test_a_scheme_that_names_no_ranges_is_searched_in_the_default_ones():
    limits = {axis.name: (axis.low, axis.high) for axis in axes(None)}
    assert {name: limits[name] for name in DEFAULT} == DEFAULT


def test_a_contestant_is_a_scheme_a_shipped_policy_or_a_folder(tmp_path):
    assert Contestant.of("cubic").policy is None
    shipped = Contestant.of("orbit")
    assert (shipped.name, shipped.interval_ms) == ("orbit", 10.0)
    assert Contestant.of(str(POLICY)).name == "perceptron"
    with pytest.raises(InputError, match=r"worst-cases: 'cubik': neither .* cubic"):
        Contestant.of("cubik")


def test_the_oracle_beside_itself_gets_all_of_its_power():
    box = axes({"rate_mbps": (10.0, 20.0), "rtt_ms": (20.0, 40.0), "loss": (0.0, 0.0)})
    point = np.zeros(len(box))
    situation = Situation.at(point, box)
    [beside] = measure.measured(Contestant(measure.ORACLE), [situation.scenario("a")])
    assert (beside.relative_power, beside.relative_share) == (1.0, 1.0)
    assert beside.power > 0.9
    assert beside.fallbacks == 0


@pytest.fixture
def searched(monkeypatch):
    """The situations that a search asks for; the worst have small buffers and many flows."""
    asked = []

    def measured(contestant, scenarios, threads=0):
        asked.extend(scenarios)
        results = []
        for one in scenarios:
            packets = one.links["path"].queue.packets
            value = packets / 1e6
            results.append(Beside(value, 1.0, 1.0, 1 / len(one.flows), value, 1 / len(one.flows), 0))
        return results

    monkeypatch.setattr(search, "measured", measured)
    return asked


def test_the_search_finds_the_corner_and_repeats_itself(searched):
    def found(seed):
        return search.search(Contestant("cubic"), "power", restarts=3, generations=12, seed=seed)

    worst = found(1)
    assert worst[0].value == min(one.value for one in worst)
    drawn = min(one.links["path"].queue.packets for one in searched[: search.POPULATION])
    assert worst[0].beside.power * 1e6 < drawn
    assert found(1) == worst
    assert found(2) != worst
    shared = search.search(Contestant("cubic"), "share", restarts=1, generations=12, seed=1)
    assert shared[0].situation.flows == 4


def test_a_row_is_repeated_by_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "POPULATION", 4)
    out = tmp_path / "out"
    text = command.run("reno", objectives=["power", "share"], restarts=1, generations=1, seed=3, out=out)
    assert text.startswith("| power / oracle's |")
    rows = list(csv.DictReader((out / "worst.csv").read_text().splitlines()))
    told = json.loads((out / "worst.json").read_text())
    assert [row["objective"] for row in rows] == ["power", "share"]
    assert [row["command"] for row in told["rows"]] == [row["command"] for row in rows]
    for row in rows:
        words = row["command"].split()
        again = json.loads(command.repeated(words[3], Path(words[-1])))
        assert again["relative_power"] == float(row["relative_power"])
        assert again["relative_share"] == float(row["relative_share"])


@pytest.mark.parametrize(("objectives", "named"), [(["share"], True), (["power", "share"], False)])
def test_the_command_of_the_table_searches_the_same_objectives(tmp_path, searched, objectives, named):
    command.run("reno", objectives=objectives, restarts=1, generations=1, seed=3, out=tmp_path)
    words = json.loads((tmp_path / "worst.json").read_text())["command"].split()
    assert (words[words.index("--objective") + 1 :] == ["share"]) if named else "--objective" not in words


def test_a_situation_without_a_measure_does_not_hide_worse_ones(monkeypatch):
    powers = iter([[float("nan")] * search.POPULATION, [0.5] * search.POPULATION])
    monkeypatch.setattr(
        search, "measured", lambda *_: [Beside(power, 1, 1, 1, power, 1, 0) for power in next(powers)]
    )
    [worst] = search.search(Contestant("cubic"), "power", restarts=1, generations=2, seed=1)
    assert worst.value == 0.5


def test_a_policys_flows_fall_back_in_a_situation_that_it_does_not_know(tmp_path):
    for name in ("policy.onnx", "policy.json"):
        (tmp_path / name).write_bytes((POLICY / name).read_bytes())
    said = json.loads((tmp_path / "policy.json").read_text())
    said["known_ranges"] = {"rate_mbps": [200, 500]}
    (tmp_path / "policy.json").write_text(json.dumps(said))
    contestant = Contestant("mine", leosim.Policy.load(str(tmp_path)))
    box = axes({"rate_mbps": (10.0, 20.0), "rtt_ms": (20.0, 40.0), "loss": (0.0, 0.0)})
    [beside] = measure.measured(contestant, [Situation.at(np.zeros(len(box)), box, (1, 1)).scenario("a")])
    assert beside.fallbacks > 0
