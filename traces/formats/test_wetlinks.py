import pytest

from leogym.common.errors import InputError
from leogym.traces.formats import importing, wetlinks
from leogym.traces.formats.format import Options

IPERF = "site_name,timestamp_start,timestamp_end,server,ip_protocol,transport_protocol,download,upload\n"
PINGS = (
    "site_name,timestamp_start,timestamp_end,target,ip_protocol,packet_loss,packets_send,"
    "ping_avg,ping_worst,ping_best,ping_stddev\n"
)


def _second(at, down, up, minute=0):
    start, end = (f"2023-09-28T12:{minute:02}:{second:02}" for second in (at, at + 1))
    return f"utwente,{start},{end},server,ipv4,TCP,{down},{up}\n"


def _pings(minute, loss, best):
    start = f"2023-09-28 12:{minute:02}:40+00:00"
    return f"utwente,{start},{start},1.1.1.1,ipv4,{loss},100,60,90,{best},7\n"


def _files(tmp_path, seconds, pings=None):
    file = tmp_path / "net_iperf.csv"
    file.write_text(IPERF + "".join(seconds))
    if pings is not None:
        (tmp_path / "net_ping.csv").write_text(PINGS + "".join(pings))
    return file


def test_runs_of_iperf_follow_one_another_with_the_pings_nearest_to_them(tmp_path):
    seconds = [_second(0, 100e6, 10e6), _second(1, 120e6, 12e6), _second(0, 80e6, 8e6, minute=5)]
    file = _files(tmp_path, seconds, [_pings(0, 1.0, 40), _pings(4, 0, 50), _pings(5, 100, "")])
    series, job = importing.read(file, "wetlinks", Options())
    assert series.time_ns.tolist() == [0, 10**9, 2 * 10**9]
    assert series.period_ns == 3 * 10**9
    # The user is at "to": its download goes from → to.
    assert series.up.bps.tolist() == [100_000_000, 120_000_000, 80_000_000]
    assert series.down.bps.tolist() == [10_000_000, 12_000_000, 8_000_000]
    # Half of the best RTT of the nearest series with answers.
    assert series.up.delay_ns.tolist() == [20_000_000, 20_000_000, 25_000_000]
    assert series.up.loss.tolist() == [0.01, 0.01, 0]
    assert job.metadata["terminal_at"] == "to"
    assert job.notes[0] == "2 runs of iperf, 3 s, one after the other without the pauses between them"
    assert job.notes[1].startswith("delay and loss of 3 s from ")


def test_seconds_without_pings_nearby_need_a_delay(tmp_path):
    file = _files(tmp_path, [_second(0, 1e6, 1e6), _second(0, 1e6, 1e6, minute=30)], [_pings(0, 0, 40)])
    with pytest.raises(InputError, match=r"net_iperf\.csv:3: delay_ms: has no ping within 600 s"):
        wetlinks.read(file, tmp_path / "net_ping.csv", None)
    series, _ = wetlinks.read(file, tmp_path / "net_ping.csv", 30.0)
    assert series.up.delay_ns.tolist() == [20_000_000, 30_000_000]


@pytest.mark.parametrize(
    ("seconds", "error"),
    [
        ([], r":1: file: has a header and no rows"),
        (["a,b\n"], r":2: row: must have 8 columns, not 2"),
        ([_second(0, "fast", 1)], r":2: download: must be a number"),
        ([_second(0, 1, -1)], r":2: upload: must be a number from 0"),
        ([_second(0, 1, 1).replace("T12", "Tnoon")], r":2: timestamp_start: must be an ISO 8601 time"),
        ([_second(9, 1, 1), _second(0, 1, 1)], r":3: timestamp_start: time runs backwards"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_rule(tmp_path, seconds, error):
    with pytest.raises(InputError, match=error):
        wetlinks.read(_files(tmp_path, seconds), None, 20.0)


def test_what_is_not_measured_holds_the_last_value_and_is_counted(tmp_path):
    seconds = [_second(0, 100e6, 10e6), _second(1, "", 12e6), _second(1, 90e6, 9e6), _second(2, 80e6, "NaN")]
    pings = [_pings(0, 0, 0), _pings(1, 100, ""), _pings(2, 0, 3.5), _pings(3, "", 40), _pings(4, 2, 44)]
    file = _files(tmp_path, seconds, pings)
    series, job = importing.read(file, "wetlinks", Options())
    assert series.up.bps.tolist() == [100_000_000, 100_000_000, 80_000_000]
    assert series.down.bps.tolist() == [10_000_000, 12_000_000, 12_000_000]
    assert set(series.up.delay_ns.tolist()) == {22_000_000}
    assert job.notes[2] == (
        f"{tmp_path / 'net_ping.csv'}: 1 of 5 series of pings has an RTT of 0: not measured (line 2); "
        "1 of 5 series of pings is lost: the nearest other one counts (line 3); "
        "1 of 5 series of pings has an RTT below the 4.54 ms that light needs: not measured (line 4); "
        "1 of 5 series of pings has no packet_loss: not measured (line 5)"
    )
    assert job.notes[4] == (
        f"{file}: 2 of 4 seconds have no download or no upload: the last one holds (the first in line 3); "
        "1 of 4 seconds has the time of the row before: left out (line 4)"
    )
    # Satellites may fly lower, or not at all.
    series, _ = importing.read(file, "wetlinks", Options(altitude_km=100.0))
    assert set(series.up.delay_ns.tolist()) == {1_750_000}


def test_a_spreadsheets_semicolons_and_decimal_commas_are_read(tmp_path):
    plain = _files(tmp_path, [_second(0, 1.5e6, 2e6)], [_pings(0, 0.5, 44.5)])
    expected, _ = wetlinks.read(plain, tmp_path / "net_ping.csv", None)
    for file in (plain, tmp_path / "net_ping.csv"):
        text = file.read_text().replace(",", ";").replace(".5", ",5")
        file.write_text("\ufeff" + text.replace("\n", ";\r\n"))
    series, _ = wetlinks.read(plain, tmp_path / "net_ping.csv", None)
    assert series.up.bps.tolist() == expected.up.bps.tolist() == [2_000_000]
    assert series.up.delay_ns.tolist() == expected.up.delay_ns.tolist() == [22_250_000]
    assert series.up.loss.tolist() == expected.up.loss.tolist() == [0.005]


def test_bad_pings_are_refused_by_line_and_rule(tmp_path):
    for pings, error in (
        ([], r"net_ping\.csv: file: has no answered ping"),
        ([_pings(0, 101, 40)], r"net_ping\.csv:2: packet_loss: must be a number from 0 to 100"),
        ([_pings(0, 0, 40), _pings(0, 0, "")], r"net_ping\.csv:3: ping_best: must be a number"),
    ):
        file = _files(tmp_path, [_second(0, 1, 1)], pings)
        with pytest.raises(InputError, match=error):
            wetlinks.read(file, tmp_path / "net_ping.csv", None)
    (tmp_path / "net_iperf.csv").write_text("timestamp_start,download\n")
    with pytest.raises(InputError, match=r":1: header: must have one column 'timestamp_end'"):
        wetlinks.read(tmp_path / "net_iperf.csv", None, 20.0)
