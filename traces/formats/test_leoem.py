import pytest

from leogym.common.errors import InputError
from leogym.traces.formats import importing, leoem
from leogym.traces.formats import series as rows


def _line(cycle, nodes, delays_ms):
    delays = [ms / 1000 for ms in delays_ms]
    return f"{cycle}${[-1, *nodes, -2]}${len(nodes) + 2}${delays}${sum(delays)}\n"


def _read(tmp_path, text):
    file = tmp_path / "log.txt"
    file.write_text(text)
    return leoem.read(file, 100.0)


def test_a_log_becomes_rows_with_the_emulators_outages(tmp_path):
    text = (
        _line(0, [5, 6], [2, 4, 3])
        + _line(1, [5, 9, 6], [2, 3, 3, 3])
        + _line(2, [7, 6], [2.5, 4, 3])
        + "3$NULL\n4$NULL\n"
        + _line(5, [7, 8], [2.6, 4, 2])
    )
    series, _ = _read(tmp_path, text)
    # 1.5 round trips are three times the delay: 3 (2 + 2.5) ms, then 3 (3 + 2) ms after the gap.
    assert series.time_ns.tolist() == [
        *(0, 1_000_000_000, 2_000_000_000, 2_013_500_000),
        *(3_000_000_000, 4_000_000_000, 5_000_000_000, 5_015_000_000),
    ]
    assert series.up.delay_ns.tolist() == [9_000_000, 11_000_000, *[9_500_000] * 4, *[8_600_000] * 2]
    assert series.up.connected.tolist() == [True, True, False, True, False, False, False, True]
    assert series.event == ["", "soft_handover", "hard_handover", "", "unreachable", "", "hard_handover", ""]
    assert series.path_id.tolist() == [0, 1, 2, 2, 2, 2, 3, 3]
    assert series.period_ns == 6_000_000_000
    assert rows.without_overtaking(series)[1] == 0


def test_every_row_with_a_leg_below_the_floor_is_found(tmp_path):
    text = (
        _line(0, [5, 6], [1.84, 4, 1.9])
        + _line(1, [5, 6], [1.82, 4, 1.9])
        # A gateway between satellites adds two legs to the ground; the laser before them may be short.
        + _line(2, [5, 4, 1600, 6], [1.9, 0.3, 1.9, 0.5, 0.018])
        + "3$NULL\n"
    )
    _, seconds = _read(tmp_path, text)
    first, second = leoem.below_floor(seconds)
    assert (first.line, second.line) == (2, 3)
    assert first.rule == (
        "1 of 2 legs to the ground are below 1.835 ms (550 km at the speed of light), the shortest 1.820 ms"
    )
    assert second.rule.startswith("2 of 4 legs to the ground")
    assert second.rule.endswith("the shortest 0.018 ms")


def test_a_user_leg_that_stands_still_is_found_even_if_the_path_changes(tmp_path):
    lines = [_line(cycle, [5, 6], [2, 4 + cycle / 10, 3 + cycle / 100]) for cycle in range(20)]
    _, seconds = _read(tmp_path, "".join(lines))
    [fault] = leoem.frozen_legs(seconds)
    assert (fault.line, fault.rule) == (
        4,
        "the first user leg stands still for 3 s although its satellite moves",
    )
    moving = [_line(cycle, [5, 6], [2 + cycle / 100, 4, 3 + cycle / 100]) for cycle in range(20)]
    assert leoem.frozen_legs(_read(tmp_path, "".join(moving))[1]) == []


@pytest.mark.parametrize(("slot_s", "faults"), [(15, 0), (16, 3)])
def test_a_grid_of_16_s_is_found(tmp_path, slot_s, faults):
    lines = [_line(cycle, [cycle // slot_s, 60], [2 + cycle / 100, 4, 2]) for cycle in range(5 * slot_s)]
    _, seconds = _read(tmp_path, "".join(lines))
    found = leoem.off_grid(seconds)
    assert len(found) == faults
    if found:
        assert found[0].line == 33
        assert found[0].rule == "a handover 16 s after the first is off the 15 s grid"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x$NULL", ":2: cycle: must be an integer from 0 to 10000000, not 'x'"),
        ("0$NULL", ":2: cycle: 0 must be after 0"),
        ("1$null", ":2: row: must have 5 fields between $, or be cycle$NULL, not 2"),
        ("1$-1, 5, -2$3$[0.1, 0.1]$0.2", ":2: nodes: must be a list in brackets"),
        ("1$[-1, -2]$2$[0.1]$0.1", ":2: nodes: must go from -1 over at least one satellite to -2"),
        ("1$[-1, 5, -1, -2]$4$[0.1, 0.1, 0.1]$0.3", ":2: nodes: must go from -1 over"),
        ("1$[-1, 5.5, -2]$3$[0.1, 0.1]$0.2", ":2: nodes: must be an integer from -2 to"),
        ("1$[-1, 5, -2]$3$[0.1]$0.1", ":2: delays: must be 2, one per hop, not 1"),
        ("1$[-1, 5, -2]$3$[0.1, nan]$0.1", ":2: delays: must be a number from 0 to 9.999, not 'nan'"),
        ("1$[-1, 5, -2]$3$[0.1, -0.1]$0", ":2: delays: must be a number from 0 to 9.999, not '-0.1'"),
        ("1$[-1, 5, -2]$3$[0.1, 0.1]$0.3", ":2: delay_sum: is 0.3 s, while the delays add up to 0.2 s"),
        ("\n1$NULL", ":2: cycle: must be an integer"),
    ],
)
def test_a_malformed_line_is_named_with_its_rule(tmp_path, line, message):
    with pytest.raises(InputError) as error:
        _read(tmp_path, _line(0, [5, 6], [2, 4, 3]) + line + "\n")
    assert str(error.value).startswith(f"{tmp_path / 'log.txt'}{message}")


def test_a_log_without_any_path_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"log\.txt:2: nodes: is NULL in every row: there is never a path"):
        _read(tmp_path, "0$NULL\n1$NULL\n")


def test_line_numbers_are_shown_as_ranges():
    assert importing.line_ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert importing.line_ranges([1, 3, 5], limit=2) == "1, 3, …"
