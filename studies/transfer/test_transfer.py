import polars as pl
import pytest

from leogym.common.errors import InputError
from studies.transfer.__main__ import distances, table


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
