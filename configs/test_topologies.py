from collections import Counter
from pathlib import Path

import leosim
import pytest

from leogym.common import yaml_text
from leogym.common.errors import InputError
from leogym.configs import scenario, topologies
from leogym.configs.scenario import Scenario

FOLDER = Path(__file__).parent / "scenarios"


def base_rtts_ms(one: Scenario) -> list[float]:
    """Return each flow's base RTT as measured in a run."""
    (log,) = leosim.run([one.to_json()], {}, series_ms=0.0)
    return [flow["base_rtt_mean_ms"] for flow in log.flows]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("parking-lot-3-60ms", topologies.parking_lot(3)),
        ("parking-lot-6-60ms", topologies.parking_lot(6)),
        ("two-path-reroute", topologies.two_paths()),
    ],
)
def test_the_shipped_files_are_what_the_generators_make(name: str, made: Scenario) -> None:
    assert scenario.load(FOLDER / f"{name}.yaml") == made
    assert scenario.parse(yaml_text.read(FOLDER / f"{name}.yaml"), name).name == name


def test_flows_of_a_dumbbell_have_their_own_access_delay_and_start_one_after_the_other() -> None:
    extras = [0.0, 15.0, 40.0]
    made = topologies.dumbbell(extras, delay_ms=10.0, scheme="cubic", gap_s=0.5, duration_s=2.0)
    assert base_rtts_ms(made) == pytest.approx([20.0, 50.0, 100.0])
    assert [flow.start_s for flow in made.flows] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("bottlenecks", [1, 3, 7])
def test_in_a_parking_lot_two_flows_cross_each_bottleneck_at_equal_base_rtts(bottlenecks: int) -> None:
    made = topologies.parking_lot(bottlenecks, rtt_ms=40.0, rtts=50, scheme="cubic")
    crossings = Counter(link for flow in made.flows for link in flow.route)
    assert crossings == dict.fromkeys(made.links, 2)
    assert base_rtts_ms(made) == pytest.approx([40.0] * (bottlenecks + 1))
    assert (made.flows[0].start_s, made.duration_s) == (1.0, 2.0)


def test_rerouted_flows_leave_their_path_idle_and_come_back_to_it() -> None:
    made = topologies.two_paths(scheme="cubic", away_s=2.0, back_s=4.0, duration_s=6.0)
    (log,) = leosim.run([made.to_json()], {}, series_ms=500.0)
    series, second = log.link_series, log.link_names.index("second")
    rows = series["link"] == second
    # Rows end intervals of 0.5 s; packets left on the path arrive within a round trip.
    mbps = dict(zip(series["time_s"][rows], series["delivered_mbps"][rows], strict=True))
    assert [mbps[time] > 0 for time in (2.0, 3.0, 3.5, 4.0, 4.5, 6.0)] == [
        True,
        False,
        False,
        False,
        True,
        True,
    ]
    assert mbps[2.5] > 0


def test_nothing_is_no_topology() -> None:
    with pytest.raises(InputError, match="parking-lot-0-60ms: links"):
        topologies.parking_lot(0)
    with pytest.raises(InputError, match="dumbbell-0: flows"):
        topologies.dumbbell([])
