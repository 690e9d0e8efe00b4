import json
import signal
import subprocess
import sys

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.evaluation.recorded import store
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.store import METADATA_KEY, SCHEMA, Store
from leogym.evaluation.runs.plan import Run
from tests.support.sample_results import sample_measurement, sample_plan

DESCRIPTION = {"command": "python evaluate.py leo-pair", "seed": 1}
CONTRACT = (
    "suite scenario scheme backend repeat seed flow start_s stop_s goodput_mbps capacity_mbps "
    "normalized_goodput rtt_mean_ms rtt_p95_ms base_rtt_mean_ms delay_inflation loss_rate "
    "retransmit_rate power trace_sha256"
)

# Records runs in sequence and kills itself just before it renames the KILL_AT-th file.
KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tests.support.sample_results import sample_measurement, sample_plan
from leogym.evaluation.recorded.store import Store

kill_at, calls, rename = int(sys.argv[2]), 0, os.replace

def replace(source, target):
    global calls
    calls += 1
    if calls == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)

os.replace = replace
store = Store.create(Path(sys.argv[1]), {})
for run in sample_plan("leo-pair", ["reno"], 2):
    store.record(run, sample_measurement(run.scenario))
"""


def record(store: Store, runs: list[Run]) -> None:
    for run in runs:
        store.record(run, sample_measurement(run.scenario))


@pytest.fixture
def runs() -> list[Run]:
    return sample_plan("leo-pair", ["cubic", "reno"], 1)


def test_runs_parquet_has_one_row_a_flow_and_run_with_the_columns_of_the_contract(tmp_path, runs):
    record(Store.create(tmp_path, DESCRIPTION), runs)
    table = pl.read_parquet(tmp_path / "runs.parquet")
    assert set(CONTRACT.split()) <= set(table.columns)
    assert len(table) == 2 * len(runs)
    assert table["trace_sha256"].null_count() == 0
    assert dict(table.schema) == SCHEMA


def test_every_parquet_file_describes_itself(tmp_path, runs):
    record(Store.create(tmp_path, DESCRIPTION), runs[:1])
    files = list(tmp_path.rglob("*.parquet"))
    assert len(files) == 3
    for path in files:
        described = json.loads(pl.read_parquet_metadata(path)[METADATA_KEY])
        assert described["command"] == DESCRIPTION["command"]
        if path.parent.parent.name == "series":
            assert described["run"]["scenario"]["seed"] == runs[0].scenario.seed


def test_all_series_of_a_kind_read_as_one_table_and_agree_with_the_rows(tmp_path, runs):
    store = Store.create(tmp_path, DESCRIPTION)
    record(store, runs)
    table = pl.read_parquet(tmp_path / "series" / "flows")
    keys = ["suite", "scenario", "scheme", "repeat", "flow"]
    means = table.group_by(keys).agg(pl.col("goodput_mbps").mean().alias("mean"))
    joined = store.rows.join(means.with_columns(pl.col("flow").cast(pl.Int64)), on=keys)
    assert len(joined) == 2 * len(runs)
    assert (joined["goodput_mbps"] - joined["mean"]).abs().max() < 1e-9  # type: ignore[operator]
    links = pl.read_parquet(tmp_path / "series" / "links")
    assert links["link"].unique().to_list() == ["path"]


def test_the_order_in_which_runs_end_leaves_no_trace_in_the_file(tmp_path, runs):
    for name, order in (("a", runs), ("b", runs[::-1])):
        record(Store.create(tmp_path / name, DESCRIPTION), order)
    assert (tmp_path / "a" / "runs.parquet").read_bytes() == (tmp_path / "b" / "runs.parquet").read_bytes()


def test_resuming_keeps_what_is_recorded(tmp_path, runs):
    record(Store.create(tmp_path, DESCRIPTION), runs)
    assert Store.resume(tmp_path, DESCRIPTION).recorded == {run.run_id for run in runs}


def test_a_folder_that_holds_runs_is_not_overwritten(tmp_path, runs):
    record(Store.create(tmp_path, DESCRIPTION), runs[:1])
    with pytest.raises(InputError, match="holds an evaluation"):
        Store.create(tmp_path, DESCRIPTION)


def test_hidden_files_that_a_run_did_not_write_stay(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / ".mine.tmp").touch()
    Store.create(tmp_path, DESCRIPTION)
    assert (tmp_path / "notes" / ".mine.tmp").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/out: --out: cannot be written"):
        Store.create(tmp_path / "file" / "out", DESCRIPTION)


@pytest.mark.parametrize("content", [b"", b"PAR1 nonsense"])
def test_a_damaged_runs_parquet_is_named(tmp_path, content):
    (tmp_path / "runs.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"runs\.parquet: cannot be read"):
        Store.resume(tmp_path, DESCRIPTION)


def test_a_damaged_digest_is_no_earlier_versions_file(tmp_path, runs):
    record(Store.create(tmp_path, DESCRIPTION), runs[:1])
    path = tmp_path / "runs.parquet"
    data = path.read_bytes()
    start = store._SEALED.search(data).start(1)
    path.write_bytes(data[:start] + b"x" + data[start + 1 :])
    with pytest.raises(InputError, match=r"runs\.parquet: changed since it was written"):
        Store.resume(tmp_path, DESCRIPTION)


def test_a_runs_parquet_of_other_columns_is_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="columns"):
        Store.resume(tmp_path, DESCRIPTION)


# Files are renamed in this order: runs.parquet (empty), then for each run flows, links and runs.parquet.
@pytest.mark.parametrize(("kill_at", "recorded"), [(1, None), (4, 0), (5, 1), (10, 2)])
def test_a_kill_at_any_file_leaves_only_whole_files_and_a_resume_loses_only_that_run(
    tmp_path, kill_at, recorded
):
    folder = tmp_path / "out"
    writer = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(folder), str(kill_at)], check=False)
    assert writer.returncode == -signal.SIGKILL
    for path in folder.rglob("*.parquet"):
        pl.read_parquet(path)
    assert (folder / "runs.parquet").exists() == (recorded is not None)
    planned = sample_plan("leo-pair", ["reno"], 2)
    store = Store.resume(folder, {})
    assert store.recorded == {run.run_id for run in planned[: recorded or 0]}
    assert not list(folder.rglob(".*.tmp"))
    record(store, [run for run in planned if run.run_id not in store.recorded])
    assert store.recorded == {run.run_id for run in planned}


def test_a_folder_of_an_earlier_version_is_refused_with_how_to_mend_it(tmp_path, runs):
    record(Store.create(tmp_path, DESCRIPTION), runs[:1])
    [path] = (tmp_path / "series" / "flows").iterdir()
    path.rename(tmp_path / "series" / f"flows--{path.name}")
    for open_it in (lambda: Store.resume(tmp_path, DESCRIPTION), lambda: Results.read(tmp_path)):
        with pytest.raises(InputError, match=r"series/KIND--NAME\.parquet is of an earlier version: move"):
            open_it()
    (tmp_path / "series" / f"flows--{path.name}").rename(path)
    assert len(Store.resume(tmp_path, DESCRIPTION).recorded) == 1
