import re

import leosim
import pytest

from leogym.common.errors import InputError
from leogym.traces.path import named_paths, path_trace, physics


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    file = tmp_path_factory.mktemp("traces") / "x.csv"
    path_trace.write(named_paths.spec("sd-ny-isl").model_copy(update={"duration_s": 90.0}), file)
    return file.read_text()


@pytest.fixture(scope="module", params=[1, 2])
def text(request, built):
    return built if request.param == 2 else in_version_1(built)


def in_version_1(text):
    """Return the text of a trace whose directions are alike as version 1 writes it."""
    head, columns, *lines = text.splitlines()
    names = columns.split(",")
    kept = [names.index(name) for name in names if not name.startswith("down_")]
    lines = [",".join(line.split(",")[index] for index in kept) for line in [columns, *lines]]
    lines[0] = lines[0].replace("up_", "")
    return "\n".join([head.replace('"version": 2', '"version": 1'), *lines]) + "\n"


def _check(text):
    return physics.check(leosim.PathTrace.parse(text, "x.csv"), "x.csv")


def _edit(text, row, **columns):
    """Return the trace with some columns of a row (from 0) replaced, in both directions if it has them."""
    lines = text.split("\n")
    names = lines[1].split(",")
    for name in set(columns) - set(names):
        columns |= dict.fromkeys((f"up_{name}", f"down_{name}"), columns.pop(name))
    fields = dict(zip(names, lines[2 + row].split(","), strict=True)) | columns
    lines[2 + row] = ",".join(fields.values())
    return "\n".join(lines)


def _field(text, name):
    return name if name in text.split("\n")[1].split(",") else f"up_{name} and down_{name}"


def _hard_row(text):
    return next(row for row, line in enumerate(text.split("\n")[2:]) if line.endswith("hard_handover"))


def test_a_built_trace_breaks_no_rule(text):
    assert _check(text) == []


def test_a_delay_below_the_speed_of_light_is_found(text):
    [first, *_] = _check(_edit(text, 7, delay_ms="14"))
    # San Diego and New York are 3,900 km apart, or 13.9 ms over a satellite at 550 km.
    assert (first.row, first.field) == (7, _field(text, "delay_ms"))
    assert first.rule.startswith("faster than light: below 14.0")


def test_without_an_altitude_the_straight_line_between_the_sites_is_the_floor(text):
    flat = re.sub(r'"altitude_km": [0-9.]+, ', "", text)
    assert not any("faster" in found.rule for found in _check(_edit(flat, 7, delay_ms="14")))
    assert any("straight line" in found.rule for found in _check(_edit(flat, 7, delay_ms="12.5")))


def test_short_paths_still_have_two_user_links_of_the_satellites_altitude():
    place = physics._Place(name="x", lat_deg=10, lon_deg=10)
    data = physics.TraceMetadata(origin=place, to=place, altitude_km=550)
    floor_ns, _ = physics.floor_ns(data)
    # Twice 550 km, plus a little because the Earth is flatter at 10° north than at the equator.
    assert 2 * 550 / 299_792.458e-9 < floor_ns < 2 * 551 / 299_792.458e-9


def test_a_packet_that_would_overtake_is_found(text):
    found = _check(_edit(text, 20, delay_ms="137.9"))
    [overtake] = [violation for violation in found if "overtake" in violation.rule]
    assert (overtake.row, overtake.field, overtake.rows) == (21, _field(text, "delay_ms"), 1)


def test_a_handover_off_the_grid_is_found_unless_it_is_announced(text):
    shifted = _edit(text, 160, event="hard_handover", connected="0")
    shifted = _edit(shifted, 161, connected="1")
    time_s = shifted.split("\n")[162].split(",")[0]
    assert float(time_s) % 15 != 0
    [violation] = _check(shifted)
    assert (violation.row, violation.field) == (160, "time_s")
    assert violation.rule.startswith("hard_handover off the 15 s re-selection grid")
    announced = shifted.replace('"off_grid_handovers_s": []', f'"off_grid_handovers_s": [{time_s}]')
    assert announced != shifted
    assert _check(announced) == []


def test_a_trace_that_claims_15_s_but_hands_over_every_16_s_is_found(text):
    assert any(
        "16 s" in found.rule for found in _check(text.replace('"reattach_s": 15.0', '"reattach_s": 16.0'))
    )


