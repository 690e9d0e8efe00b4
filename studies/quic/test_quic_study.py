import itertools

import leosim
import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.traces.path import cache
from studies.quic.__main__ import around_changes, by_change, by_path, by_scheme, changes_s, read


def evaluation(folder):
    rows = [
        {
            "suite": "quic-leo",
            "scenario": f"{path}, {load}",
            "scheme": scheme,
            "repeat": repeat,
            "flow": 0,
            "offset_s": 0.0,
            "share": 0.4,
            "completion_s": seconds + 0.1 * repeat,
            "delay_inflation": 1.5,
            "loss_rate": 0.02,
        }
        for scheme, (path, seconds), load, repeat in itertools.product(
            ("cubic", "bbr"),
            (("near", 1.0), ("far", 3.0)),
            ("100 kB", "1 MB", "4 MB", "10 MB", "beside CUBIC"),
            range(3),
        )
    ]
    pl.DataFrame(rows).write_parquet(folder / "runs.parquet")
    return folder


def test_means_are_over_paths_and_intervals_over_repeats_of_each(tmp_path):
    runs = read(evaluation(tmp_path))
    [*_, cubic, _] = by_scheme(runs, {"cubic": "Linux 6", "bbr": "Linux 6"}).splitlines()
    assert cubic.startswith("| cubic | Linux 6 | 2.10 [2.0")
    assert cubic.count("2.0 [2.0, 2.0]") == 3
    assert "1.50 [1.50, 1.50]" in cubic
    assert cubic.endswith("| 40 [40, 40] | 0 of 24 |")
    assert by_path(runs, "10 MB").splitlines()[2:] == ["| cubic | 1.10 | 3.10 |", "| bbr | 1.10 | 3.10 |"]


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
    assert cubic.endswith("| 0 of 24 |")
    assert bbr.startswith("| bbr | Linux 6 | 2.05 [")
    assert bbr.endswith("| 8 of 24 |")


TRACE = """# {"format": "leogym-path-trace", "version": 1, "name": "changes"}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
0,20,100,100,0,1,0,
5,20,100,100,0,0,1,hard_handover
5.01,30,100,100,0,1,1,
12,20,100,100,0,1,2,
20,20,100,100,0,1,2,
"""
"""Paths change after 5 s, with an outage, and after 12 s; the trace repeats after 20 s."""


def test_changes_of_path_are_those_of_the_runs_stretch():
    trace = leosim.PathTrace.parse(TRACE)
    assert changes_s(trace, 0.0, 30.0) == [(5.0, True), (12.0, False)]
    assert changes_s(trace, 10.0, 30.0) == [(2.0, False), (15.0, True)]
    assert changes_s(trace, 10.0, 8.0) == [(2.0, False)]


def test_goodput_after_a_change_is_compared_with_that_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "load", lambda name: leosim.PathTrace.parse(TRACE))
    flows = tmp_path / "series/flows"
    flows.mkdir(parents=True)
    rows = [
        {
            **{"suite": "quic-leo", "scenario": "near, 30 s", "scheme": "cubic", "repeat": 0},
            "time_s": step / 10,
            "goodput_mbps": 4.0 if 50 < step <= 70 else 8.0,
            "lost_packets": int(step == 60),
        }
        for step in range(1, 200)
    ]
    pl.DataFrame(rows).write_parquet(flows / "run.parquet")
    runs = pl.DataFrame(
        [
            {
                "path": "near",
                "load": load,
                "scheme": "cubic",
                "repeat": 0,
                "offset_s": 0.0,
                "stop_s": 13.0,
            }
            for load in ("30 s", "1 MB")
        ]
    )
    # The change after 12 s is too near the end.
    assert around_changes(tmp_path, runs).rows() == [("cubic", "near", True, 0.5, 1)]
    assert by_change(around_changes(tmp_path, runs)).endswith(
        "| cubic | 1 | 50 [nan, nan] | 1.0 [nan, nan] | 0 | – | – |"
    )


def test_a_folder_without_the_suite_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no runs of quic-leo"):
        read(tmp_path)
