import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.common.errors import InputError
from leogym.traces.formats import starlink_csv


def _read(tmp_path, text, columns="", delay_ms=None, bin_ms=100):
    file = tmp_path / "x.csv"
    file.write_text(text)
    mapping = starlink_csv.parse_mapping(columns) if columns else {}
    return starlink_csv.read(file, mapping, delay_ms, 80.0, bin_ms)


def test_lens_irtt_has_nanoseconds_and_minus_one_for_lost_probes(tmp_path):
    rows = [
        (0, 40, 20, 20),
        (10, 44, 22, 22),
        (20, -1, 0, 0),
        (100, 0, -1, 0),
        (150, 0, 0, -1),
        (200, 42, 21, 21),
    ]
    text = "timestamp,rtt,uplink,downlink\n" + "".join(
        f"{1_700_000_000_000_000_000 + ms * 1_000_000},{rtt},{up},{down}\n" for ms, rtt, up, down in rows
    )
    series, note = _read(tmp_path, text)
    assert note == (
        "columns by LENS IRTT: timestamp as time_ns (time in ns), "
        "rtt as rtt_ms (RTT in ms, negative if lost), "
        "uplink as uplink_lost (-1 if the probe was lost on the way up), "
        "downlink as downlink_lost (-1 if the probe was lost on the way down)"
    )
    assert series.time_ns.tolist() == [0, 100_000_000, 200_000_000]
    # The median of the probes that returned; a bin without any repeats it and is an outage.
    assert series.up.delay_ns.tolist() == [21_000_000, 21_000_000, 21_000_000]
    # One of two was lost on the way up, and the other one, the only one that got there, on the way down.
    assert series.up.connected.all()
    assert series.down.connected.tolist() == [True, False, True]
    assert series.event == ["", "unreachable", ""]
    assert series.up.loss.tolist() == [pytest.approx(1 / 3), 0.5, 0]
    assert series.down.loss.tolist() == [pytest.approx(1 / 3), 0, 0]
    assert set(series.down.bps.tolist()) == {80_000_000}


def test_lens_ping_has_seconds(tmp_path):
    series, note = _read(tmp_path, "timestamp,rtt\n1700000000.5,40.5\n1700000000.7,41\n")
    assert note.startswith("columns by LENS ping: timestamp as time_s")
    assert series.time_ns.tolist() == [0, 200_000_000]
    assert series.up.delay_ns.tolist() == [20_250_000, 20_500_000]


def test_rates_alone_need_a_delay_and_are_averaged(tmp_path):
    text = "time_s,downlink_mbps,uplink_mbps\n0,100,10\n0.05,50,20\n1,0,5\n"
    with pytest.raises(InputError, match=r"x\.csv: delay_ms: has no column of delays: give --delay-ms"):
        _read(tmp_path, text)
    series, _ = _read(tmp_path, text, delay_ms=25.0)
    assert series.down.bps.tolist() == [75_000_000, 0]
    assert series.up.bps.tolist() == [15_000_000, 5_000_000]
    assert series.up.delay_ns.tolist() == [25_000_000] * 2
    assert series.up.connected.all()


def test_a_mapping_names_the_columns_of_any_header(tmp_path):
    text = "when,note,RTT (s),drop\n2024-05-01T12:00:00+02:00,a,0.05,10\n2024-05-01T10:00:01Z,b,0.06,0\n"
    series, note = _read(tmp_path, text, "time_iso=when,rtt_s=RTT (s),loss_percent=drop")
    assert note.startswith("columns by --columns: when as time_iso")
    assert series.time_ns.tolist() == [0, 1_000_000_000]
    assert series.up.delay_ns.tolist() == [25_000_000, 30_000_000]
    assert series.up.loss.tolist() == [pytest.approx(0.1), 0]


