import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.common.errors import InputError
from leogym.traces.formats import mahimahi
from leogym.traces.formats.conftest import make_series, random_series
from leogym.traces.formats.tally import Tally


def _opportunities(series, direction="uplink"):
    return np.concatenate(list(mahimahi.opportunities_ms(series, direction)))


def test_12_mbps_is_one_opportunity_a_millisecond():
    series = make_series([(0, 20, 12, 12, 1)], period_ms=10)
    assert _opportunities(series).tolist() == list(range(1, 11))


def test_an_opportunity_carries_one_ip_packet_of_1500_bytes():
    series = make_series([(0, 20, 100, 50, 1)], period_ms=60_000)
    assert len(_opportunities(series)) == 100e6 * 60 / 12_000
    assert len(_opportunities(series, "downlink")) == 50e6 * 60 / 12_000


def test_an_outage_has_no_opportunity():
    series = make_series([(0, 20, 96, 96, 1), (40, 20, 96, 96, 0), (55, 20, 96, 96, 1)], period_ms=100)
    found = _opportunities(series)
    assert not ((found > 40) & (found <= 55)).any()
    assert (found == 40).sum() == 8
    assert (found == 56).sum() == 8


def test_the_last_line_is_the_period_even_if_an_outage_ends_it():
    series = make_series([(0, 20, 12, 12, 1), (60, 20, 12, 12, 0)], period_ms=100)
    assert mahimahi.starting_offset_ns(series, "x") == 0
    found = _opportunities(series)
    # The packet at 100 ms is due at the start of the next round.
    assert found.tolist() == [*range(1, 60), 100]


def test_an_outage_over_the_wrap_moves_the_start_to_its_end():
    series = make_series([(0, 20, 12, 12, 0), (30, 21, 12, 12, 1), (60, 22, 12, 12, 0)], period_ms=100)
    offset_ns = mahimahi.starting_offset_ns(series, "x")
    assert offset_ns == 30_000_000
    found = _opportunities(series.rotated(offset_ns))
    assert found.tolist() == [*range(1, 30), 100]
    # Replayed twice from 30 ms, the outage of 70 ms has no opportunity.
    twice = np.concatenate([found, found + 100]) + 30
    assert not ((twice > 60) & (twice < 130)).any()


def test_a_trickle_has_at_least_one_opportunity_a_period():
    series = make_series([(0, 20, 0.001, 0.001, 1)], period_ms=1000)
    assert _opportunities(series).tolist() == [1000]


def test_a_direction_without_capacity_is_refused():
    series = make_series([(0, 20, 12, 0, 1)], period_ms=100)
    with pytest.raises(InputError, match=r"^x: downlink_mbps: is never above 0"):
        mahimahi.starting_offset_ns(series, "x")


def test_directions_that_never_have_capacity_together_are_refused_if_the_wrap_needs_it():
    rows = [(0, 20, 0, 0, 1), (10, 20, 12, 0, 1), (20, 20, 0, 12, 1), (30, 20, 0, 0, 1)]
    with pytest.raises(InputError, match=r"^x: uplink_mbps: is never above 0 while downlink_mbps is"):
        mahimahi.starting_offset_ns(make_series(rows, period_ms=100), "x")


def test_a_very_fast_link_does_not_overflow():
    series = make_series([(0, 20, 1e6, 1, 1)], period_ms=20)
    found = _opportunities(series)
    assert len(found) == round(1e12 * 0.020 / 12_000)
    assert (np.bincount(found)[1:] > 83_000).all()


