import numpy as np
import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.traces.formats import series
from studies.transfer.__main__ import distances, table
from studies.transfer.whole_ms import SERVED_NS, in_whole_ms


def evaluation(folder, goodputs, rtts):
    folder.mkdir(parents=True)
    runs = [
        {"suite": "s", "scenario": f"{place}", "scheme": "orbit", "repeat": 0, "flow": 0}
        for place in range(len(goodputs))
    ]
    frame = pl.DataFrame(runs).with_columns(goodput_mbps=pl.Series(goodputs), rtt_mean_ms=pl.Series(rtts))
    frame.write_parquet(folder / "runs.parquet")


def test_distances_are_relative_to_the_simulator(tmp_path):
    evaluation(tmp_path / "simulator", [10.0, 20.0, 30.0], [50.0, 50.0, 50.0])
    evaluation(tmp_path / "lab", [10.1, 19.0, 30.0], [51.0, 50.0, 50.0])
    rows = distances(tmp_path)
    assert rows["backend"].to_list() == ["lab"] * 3
    assert rows["goodput"].to_list() == pytest.approx([0.01, -0.05, 0])
    assert "| orbit | lab | 1.0% (-5.0%) | 0.0% (+2.0%) | 3 |" in table(rows)


def test_a_folder_without_the_simulator_is_refused(tmp_path):
    evaluation(tmp_path / "lab", [1.0], [1.0])
    with pytest.raises(InputError, match="has no evaluations in simulator/"):
        distances(tmp_path)


def test_a_link_in_whole_ms_serves_4_or_5_packets_a_ms_at_50_mbps_and_nothing_between():
    path = series.constant(np.array([0, 500_000_000]), 10**9, np.array([30_000_000, 31_000_000]), 100.0)
    link = in_whole_ms(path, 50.0, 0.9)
    served, idle = link.up.bps[::2], link.up.bps[1::2]
    packets = served * SERVED_NS / 1e9 / 12_000
    assert set(packets) == {4.0, 5.0}
    assert packets.sum() == 50e6 * 0.9 / 12_000
    assert not idle.any()
    assert set(link.down.bps[::2] * SERVED_NS / 1e9 / 12_000) == {1.0}, "an opportunity for ACKs"
    assert not link.down.bps[1::2].any()
    assert link.time_ns[:4].tolist() == [0, SERVED_NS, 1_000_000, 1_000_000 + SERVED_NS]
    assert link.up.delay_ns[[0, 999, 1000]].tolist() == [30_000_000, 30_000_000, 31_000_000]
    late = in_whole_ms(path, 50.0, 0.9, seed=1)
    for bps in (late.up.bps, late.down.bps):
        # Rows in which the direction begins to serve: once a millisecond, late by a uniformly random time.
        begins = late.time_ns[np.flatnonzero((bps > 0) & (np.roll(bps, 1) == 0))]
        assert len(begins) == 900
        late_ns = begins[1:] % 1_000_000
        assert late_ns.max() < 950_000
        assert abs(late_ns.mean() - 475_000) < 40_000
    in_all = np.diff(np.append(late.time_ns, 900_000_000)) @ late.up.bps / 1e9 / 12_000
    assert in_all == pytest.approx(packets.sum())
