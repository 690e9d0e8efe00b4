import json
import multiprocessing
import os
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from leogym.configs.suite import Compare
from leogym.evaluation import cli
from leogym.evaluation.cache import folder, taking
from leogym.evaluation.cache.folder import Folder
from leogym.evaluation.cache.taking import key
from leogym.evaluation.runs import execute
from leogym.evaluation.runs.backends import BACKENDS
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.study import Study
from tests.support.sample_results import sample_plan

PAIR = """
duration_s: 2
links: {l: {rate_mbps: 10, delay_ms: 5}}
flows: [{scheme: $scheme, route: [l]}, {scheme: $scheme, start_s: 0.5, route: [l]}]
"""
ROWS = [{"flow": 0, "scheme": "cubic", "goodput_mbps": 0.1 + 0.2, "completion_s": None}]


@pytest.fixture
def run() -> Run:
    return sample_plan("leo-pair", ["cubic"], 1)[0]


@pytest.fixture
def pair(tmp_path: Path) -> str:
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR)
    return str(path)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the scenarios that were simulated."""
    scenarios: list[str] = []
    measure = execute.measure

    def counted(engine, scenario_json, interval_ms):
        scenarios.append(scenario_json)
        yield from measure(engine, scenario_json, interval_ms)

    monkeypatch.setattr(execute, "measure", counted)
    return scenarios


def test_a_scheme_a_repeat_and_a_name_more_run_only_what_is_new(tmp_path, pair, made, capsys):
    kept = ["--cache", str(tmp_path / "kept")]
    cli.run([pair, "--schemes", "cubic", "--repeats", "2", "--out", str(tmp_path / "a"), *kept])
    assert len(made) == 2
    cli.run([pair, "--schemes", "cubic,reno", "--repeats", "2", "--out", str(tmp_path / "b"), *kept])
    assert len(made) == 4
    assert "2 of 4 runs are in the cache" in capsys.readouterr().err
    assert "2 runs of the last command" in (tmp_path / "b" / "report.html").read_text()
    other = tmp_path / "other.yaml"
    other.write_text(PAIR)
    # The first repeat keeps the written seed; later repeats of a file with another name draw other seeds.
    cli.run([str(other), "--schemes", "cubic", "--repeats", "1", "--out", str(tmp_path / "c"), *kept])
    assert len(made) == 4
    assert json.loads((tmp_path / "c" / "run.json").read_text())["from_cache"] == 1


def test_what_was_kept_gives_the_tables_and_series_of_what_is_run(tmp_path, pair):
    for out in ("made", "taken"):
        cli.run([pair, "--repeats", "2", "--cache", str(tmp_path / "kept"), "--out", str(tmp_path / out)])
    assert (tmp_path / "made" / "summary.csv").read_bytes() == (
        tmp_path / "taken" / "summary.csv"
    ).read_bytes()
    for path in [tmp_path / "made" / "runs.parquet", *(tmp_path / "made" / "series").rglob("*.parquet")]:
        other = tmp_path / "taken" / path.relative_to(tmp_path / "made")
        assert pl.read_parquet(path).equals(pl.read_parquet(other))


def test_series_that_were_not_kept_are_made_where_they_are_asked_for(tmp_path, pair, made):
    common = [pair, "--schemes", "cubic", "--repeats", "2", "--cache", str(tmp_path / "kept")]
    cli.run([*common, "--series", "first", "--out", str(tmp_path / "a")])
    assert {path.stem[-1] for path in (tmp_path / "a" / "series").rglob("*.parquet")} == {"0"}
    cli.run([*common, "--out", str(tmp_path / "b")])
    assert len(made) == 3
    assert len(list((tmp_path / "b" / "series").rglob("*.parquet"))) == 4


def test_series_that_a_study_reads_are_kept_of_every_repeat(tmp_path, pair):
    # Without series a claim about part of a run has one value and no interval.
    study = Study(
        "leogym study",
        "",
        (),
        list,
        list,
        lambda run: (run.suite, run.scheme) == ("pair", "cubic"),
        lambda _: None,
    )
    cli.run(
        [pair, "--schemes", "cubic,reno", "--repeats", "2", "--cache", "none", "--out", str(tmp_path / "a")],
        study=study,
    )
    flows = {path.stem for path in (tmp_path / "a" / "series" / "flows").iterdir()}
    assert {stem[-1] for stem in flows if "cubic" in stem} == {"0", "1"}
    assert {stem[-1] for stem in flows if "reno" in stem} == {"0"}


def test_a_damaged_entry_is_run_anew_and_a_line_says_so(tmp_path, pair, made, capsys):
    common = [pair, "--schemes", "cubic", "--repeats", "1", "--cache", str(tmp_path / "kept")]
    cli.run([*common, "--out", str(tmp_path / "0")])
    [entry] = (tmp_path / "kept").glob("??/*.zip")
    whole = entry.read_bytes()
    middle = len(whole) // 2
    for number, damaged in enumerate(
        [b"", whole[:middle], whole[: middle - 8] + bytes(16) + whole[middle + 8 :]], 1
    ):
        entry.write_bytes(damaged)
        capsys.readouterr()
        cli.run([*common, "--out", str(tmp_path / str(number))])
        assert f"warning: {entry}: damaged, running it again" in capsys.readouterr().err
        assert len(made) == 1 + number
        assert zipfile.ZipFile(entry).testzip() is None


def test_the_key_changes_with_whatever_decides_a_result_and_with_nothing_else(run):
    scenario = run.scenario
    [link] = scenario.links
    longer = scenario.links[link].model_copy(update={"offset_s": scenario.links[link].offset_s + 1})
    others = [
        replace(run, backend="lab"),
        replace(run, interval_ms=20.0),
        replace(run, fairness_last_s=1.0),
        replace(run, compare=Compare(ratio_of=0)),
        replace(run, traces=dict.fromkeys(run.traces, "f" * 64)),
        replace(run, policies={"cubic": "a" * 64}),
        replace(run, scenario=scenario.model_copy(update={"seed": scenario.seed + 1})),
        replace(run, scenario=scenario.model_copy(update={"links": {link: longer}})),
    ]
    keys = [key(run, "core"), key(run, "another core"), *(key(one, "core") for one in others)]
    assert len(set(keys)) == len(keys)
    named = replace(run, suite="another", scenario=scenario.model_copy(update={"name": "another"}))
    assert key(named, "core") == keys[0]


def test_rows_come_back_to_the_last_digit(tmp_path):
    kept = Folder(tmp_path)
    kept.put("ab12", ROWS, {})
    entry = kept.get("ab12")
    assert entry is not None
    assert entry.rows == ROWS
    assert kept.get("ab13") is None


def test_what_was_unused_for_longest_goes_first_and_what_the_killed_left(tmp_path):
    kept = Folder(tmp_path)
    for number in range(4):
        kept.put(f"{number}a", ROWS, {})
        os.utime(kept._file(f"{number}a"), (1000 + number, 1000 + number))
    [size] = {path.stat().st_size for path in tmp_path.glob("??/*.zip")}
    left, fresh = tmp_path / "0a" / ".x.tmp", tmp_path / "0a" / ".y.tmp"
    left.write_bytes(b"x")
    fresh.write_bytes(b"y")
    os.utime(left, (1000, 1000))
    kept.get("0a")  # used just now
    Folder(tmp_path, most_bytes=2 * size).trim()
    assert [kept.has(f"{number}a") for number in range(4)] == [True, False, False, True]
    assert (left.exists(), fresh.exists()) == (False, True)


def test_a_folder_stays_within_its_size_while_it_is_written_to(tmp_path):
    Folder(tmp_path).put("aa", ROWS, {})
    size = next(tmp_path.glob("??/*.zip")).stat().st_size
    small = Folder(tmp_path, most_bytes=10 * size)
    for number in range(60):
        small.put(f"b{number}", ROWS, {})
    assert len(list(tmp_path.glob("??/*.zip"))) <= 11


def _put_again_and_again(path: str) -> None:
    kept = Folder(Path(path))
    while True:
        kept.put("cc", ROWS * 2000, {})


def test_writers_that_are_killed_never_leave_half_an_entry(tmp_path, capsys):
    kept = Folder(tmp_path)
    kept.put("cc", ROWS * 2000, {})
    context = multiprocessing.get_context("fork")
    for _ in range(5):
        writers = [context.Process(target=_put_again_and_again, args=(str(tmp_path),)) for _ in range(2)]
        for writer in writers:
            writer.start()
        deadline = time.monotonic() + 0.1
        while time.monotonic() < deadline:
            entry = kept.get("cc")
            assert entry is not None
            assert len(entry.rows) == 2000
        for writer in writers:
            writer.kill()
            writer.join()
        assert kept.get("cc") is not None
    assert capsys.readouterr().err == ""


def test_a_disk_that_takes_no_more_is_said_once_and_nothing_else_suffers(tmp_path, monkeypatch, capsys):
    kept = Folder(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.os, "replace", full)
    kept.put("aa", ROWS, {})
    kept.put("ab", ROWS, {})
    assert capsys.readouterr().err == f"warning: {tmp_path}: results not cached: No space left on device\n"
    assert not list(tmp_path.glob("??/.*.tmp"))


def test_the_folder_is_where_caches_are_unless_it_is_named(monkeypatch):
    for name in ("LEOGYM_RESULTS", "LEOGYM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert folder.default() == str(Path.home() / ".cache" / "leogym" / "results")
    for name, value, found in (
        ("XDG_CACHE_HOME", "/x", "/x/leogym/results"),
        ("LEOGYM_CACHE", "/l", "/l/results"),
        ("LEOGYM_RESULTS", "/r", "/r"),
        ("LEOGYM_RESULTS", "none", "none"),
    ):
        monkeypatch.setenv(name, value)
        assert folder.default() == found
    assert folder.opened(None) is None


def test_the_key_of_a_policys_or_programs_run_changes_with_the_code_that_runs_programs(run, monkeypatch):
    steered = replace(run, policies={"cubic": "a" * 64})
    before = [key(run, "version"), key(steered, "version")]
    monkeypatch.setattr(taking, "_steered_by", lambda: "other code")
    after = [key(run, "version"), key(steered, "version")]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False]
    files = {path.name for path in taking.PROGRAMS_RUN_BY}
    assert {"programs.py", "worker.py", "process.py", "flow_report.py"} <= files


def test_only_backends_that_repeat_themselves_have_a_version():
    versions = {
        name: kind.version() for name, kind in BACKENDS.items() if kind.real_time or name == "simulator"
    }
    assert {name for name, version in versions.items() if version is None} == set(versions) - {"simulator"}
