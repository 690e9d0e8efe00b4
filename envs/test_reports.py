import numpy as np

from leogym.envs.reports import FIELDS, ReportReader

NAMES = ["pacing_rate_bytes_per_s", "time_ns", "interval_ns", "delivered_bytes", "sent_bytes", "lost_bytes"]
NAMES += ["min_rtt_us", "avg_rtt_us", "cwnd_packets"]


def test_one_report_reads_as_it_does_among_others():
    rng = np.random.default_rng(1)
    reports = np.floor(rng.uniform(0, 1e9, (20, len(NAMES))))
    reports[3, NAMES.index("interval_ns")] = 0.0
    reader = ReportReader(NAMES)
    paths = rng.uniform(0, 1, (20, 2)).astype(np.float32)
    extra_rtt_ms = rng.uniform(0, 30, 20)
    together = reader.many(reports, paths, extra_rtt_ms)
    one_by_one = zip(reports, paths.tolist(), extra_rtt_ms, strict=True)
    assert [reader.one(report, path, extra) for report, path, extra in one_by_one] == together
    assert [list(one.values()) for one in together] == reader.table(reports, paths, extra_rtt_ms).tolist()
    assert list(together[0]) == list(FIELDS)
    first = dict(zip(NAMES, reports[0], strict=True))
    bits_per_ns = 8 * first["delivered_bytes"] / first["interval_ns"]
    np.testing.assert_allclose(together[0]["goodput_mbps"], 1e3 * bits_per_ns, rtol=1e-12)
    assert together[0]["rtt_ms"] == first["avg_rtt_us"] / 1e3
