"""A flipped bit in, and the deletion of, each file that an evaluation, LeoBench or a cache keeps."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.cache.folder import Folder
from leogym.evaluation.leobench import board, version
from leogym.evaluation.leobench.result import read
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.store import Store
from leogym.evaluation.report import page
from leogym.traces.path import cache, shared, synth
from tests.damage import damaged, damages
from tests.support import scenarios, tiny_benchmark

RECORDED = ("run.json", "runs.parquet", "series/")
"""What a report is made of; it writes all other files anew."""


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("evaluation")
    suite = scenarios.written(folder, scenarios.suite("one", repeats=1), "one")
    words = ["--schemes", "cubic,reno", "--out", str(folder / "out"), "--cache", "none"]
    return [suite, *words]


@pytest.fixture(scope="module")
def out(arguments: list[str]) -> Path:
    cli.run(arguments)
    return Path(arguments[arguments.index("--out") + 1])


@pytest.fixture
def quick_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the page, which takes most of the time, by what it shows."""

    def render(results: Results, *_: Any) -> str:
        series = [
            (name, one.flows.rows(), one.links.rows())
            for suite in results.suites
            for scenario in results.scenarios(suite.name)
            for name, one in results.series(suite.name, scenario).items()
        ]
        return repr((results.runs.rows(), results.summary.rows(), series))

    monkeypatch.setattr(page, "render", render)
    monkeypatch.setattr(page.Prepared, "of", lambda results: None)


def test_a_report_and_a_comparison_refuse_each_damaged_file_or_are_the_same(out, quick_page, capsys):
    def outputs() -> list[str | bytes]:
        capsys.readouterr()
        cli.run(["report", str(out)])
        cli.run(["compare", str(out), str(out), "--format", "csv"])
        written = [path.read_bytes() for path in sorted(out.rglob("*")) if path.suffix in (".csv", ".html")]
        return [*written, capsys.readouterr().out]

    before = outputs()
    refused = set()
    for damage in damages(out):
        with damaged(out, damage):
            try:
                assert outputs() == before, damage
            except InputError as error:
                refused.add(str(damage))
                message = str(error)
                assert message.startswith(f"{out / damage.file}: "), damage
                assert "\n" not in message
                assert "make it again with: " in message
                assert f"--out {out}" in message
                assert message.endswith("--resume")
    recorded = {str(damage) for damage in damages(out) if damage.file.startswith(RECORDED)}
    # A flip of the last byte of run.json is one of white space.
    assert refused == recorded - ({"run.json: last"} - refused)


def test_a_resume_makes_each_damaged_file_again_and_says_so(out, arguments, quick_page, capsys):
    def tables() -> dict[str, str]:
        files = {path.relative_to(out).as_posix(): path for path in out.rglob("*.parquet")}
        return {name: repr(pl.read_parquet(path).rows()) for name, path in files.items()} | {
            "page": (out / "report.html").read_text()
        }

    cli.run([*arguments, "--resume"])
    before = tables()
    for damage in damages(out, skip=lambda name: not name.startswith(RECORDED)):
        with damaged(out, damage):
            capsys.readouterr()
            cli.run([*arguments, "--resume"])
            assert tables() == before, damage
            said = capsys.readouterr().err
            if damage.file.startswith("series/"):
                scheme = damage.file.split("--")[2]
                assert f"missing or changed: run again: one one {scheme} 0\n" in said
            elif str(damage) != "run.json: last":
                again = "all runs are run again" if damage.file == "runs.parquet" else "made again from"
                assert f"{out / damage.file}: " in said
                assert again in said


def test_a_damaged_run_that_the_command_does_not_name_is_refused(out, arguments):
    [series] = (out / "series" / "flows").glob("*cubic*")
    [damage] = [one for one in damages(out) if str(one) == f"series/flows/{series.name}: deleted"]
    other = [word.replace("cubic,reno", "reno") for word in arguments]
    with damaged(out, damage), pytest.raises(InputError, match=r"cubic.*: missing: make it again with: "):
        cli.run([*other, "--resume"])


def test_an_evaluation_that_ended_before_its_first_run_has_nothing_to_report(out, tmp_path):
    ended = shutil.copytree(out, tmp_path / "ended")
    store = Store.create(tmp_path / "new", {})
    (ended / "runs.parquet").write_bytes((store.folder / "runs.parquet").read_bytes())
    for words in (["report", str(ended)], ["compare", str(ended), str(out)]):
        with pytest.raises(InputError, match=rf"{ended}/runs.parquet: has no run yet: make .* --resume"):
            cli.run(words)


def test_a_folder_of_an_earlier_version_without_digests_is_read_and_resumed(out, arguments, quick_page):
    before = {path: path.read_bytes() for path in (out / "run.json", out / "runs.parquet")}
    described = json.loads(before[out / "run.json"])
    del described["sha256"]
    (out / "run.json").write_text(json.dumps(described))
    rows = pl.read_parquet(out / "runs.parquet")
    rows.write_parquet(out / "runs.parquet")
    assert Results.read(out).digests is None
    cli.run(["report", str(out)])
    cli.run([*arguments, "--resume"])
    assert len(Results.read(out).digests or {}) == 4
    assert Results.read(out).runs.rows() == rows.rows()
    for path, data in before.items():
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda run: run.pop("config"), "config: "),
        (lambda run: run.update(seed="one"), "seed: "),
        (lambda run: run["config"].update(suites={}), "config.suites: "),
        (lambda run: run["versions"].update(leosim=1), "versions.leosim: "),
        (lambda run: run.update(earlier=[{}]), "earlier.0.command, commit, date: "),
    ],
)
def test_a_key_of_run_json_that_is_missing_or_of_another_type_is_one_line(out, change, told):
    whole = (out / "run.json").read_bytes()
    described = json.loads(whole)
    del described["sha256"]
    change(described)
    (out / "run.json").write_text(json.dumps(described))
    try:
        with pytest.raises(InputError, match=told) as caught:
            cli.run(["report", str(out)])
        assert "\n" not in str(caught.value)
    finally:
        (out / "run.json").write_bytes(whole)


