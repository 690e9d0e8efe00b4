import pytest

from leogym.configs.errors import InputError
from leogym.traces.formats import exchange, wetlinks
from leogym.traces.formats.exchange import Options

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
    series, extra, notes, _ = exchange.read(file, "wetlinks", Options())
    assert series.time_ns.tolist() == [0, 10**9, 2 * 10**9]
    assert series.period_ns == 3 * 10**9
    # The user is at "to": its download goes from → to.
    assert series.up.bps.tolist() == [100_000_000, 120_000_000, 80_000_000]
    assert series.down.bps.tolist() == [10_000_000, 12_000_000, 8_000_000]
    # Half of the best RTT of the nearest series with answers.
    assert series.up.delay_ns.tolist() == [20_000_000, 20_000_000, 25_000_000]
    assert series.up.loss.tolist() == [0.01, 0.01, 0]
    assert extra["terminal_at"] == "to"
    assert notes[0] == "2 runs of iperf, 3 s, one after the other without the pauses between them"
    assert notes[1].startswith("delay and loss of 3 s from ")


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
