import itertools

import polars as pl
import pytest

from leogym.common.errors import InputError
from studies.quic.__main__ import by_path, by_scheme, read


def evaluation(folder):
    rows = [
        {
            "suite": "quic-leo",
            "scenario": f"{path}, {load}",
            "scheme": scheme,
            "repeat": repeat,
            "completion_s": seconds + 0.1 * repeat,
            "delay_inflation": 1.5,
            "loss_rate": 0.02,
        }
        for scheme, (path, seconds), load, repeat in itertools.product(
            ("cubic", "bbr"), (("near", 1.0), ("far", 3.0)), ("100 kB", "4 MB"), range(3)
        )
    ]
    pl.DataFrame(rows).write_parquet(folder / "runs.parquet")
    return folder


def test_means_are_over_paths_and_intervals_over_repeats_of_each(tmp_path):
    runs = read(evaluation(tmp_path))
    [*_, cubic, _] = by_scheme(runs, {"cubic": "Linux 6", "bbr": "Linux 6"}).splitlines()
    assert cubic.startswith("| cubic | Linux 6 | 2.10 [2.0")
    assert cubic.count("2.0 [2.0, 2.0]") == 2
    assert "1.50 [1.50, 1.50]" in cubic
    assert by_path(runs, "4 MB").splitlines()[2:] == ["| cubic | 1.10 | 3.10 |", "| bbr | 1.10 | 3.10 |"]


def test_a_repeat_that_some_schemes_lack_does_not_count(tmp_path):
    file = evaluation(tmp_path) / "runs.parquet"
    whole = pl.read_parquet(file)
    whole.filter((pl.col("repeat") < 2) | (pl.col("scheme") == "cubic")).write_parquet(file)
    assert read(tmp_path)["repeat"].unique().sort().to_list() == [0, 1]


def test_downloads_that_do_not_end_are_counted_and_have_no_time(tmp_path):
    whole = evaluation(tmp_path)
    runs = read(whole).with_columns(
        pl.when((pl.col("scheme") == "bbr") & (pl.col("repeat") == 2))
        .then(None)
        .otherwise(pl.col("completion_s"))
        .alias("completion_s")
    )
    [*_, cubic, bbr] = by_scheme(runs, {"cubic": "Linux 6", "bbr": "Linux 6"}).splitlines()
    assert cubic.endswith("| 0 of 12 |")
    assert bbr.startswith("| bbr | Linux 6 | 2.05 [")
    assert bbr.endswith("| 4 of 12 |")


def test_a_folder_without_the_suite_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no runs of quic-leo"):
        read(tmp_path)
