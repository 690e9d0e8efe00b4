import numpy as np

from leogym.envs.reports import FIELDS, ReportReader

NAMES = ["pacing_rate_bytes_per_s", "time_ns", "interval_ns", "delivered_bytes", "sent_bytes", "lost_bytes"]
NAMES += ["min_rtt_us", "avg_rtt_us", "cwnd_packets"]


def test_one_report_reads_as_it_does_among_others():
    rng = np.random.default_rng(1)
    reports = np.floor(rng.uniform(0, 1e9, (20, len(NAMES))))
    reports[3, NAMES.index("interval_ns")] = 0.0
    reader = ReportReader(NAMES)
    paths = rng.uniform(0, 100, (20, 2))
    rows = reader.read_rows(reports, paths)
    assert [reader.read(report, path) for report, path in zip(reports, paths.tolist(), strict=True)] == rows
    assert [list(row.values()) for row in rows] == reader.read_columns(reports, paths).T.tolist()
    assert list(rows[0]) == list(FIELDS)
    first = dict(zip(NAMES, reports[0], strict=True))
    bits_per_ns = 8 * first["delivered_bytes"] / first["interval_ns"]
    np.testing.assert_allclose(rows[0]["goodput_mbps"], 1e3 * bits_per_ns, rtol=1e-12)
    assert rows[0]["rtt_ms"] == first["avg_rtt_us"] / 1e3
    assert (rows[0]["capacity_mbps"], rows[0]["base_rtt_ms"]) == tuple(paths[0])