@given(random_series(), st.sampled_from(mahimahi.DIRECTIONS))
def test_opportunities_carry_the_capacity_of_every_span_to_within_a_packet(series, direction):
    try:
        offset_ns = mahimahi.starting_offset_ns(series, "x")
    except InputError:
        return
    series = series.rotated(offset_ns)
    found = _opportunities(series, direction)
    period_ms = series.period_ns // 1_000_000
    assert (np.diff(found) >= 0).all()
    assert found[0] >= 1
    assert found[-1] == period_ms
    capacity = series.capacity_bps(direction)
    due = np.cumsum(capacity * ((series.end_ns - series.time_ns) / 1e9)) / 12_000
    assert abs(len(found) - due[-1]) <= max(0.5, 1 - due[-1]) + 1e-6
    # At the end of every row, the packets due have come, up to two for the two roundings (to whole packets
    # over the period, and to the packet at the wrap).
    for end_ns, packets in zip(series.end_ns, due, strict=True):
        assert np.searchsorted(found * 1_000_000, end_ns, side="right") <= packets + 2
        if end_ns < series.period_ns:
            assert packets - 2 <= np.searchsorted(found, -(-end_ns // 1_000_000), side="right")
    # Whole milliseconds of an outage have no opportunity.
    for start_ns, end_ns, bps in zip(series.time_ns, series.end_ns, capacity, strict=True):
        if bps == 0:
            inside = (found * 1_000_000 > start_ns + 1_000_000) & (found * 1_000_000 < end_ns)
            assert not inside.any()


@given(random_series())
def test_a_round_trip_gives_the_same_capacity_to_within_a_packet_a_bin(series):
    try:
        series = series.rotated(mahimahi.starting_offset_ns(series, "x"))
    except InputError:
        return
    found = _opportunities(series)
    period_ms = series.period_ns // 1_000_000
    back = mahimahi.capacity_bps(found, int(period_ms), 10)
    edges = np.minimum(np.arange(1, len(back) + 1) * 10, period_ms)
    lengths = np.diff(np.concatenate([[0], edges]))
    packets = np.cumsum(back * lengths / 1000 / 12_000)
    assert packets == pytest.approx(np.searchsorted(found, edges, side="right"), abs=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", ": file: is empty"),
        (b"0\n0\n", ":2: opportunity: the last one ends the period and must be above 0 ms"),
        (b"1\n\n2\n", ":2: opportunity: must be an integer from 0 to 10000000000, not ''"),
        (b"1\n2.5\n", ":2: opportunity: must be an integer from 0 to 10000000000, not '2.5'"),
        (b"-1\n", ":1: opportunity: must be an integer from 0 to"),
        (b"5\n4\n", ":2: opportunity: 4 ms is before the line above, 5 ms"),
        (b"5\n99999999999999999999999\n", ":2: opportunity: must be an integer"),
        (b"5\n\xff\n", ":2: file: not UTF-8 text"),
        (b"5\n" + b"6" * 2_000_000, ":2: file: the line is longer than 1048576 bytes"),
    ],
)
def test_a_malformed_trace_is_named_with_line_and_rule(tmp_path, text, message):
    file = tmp_path / "up.txt"
    file.write_bytes(text)
    with pytest.raises(InputError) as error:
        mahimahi.read_ms(file)
    assert str(error.value).startswith(f"{file}{message}")
    assert "\n" not in str(error.value)


def test_traces_of_different_periods_are_repeated_to_a_common_one_as_mahimahi_does(tmp_path):
    (tmp_path / "up").write_text("0\n5\n")
    (tmp_path / "down").write_text("2\n6\n")
    tally = Tally()
    series = mahimahi.read(tmp_path / "up", tmp_path / "down", (20, 20), bin_ms=1, tally=tally)
    assert series.period_ns == 30_000_000
    # Mahimahi's own rounds: two opportunities at 5, 10, …, and one at 2, 6, 8, 12, …
    assert np.flatnonzero(series.up.bps).tolist() == [4, 9, 14, 19, 24, 29]
    assert set(series.up.bps[series.up.bps > 0].tolist()) == {24_000_000}
    assert (np.flatnonzero(series.down.bps) + 1).tolist() == [2, 6, 8, 12, 14, 18, 20, 24, 26, 30]
    assert tally.remarks == ["period: 5 ms up and 6 ms down: both are repeated to 30 ms, as mm-link does"]


def test_traces_without_a_short_common_period_have_that_of_the_longer_one(tmp_path):
    # Two of mahimahi's own have 140,000 and 139,986 ms.
    (tmp_path / "up").write_text("70000\n139986\n")
    (tmp_path / "down").write_text("140000\n")
    tally = Tally()
    series = mahimahi.read(tmp_path / "up", tmp_path / "down", (20, 20), bin_ms=2, tally=tally)
    assert series.period_ns == 140_000 * 1_000_000
    assert (np.flatnonzero(series.up.bps) * 2 + 2).tolist() == [70_000, 139_986]
    [remark] = tally.remarks
    assert f"{tmp_path / 'up'} is repeated and cut to the 140000 ms of {tmp_path / 'down'}" in remark


def test_a_trace_that_is_too_short_for_the_other_ones_period_is_refused(tmp_path):
    (tmp_path / "up").write_text("0\n" * 10_000 + "1\n")
    (tmp_path / "down").write_text("9999999\n")
    with pytest.raises(InputError, match=r"up: period: 1 ms is too short for the other's 9999999 ms"):
        mahimahi.read(tmp_path / "up", tmp_path / "down", (20, 20))


def test_blank_lines_at_the_end_spaces_and_a_byte_order_mark_do_not_count(tmp_path):
    (tmp_path / "up").write_bytes(b"\xef\xbb\xbf1\r\n 2\r\n5 \r\n\r\n\n")
    assert mahimahi.read_ms(tmp_path / "up").tolist() == [1, 2, 5]


def test_a_trace_for_both_directions_is_read_into_bins(tmp_path):
    (tmp_path / "up").write_text("".join(f"{ms}\n" for ms in [*range(101), *range(151, 251)]))
    series = mahimahi.read(tmp_path / "up", tmp_path / "up", (20, 15))
    assert series.time_ns.tolist() == [0, 100_000_000, 200_000_000]
    # Time 0 is the end of the period.
    assert series.up.bps.tolist() == [12_000_000, 6_000_000, round(51 * 12_000 / 0.05)]
    assert series.down.bps.tolist() == series.up.bps.tolist()
    assert set(series.up.delay_ns.tolist()) == {20_000_000}
    assert set(series.down.delay_ns.tolist()) == {15_000_000}
