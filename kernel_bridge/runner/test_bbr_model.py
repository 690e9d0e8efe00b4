import numpy as np

from leogym.kernel_bridge.runner import bbr_model
from leogym.kernel_bridge.runner.socket_log import _SAMPLE, read_samples
from leogym.results.measurement import ordered


def samples(rows: list[tuple[int, int, int, int, int]]) -> np.ndarray:
    """Return samples of (bytes per s, min RTT in us, pacing gain, window gain, time in ms)."""
    info = np.zeros(len(rows), bbr_model.INFO)
    for row, (rate, min_rtt_us, pacing_gain, cwnd_gain, _) in zip(info, rows, strict=True):
        row["bw_lo"], row["bw_hi"] = rate % 2**32, rate >> 32
        row["min_rtt_us"], row["pacing_gain"], row["cwnd_gain"] = min_rtt_us, pacing_gain, cwnd_gain
    return info


def test_the_gains_of_linux_determine_the_states():
    # tcp_bbr.c: bbr_high_gain 739, bbr_drain_gain 88, bbr_pacing_gain 320, 192 and 256, bbr_cwnd_gain 512.
    gains = np.array([[739, 739], [88, 739], [320, 512], [192, 512], [256, 512], [256, 256]])
    assert bbr_model.states(gains[:, 0], gains[:, 1]).tolist() == [1, 2, 6, 3, 4, 7]


def test_a_row_has_the_last_sample_before_it():
    rows = [
        (0, 2**32 - 1, 739, 739, 0),
        (125_000, 40_000, 739, 739, 10),
        (6_000_000_000, 39_500, 320, 512, 20),
    ]
    series = bbr_model.series(
        2, samples(rows), np.array([0, 10, 20]) * 1_000_000, np.array([5, 10, 30]) * 1_000_000
    )
    assert series["bw_mbps"].tolist() == [0, 1, 48_000]
    assert np.isnan(series["min_rtt_ms"][0])
    assert series["min_rtt_ms"][1:].tolist() == [40, 39.5]
    assert series["state"].tolist() == [1, 1, 6]
    assert series["pacing_gain"][2] == 1.25
    assert series["flow"].tolist() == [2, 2, 2]
    assert np.isnan(ordered("bbr_series", series)["round"]).all()


def test_a_log_has_a_model_only_if_the_kernel_reports_that_of_bbr(tmp_path):
    rows = np.zeros(2, _SAMPLE)
    rows["info_bytes"] = 280
    info = samples([(1000, 40_000, 739, 739, 0), (2000, 40_000, 88, 739, 10)])
    rows["cc"][:, :20] = info.view(np.uint8).reshape(2, 20)
    for cc_bytes, has_model in ((0, False), (16, False), (20, True)):
        rows["cc_bytes"] = cc_bytes
        rows.tofile(tmp_path / "log")
        read = read_samples(tmp_path / "log").bbr
        assert (read is not None) == has_model
    assert read is not None
    assert read["bw_lo"].tolist() == [1000, 2000]
