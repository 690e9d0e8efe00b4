import leosim
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.orbit import legs
from leogym.traces.orbit.earth import LIGHT_KM_PER_S
from leogym.traces.path import named_paths, path_trace, physics
from leogym.traces.path.build import build
from leogym.traces.path.spec import parse


def test_without_the_z_axis_the_y_axis_counts_twice_and_lasers_stay_right() -> None:
    chain = np.array([[[0.0, 0, 0], [3, 4, 12], [3, 4, 12 + 100]]])
    in_space = np.array([False, True, True])
    assert legs.legs_km(chain, in_space, "straight").tolist() == [[13.0, 100.0]]
    assert legs.legs_km(chain, in_space, "leoem-flat") == pytest.approx(
        np.array([[np.sqrt(9 + 16 + 16), 100]])
    )


@pytest.mark.parametrize("links", ["isl", "bp"])
def test_faulty_user_links_are_shorter_than_satellites_are_high(links: str) -> None:
    right = named_paths.spec(f"sd-ny-{links}@starlink-leoem").model_copy(update={"duration_s": 60.0})
    faulty = named_paths.spec(f"sd-ny-{links}@starlink-leoem~leoem-flat")
    assert faulty.delays == "leoem-flat"
    altitude_km = 550.0
    below = []
    for spec in (right, faulty.model_copy(update={"duration_s": 60.0})):
        path = build(spec)
        legs_km = [row for row in path.leg_km if len(row)]
        below.append(np.mean([row[0] < altitude_km for row in legs_km]))
        assert path.delay_ns[0] == pytest.approx(legs_km[0].sum() / LIGHT_KM_PER_S * 1e9, abs=2)
    # In LeoEM's own logs, 92 to 97 % of user links are too short.
    assert below[0] == 0.0
    assert below[1] > 0.5


def test_a_faulty_trace_says_so_and_is_refused(tmp_path) -> None:
    file = tmp_path / "x.csv"
    spec = named_paths.spec("sd-ny-isl~leoem-flat").model_copy(update={"duration_s": 60.0})
    path_trace.write(spec, file)
    trace = leosim.PathTrace.parse(file.read_text(), "x.csv")
    first = physics.check(trace, "x.csv")[0]
    assert (first.row, first.field) == (0, "up_delay_ms")
    assert first.rule.startswith("faulty by choice: built with --delays leoem-flat")
    assert "traces build 'sd-ny-isl~leoem-flat' --duration 60" in trace.metadata


def test_faulty_delays_are_those_of_held_satellites_only() -> None:
    fields = named_paths.spec("sd-ny-isl").model_dump() | {"delays": "leoem-flat", "attach": "shortest"}
    fields |= {"from_site": named_paths.spec("sd-ny-isl").from_site}
    fields |= {"to_site": named_paths.spec("sd-ny-isl").to_site}
    with pytest.raises(InputError, match="leoem-flat needs attach nearest"):
        parse(fields, "build")
    with pytest.raises(InputError, match="only leoem-flat or shortest may follow ~"):
        named_paths.spec("sd-ny-isl~flat")
