"""mm-link's log: the meaning of each line, and malformed lines."""

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.mahimahi.link_log import parse_log, read_log

LOG = """\
# mahimahi mm-link (Uplink) [up.trace] > up.log
# command line: 'mm-link' 'up.trace'
# queue: droptail [packets=2]
# init timestamp: 1700000000000
# base timestamp: 40
41 # 1504
42 + 1504
42 + 104
42 + 1504
42 d 1 1504
43 # 1504
43 - 1504 1
44 # 1504
44 - 104 2
49 + 60
50 # 1504
"""


def _parse(text):
    return parse_log(text.splitlines(keepends=True), "up.log")


def test_every_event_is_read_in_bytes_of_ip_packets():
    log = _parse(LOG)
    assert log.header[2] == "queue: droptail [packets=2]"
    assert log.base_ms == 40
    assert log.opportunity_ms.tolist() == [41, 43, 44, 50]
    assert list(zip(log.arrival_ms, log.arrival_bytes, strict=True)) == [
        (42, 1500), (42, 100), (42, 1500), (49, 56)
    ]  # fmt: skip
    assert list(zip(log.departure_ms, log.departure_bytes, log.queued_ms, strict=True)) == [
        (43, 1500, 1), (44, 100, 2)
    ]  # fmt: skip
    assert (log.drop_ms.tolist(), log.dropped_packets.tolist()) == ([42], [1])


def test_throughput_and_capacity_count_a_window_that_excludes_its_end():
    log = _parse(LOG)
    assert log.throughput_mbps(43, 44) == pytest.approx(12)
    assert log.throughput_mbps(43, 45) == pytest.approx(1600 * 8e-3 / 2)
    assert log.capacity_mbps(43, 45) == pytest.approx(12)
    assert log.capacity_mbps(45, 50) == 0


def test_lateness_is_the_clock_after_an_opportunity_was_due():
    # 43 and 44 are due times; the next logged clock time is 49.
    log = _parse(LOG)
    assert log.lateness_ms(0, 49).tolist() == [1, 6, 5]
    assert log.lateness_ms(50, 51).tolist() == [0], "nothing tells after the last arrival"


def test_a_log_without_a_packet_has_a_capacity():
    log = _parse("# mahimahi mm-link (Uplink) [a] > b\n# base timestamp: 0\n1 # 1504\n2 # 1504\n")
    assert log.capacity_mbps(1, 3) == pytest.approx(12)
    assert log.throughput_mbps(1, 3) == 0
    assert log.departure_ms.shape == log.queued_ms.shape == (0,)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "up.log:1: must be"),
        ("1 # 1504\n", "up.log:1: must be"),
        ("# another tool's log\n1 # 1504\n", "up.log:1: must be"),
        (LOG.replace("base", "first"), "up.log: base timestamp: missing"),
        (LOG.replace(": 40", ": soon"), "up.log:5: base timestamp: must be"),
        (LOG + "51 - 1504\n", "up.log:17: must be T # SIZE"),
        (LOG + "51 ? 1504\n", "up.log:17: must be T # SIZE"),
        (LOG + "\n", "up.log:17: must be T # SIZE"),
        (LOG + "51 + many\n", "up.log:17: times and sizes"),
        (LOG + "5", "up.log:17: must be T # SIZE"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(text, where):
    with pytest.raises(InputError, match=where):
        _parse(text)


def test_a_log_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.log: cannot be read: No such file"):
        read_log(tmp_path / "absent.log")