def test_a_leobench_result_that_changed_is_refused_and_judged_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(version, "FOLDER", tmp_path / "versions")
    tiny_benchmark.write(tmp_path / "versions/tiny")
    out = tmp_path / "out"
    judge = ["leobench", "cubic", "--version", "tiny", "--out", str(out), "--keep"]
    cli.run(judge)
    [path] = out.glob("*.json")
    before = read(path)
    for damage in damages(out, skip=lambda name: not name.endswith(".json")):
        with damaged(out, damage):
            if damage.kind == "deleted":
                continue
            try:
                same = read(path) == before
            except InputError:
                with pytest.raises(InputError, match=rf"^{re.escape(str(path))}(:\d+)?: [^\n]*$"):
                    board.write(out, tmp_path / "board.html")
            else:
                assert same, damage
    # A digit that stays a digit, in a value that the schema accepts.
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"value": 0.', b'"value": 0.0', 1))
    capsys.readouterr()
    cli.run(judge)
    assert f"judging cubic again: {path}: changed since it was written" in capsys.readouterr().err
    assert read(path).runs == before.runs


def test_each_flipped_bit_of_a_cached_result_is_noticed_or_harmless(tmp_path, capsys):
    rows = [{"flow": 0, "goodput_mbps": 0.1 + 0.2}]
    series = tmp_path / "flows.parquet"
    series.write_bytes(bytes(range(64)))
    kept = Folder(tmp_path / "kept")
    kept.put("ab12", rows, {"flows": series})
    [path] = (tmp_path / "kept").glob("??/*.zip")
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in (0, 6):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            entry = kept.get("ab12")
            if entry is not None:
                assert entry.rows == rows
                # Without its name, a series is missing, which `Store.copy_series` refuses.
                assert entry.series.get("flows", series.read_bytes()) == series.read_bytes()
    assert "damaged, running it again" in capsys.readouterr().err


def test_a_cached_result_under_the_key_of_another_is_not_taken(tmp_path, capsys):
    kept = Folder(tmp_path)
    kept.put("ab12", [{"flow": 0}], {})
    kept.put("ab34", [{"flow": 1}], {})
    (tmp_path / "ab" / "ab34.zip").write_bytes((tmp_path / "ab" / "ab12.zip").read_bytes())
    assert kept.get("ab34") is None
    assert "ab34.zip: damaged, running it again: holds the results of ab12" in capsys.readouterr().err


def test_each_damaged_file_of_the_trace_cache_is_built_again_and_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    name, traces = "starlink", tmp_path / "traces"
    data = cache.file(name).read_bytes()
    built = 0

    def write(_: object, path: Path) -> None:
        nonlocal built
        built += 1
        path.write_bytes(data)

    monkeypatch.setattr(synth, "write", write)
    for damage in damages(traces, skip=lambda file: file.endswith(".lock")):
        with damaged(traces, damage):
            capsys.readouterr()
            before = built
            assert cache.file(name).read_bytes() == data, damage
            assert built == before + 1
            if damage.kind != "deleted" or damage.file.endswith(".sha256"):
                assert ": built again\n" in capsys.readouterr().err
    # Another trace, with its digest, under this name.
    path = cache.file(name)
    other = path.with_name("other.csv")
    other.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    cache.cached_digest.write(other)
    path.write_bytes(other.read_bytes())
    path.with_name(f"{path.name}.sha256").write_bytes(other.with_name("other.csv.sha256").read_bytes())
    assert cache.file(name).read_bytes() == data


def test_each_damaged_file_of_cached_shared_paths_is_built_again_and_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    monkeypatch.setattr(shared, "pairs_of_trace", lambda name: "pairs" if "/" in name else None)
    monkeypatch.setattr(shared, "named", lambda _: type("Pairs", (), {"specs": ()}))
    monkeypatch.setattr(shared, "split", lambda _: None)
    monkeypatch.setattr(
        shared,
        "write_traces",
        lambda _, __, folder: [(folder / f"{name}.csv").write_text(name) for name in ("a", "b")],
    )
    folder = cache.file("pairs/a").parent
    for damage in damages(folder):
        with damaged(folder, damage):
            capsys.readouterr()
            texts = [cache.file(f"pairs/{name}").read_text() for name in ("a", "b")]
            assert texts == ["a", "b"], damage
            said = capsys.readouterr().err.count(": built again\n")
            # A flip of the list's last byte is one of white space.
            assert said == 1 or str(damage) == "SHA256SUMS: last"
    with pytest.raises(InputError, match="pairs/c: trace: no such stretch"):
        cache.file("pairs/c")
