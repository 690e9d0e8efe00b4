import numpy as np
import pytest

from leogym.kernel_bridge.bridge.client import REPORT_FIELDS
from leogym.kernel_bridge.runner.interval_reports import interval_reports
from leogym.kernel_bridge.runner.socket_log import CC_BYTES, INFO_BYTES, read_samples

# Offsets in struct tcp_info, counted in linux/tcp.h independently of the code under test.
TCP_INFO = {
    "tcpi_snd_mss": (16, 4),
    "tcpi_unacked": (24, 4),
    "tcpi_lost": (32, 4),
    "tcpi_retrans": (36, 4),
    "tcpi_rtt": (68, 4),
    "tcpi_rttvar": (72, 4),
    "tcpi_snd_ssthresh": (76, 4),
    "tcpi_snd_cwnd": (80, 4),
    "tcpi_total_retrans": (100, 4),
    "tcpi_pacing_rate": (104, 8),
    "tcpi_min_rtt": (148, 4),
    "tcpi_delivery_rate": (160, 8),
    "tcpi_delivered": (192, 4),
    "tcpi_bytes_sent": (200, 8),
    "tcpi_dsack_dups": (216, 4),
}
UNPACED = 2**64 - 1


def _reports(tmp_path, *samples, paced=False):
    """Return the reports of samples (ms, fields), logged like the guest's, as dictionaries."""
    log = tmp_path / "sent"
    with log.open("wb") as file:
        for time_ms, fields in samples:
            info = bytearray(INFO_BYTES)
            for name, value in ({"tcpi_snd_mss": 1448, "tcpi_delivered": 1} | fields).items():
                offset, size = TCP_INFO[name]
                info[offset : offset + size] = value.to_bytes(size, "little")
            file.write(round(1e6 * time_ms).to_bytes(8, "little"))
            file.write((INFO_BYTES).to_bytes(4, "little") + (0).to_bytes(4, "little"))
            file.write(bytes(info) + bytes(CC_BYTES))
    rows = interval_reports(read_samples(log), paced=paced)
    return [dict(zip(REPORT_FIELDS, row.tolist(), strict=True)) for row in rows]


def test_counters_become_what_an_interval_added_and_the_rest_is_as_it_stands(tmp_path):
    state = {
        "tcpi_unacked": 9,
        "tcpi_rtt": 41_000,
        "tcpi_rttvar": 700,
        "tcpi_min_rtt": 40_000,
        "tcpi_snd_cwnd": 12,
        "tcpi_snd_ssthresh": 8,
        "tcpi_pacing_rate": 500_000,
    }
    counted = {"tcpi_delivered": 4, "tcpi_bytes_sent": 14_480, "tcpi_delivery_rate": 300_000}
    later = {"tcpi_delivered": 6, "tcpi_bytes_sent": 17_376, "tcpi_delivery_rate": 290_000}
    first, second = _reports(tmp_path, (50.2, state | counted), (60.1, state | later), paced=True)
    assert first["time_ns"] == 50_200_000
    assert first["interval_ns"] == 10_000_000, "nothing was sent a sample ago"
    assert first["delivered_bytes"] == 3 * 1448, "the handshake's segment carried nothing"
    assert first["sent_bytes"] == 14_480
    assert second == dict.fromkeys(REPORT_FIELDS, 0) | {
        "time_ns": 60_100_000,
        "interval_ns": 9_900_000,
        "delivered_bytes": 2 * 1448,
        "sent_bytes": 2_896,
        "avg_throughput_bytes_per_s": 290_000,
        "min_rtt_us": 40_000,
        "srtt_us": 41_000,
        "rttvar_us": 700,
        "cwnd_packets": 12,
        "packets_out": 9,
        "mss_bytes": 1448,
        "pacing_rate_bytes_per_s": 500_000,
        "max_throughput_bytes_per_s": 300_000,
        "ssthresh_packets": 8,
    }


def test_an_interval_without_a_delivery_has_no_throughput(tmp_path):
    fields = {"tcpi_delivered": 4, "tcpi_delivery_rate": 300_000}
    throughput = [row["avg_throughput_bytes_per_s"] for row in _reports(tmp_path, (10, fields), (20, fields))]
    assert throughput == [300_000, 0]


def test_a_loss_counts_when_it_is_found_and_not_again_when_it_is_repaired(tmp_path):
    rows = _reports(
        tmp_path,
        (10, {"tcpi_unacked": 20}),
        (20, {"tcpi_unacked": 20, "tcpi_lost": 3}),
        (30, {"tcpi_unacked": 20, "tcpi_lost": 3, "tcpi_retrans": 2, "tcpi_total_retrans": 2}),
        (40, {"tcpi_unacked": 20, "tcpi_lost": 1, "tcpi_retrans": 1, "tcpi_total_retrans": 3}),
        (50, {"tcpi_total_retrans": 3}),
    )
    assert [row["lost_bytes"] for row in rows] == [0, 3 * 1448, 0, 0, 0]
    assert [row["retrans_out"] for row in rows] == [0, 0, 2, 1, 0]


@pytest.mark.parametrize("paced", [False, True])
def test_what_the_kernel_does_not_know_yet_is_0(tmp_path, paced):
    unknown = {"tcpi_min_rtt": 2**32 - 1, "tcpi_pacing_rate": UNPACED}
    [report] = _reports(tmp_path, (10, unknown), paced=paced)
    assert (report["min_rtt_us"], report["pacing_rate_bytes_per_s"]) == (0, 0)


def test_the_rate_that_the_kernel_keeps_for_a_scheme_that_does_not_pace_is_no_pacing_rate(tmp_path):
    [report] = _reports(tmp_path, (10, {"tcpi_pacing_rate": 500_000}))
    assert report["pacing_rate_bytes_per_s"] == 0


def test_a_flow_that_never_connected_has_no_reports(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    reports = interval_reports(read_samples(tmp_path / "empty"), paced=False)
    assert reports.shape == (0, len(REPORT_FIELDS))
    assert not np.any(reports)