def test_the_grid_counts_from_the_epoch_not_from_the_first_row(text):
    found = _check(text.replace('"start_s": 0.0', '"start_s": 7.0'))
    assert {violation.row for violation in found} == {_hard_row(text)}


def test_a_handover_without_an_outage_is_found(text):
    row = _hard_row(text)
    [violation] = _check(_edit(text, row, connected="1"))
    assert (violation.row, violation.rule) == (row, "must be 0 in the row of a hard_handover")


def test_an_outage_without_an_event_is_found(text):
    [violation] = _check(_edit(text, 50, connected="0"))
    assert (violation.row, violation.rule) == (50, "the connection ends without an event")


def test_a_route_change_without_an_event_is_found(text):
    found = _check(_edit(text, 50, path_id="99"))
    assert [violation.row for violation in found] == [50]
    assert found[0].rule == "the route (path_id) changes without an event"


def test_a_user_leg_that_was_frozen_is_found(text):
    frozen = text
    for row in range(40, 65):
        frozen = _edit(frozen, row, delay_ms="37.6")
    found = [violation for violation in _check(frozen) if "frozen" in violation.rule]
    assert [violation.row for violation in found] == [60]


@pytest.mark.parametrize("way", ["up", "down"])
def test_the_rules_hold_for_each_direction_alone(built, way):
    def found(text):
        return [
            (violation.row, violation.field, violation.rule.partition(":")[0]) for violation in _check(text)
        ]

    delay, connected = f"{way}_delay_ms", f"{way}_connected"
    assert found(_edit(built, 7, **{delay: "14"}))[0] == (7, delay, "faster than light")
    assert (21, delay, "falls faster than time runs") in found(_edit(built, 20, **{delay: "137.9"}))
    assert found(_edit(built, 50, **{connected: "0"})) == [
        (50, "event", "the connection ends without an event")
    ]
    frozen = built
    for row in range(40, 65):
        frozen = _edit(frozen, row, **{delay: "37.6"})
    assert (60, delay, "frozen for 2 s although the satellites move") in found(frozen)
    # An outage may be one direction's alone, but an event needs one.
    row = _hard_row(built)
    assert found(_edit(built, row, **{connected: "1"})) == []
    assert found(_edit(built, row, connected="1")) == [
        (row, "up_connected or down_connected", "must be 0 in the row of a hard_handover")
    ]


def test_metadata_out_of_range_is_one_line(text):
    bad = text.replace('"lat_deg": 32.7157', '"lat_deg": 132.7157')
    with pytest.raises(InputError, match=r"^x\.csv:1: metadata: from\.lat_deg: Input should be less"):
        _check(bad)


def test_the_grid_counts_from_the_re_selection_phase(text):
    row = _hard_row(text)
    shifted = text.replace('"start_s": 0.0', '"start_s": 7.0')
    shifted = re.sub(r'"reattach_phase_s": [\d.]+', '"reattach_phase_s": 7.0', shifted)
    assert _check(shifted) == []
    [violation] = _check(shifted.replace('"reattach_phase_s": 7.0', '"reattach_phase_s": 8.0'))
    assert violation.row == row


def test_an_outage_too_short_for_its_user_links_is_found(text):
    # LeoEM's missing z axis gives user links of 0.1 to 2.7 ms and outages of 5 to 9 ms; the minimum is 11 ms.
    row = _hard_row(text)
    time_s = float(text.split("\n")[2 + row].split(",")[0])
    [violation] = _check(_edit(text, row + 1, time_s=f"{time_s + 0.0109:.4f}"))
    assert (violation.row, violation.field) == (row, _field(text, "connected"))
    assert violation.rule.startswith("outage below 11.008 ms: its user links are shorter than the satellites")
    assert _check(_edit(text, row + 1, time_s=f"{time_s + 0.0111:.4f}")) == []


def test_without_sites_a_path_still_goes_up_and_down():
    data = physics.TraceMetadata(altitude_km=550)
    floor_ns, reason = physics.floor_ns(data)
    assert floor_ns == pytest.approx(2 * 550 / 299_792.458e-9, abs=2)
    assert reason == "up to a satellite at 550 km and down"
    assert physics.floor_ns(physics.TraceMetadata()) is None