@given(
    st.lists(
        st.tuples(st.integers(1, 20), st.floats(0.1, 4000.0), st.floats(0, 1000.0), st.booleans()),
        min_size=1,
        max_size=40,
    )
)
def test_one_sample_a_bin_comes_back_unchanged(tmp_path_factory, samples):
    if not any(answered for *_, answered in samples):
        return
    bins = np.cumsum([gap for gap, *_ in samples])
    text = "time_ms,rtt_ms,downlink_mbps\n" + "".join(
        f"{bin_ * 100},{rtt:.6f},{rate:.6f}\n" if answered else f"{bin_ * 100},-1,{rate:.6f}\n"
        for bin_, (_, rtt, rate, answered) in zip(bins, samples, strict=True)
    )
    series, _ = _read(tmp_path_factory.mktemp("csv"), text)
    assert series.time_ns.tolist() == ((bins - bins[0]) * 100_000_000).tolist()
    assert series.up.connected.tolist() == [answered for *_, answered in samples]
    want_ns = np.array([rtt * 500_000 for _, rtt, _, _ in samples])
    assert series.up.delay_ns[series.up.connected] == pytest.approx(want_ns[series.up.connected], abs=1)
    assert series.down.bps == pytest.approx([rate * 1e6 for _, _, rate, _ in samples], abs=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": file: is empty"),
        ("time_s,rtt_ms\n", ":1: file: has a header and no rows"),
        (
            "a,b\n1,2\n",
            ":1: header: must have one column of time (time_s, time_ms, time_ns, time_iso, time_utc); use",
        ),
        ("time_s,rtt_ms,delay_ms\n1,2,3\n", ":1: header: must have one column of delay or RTT"),
        ("time_s,time_s,rtt_ms\n1,2,3\n", ":1: header: must have one column 'time_s' for time_s"),
        ("time_s,rtt_ms\n0,20\n1\n", ":3: row: must have 2 columns, not 1"),
        ("time_s,rtt_ms\n1,20\n0,20\n", ":3: time_s: time runs backwards"),
        ("time_s,rtt_ms\n0,20\n1,inf\n", ":3: rtt_ms: must be a number from -1e+09 to 19998, not 'inf'"),
        ("time_s,rtt_ms\n0,-1\n1,-1\n", ": rtt_ms: every probe was lost"),
        ("time_iso,rtt_ms\n2024-01-01T00:00:00,20\n", ":2: time_iso: must be ISO 8601 with a zone"),
        ("time_iso,rtt_ms\n1024-01-01T00:00:00Z,20\n", ":2: time_iso: must be from 1970 to 2116"),
        ("time_s,rtt_ms,loss\n0,20,1.5\n", ":2: loss: must be a number from 0 to 1, not '1.5'"),
        ("time_s,rtt_ms,uplink_mbps\n0,20,-3\n", ":2: uplink_mbps: must be a number from 0 to 1e+06"),
    ],
)
def test_a_malformed_file_is_named_with_line_and_rule(tmp_path, text, message):
    with pytest.raises(InputError) as error:
        _read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'x.csv'}{message}")


@pytest.mark.parametrize("text", ["rtt_ms", "rtt_ms=", "colour=x", "=x"])
def test_a_malformed_mapping_is_refused(text):
    with pytest.raises(InputError, match=r"^--columns: .* must be FIELD=COLUMN, FIELD one of time_s"):
        starlink_csv.parse_mapping(text)


def test_a_field_with_two_columns_is_refused():
    with pytest.raises(InputError, match=r"^--columns: 'time_s=b': gives time_s a second column"):
        starlink_csv.parse_mapping("time_s=a,time_s=b")


def test_one_way_probes_give_each_direction_its_own_delay_and_outages(tmp_path):
    text = "time_ms,uplink_ms,downlink_ms\n0,30,14\n100,26,12\n200,-1,11\n300,25,-1\n"
    series, _ = _read(tmp_path, text)
    assert series.up.delay_ns.tolist() == [30_000_000, 26_000_000, 26_000_000, 25_000_000]
    assert series.down.delay_ns.tolist() == [14_000_000, 12_000_000, 11_000_000, 11_000_000]
    assert series.up.connected.tolist() == [True, True, False, True]
    assert series.down.connected.tolist() == [True, True, True, False]
    assert series.event == ["", "", "unreachable", "unreachable"]
    alone, _ = _read(tmp_path, "time_ms,uplink_ms\n0,30\n100,26\n")
    assert alone.up.delay_ns.tolist() == alone.down.delay_ns.tolist() == [30_000_000, 26_000_000]
    with pytest.raises(InputError, match=r"x\.csv:1: header: must have one column of delay or RTT"):
        _read(tmp_path, "time_ms,uplink_ms,rtt_ms\n0,30,40\n")
