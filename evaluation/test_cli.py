import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.common.machine import most_at_a_time
from leogym.configs import names
from leogym.evaluation import cli, evaluating
from leogym.evaluation.runs import execute
from leogym.evaluation.runs.backends import BACKENDS, backend
from leogym.evaluation.runs.schemes import GROUPS, shipped
from leogym.results.intervals import SUMMARY_COLUMNS
from leogym.results.metrics import CALL_METRICS, METRICS

ROOT = Path(__file__).resolve().parents[1]
PAIR = """
duration_s: 3
links: {l: {rate_mbps: 10, delay_ms: 5}}
flows:
  - {scheme: $scheme, route: [l]}
  - {scheme: $scheme, start_s: 0.5, route: [l]}
"""
# Two seconds of a path with one outage, repeated.
TRACE = """# {"format": "leogym-path-trace", "version": 1, "name": "short"}
time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event
0,5,10,10,0,1,0,
1,6,10,10,0,0,1,hard_handover
1.05,6,10,10,0,1,1,
2,6,10,10,0,1,1,
"""


@pytest.fixture
def pair(tmp_path: Path) -> str:
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR)
    return str(path)


def test_a_trace_file_that_changes_before_a_resume_is_refused(tmp_path):
    trace, scenario = tmp_path / "short.csv", tmp_path / "one.yaml"
    trace.write_text(TRACE)
    scenario.write_text(
        f"duration_s: 1\nlinks: {{l: {{trace: {trace}}}}}\nflows: [{{scheme: $scheme, route: [l]}}]\n"
    )
    arguments = [str(scenario), "--schemes", "cubic", "--repeats", "1", "--out", str(tmp_path / "out")]
    cli.run(arguments)
    trace.write_text(TRACE.replace("0,5,10,10", "0,7,10,10"))
    with pytest.raises(InputError, match=r"--resume: has another setup: .*short\.csv: path trace: "):
        cli.run([*arguments, "--resume"])


def test_a_scenario_file_gives_every_output_and_the_reports_path_last(tmp_path, pair, capsys):
    out = tmp_path / "out"
    assert cli.run([pair, "--repeats", "2", "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(out / "report.html")
    rows = pl.read_parquet(out / "runs.parquet")
    assert rows.select("scheme", "repeat", "flow").n_unique() == len(rows) == 2 * 2 * 2
    assert rows["normalized_goodput"].is_between(0, 1).all()
    assert (rows["delay_inflation"] >= 1).all()
    summary = pl.read_csv(out / "summary.csv")
    assert tuple(summary.columns) == (*SUMMARY_COLUMNS, "quick")
    # No flow ends or has a workload, no schemes mix.
    workloads = {"qoe", "startup_s", "rebuffer_s", "switches", "page_load_s", *CALL_METRICS}
    assert set(summary["metric"]) == set(METRICS) - {"completion_s", "share"} - workloads
    assert [len(list((out / "series" / kind).iterdir())) for kind in ("flows", "links")] == [4, 4]
    assert sorted(path.suffix for path in (out / "figures").iterdir()) == [".svg"] * 3
    described = json.loads((out / "run.json").read_text())
    assert {"command", "commit", "versions", "config", "seed", "traces"} <= set(described)


def test_cross_traffic_shares_the_path_and_is_in_no_table(tmp_path, pair):
    crossed = tmp_path / "crossed.yaml"
    text = Path(pair).read_text()
    crossed.write_text(text.replace("flows:", "flows:\n  - {scheme: udp, rate_mbps: 2, route: [l]}", 1))
    out = tmp_path / "out"
    assert cli.run([str(crossed), "--repeats", "1", "--schemes", "cubic", "--out", str(out)]) == 0
    rows = pl.read_parquet(out / "runs.parquet")
    assert "udp" in set(rows["scheme"])
    assert set(pl.read_csv(out / "summary.csv")["scheme"]) == {"cubic"}


def test_the_number_of_jobs_leaves_no_trace_in_the_results(tmp_path, pair):
    for jobs in ("1", "3"):
        cli.run([pair, "--repeats", "2", "--jobs", jobs, "--out", str(tmp_path / jobs)])
    assert pl.read_parquet(tmp_path / "1" / "runs.parquet").equals(
        pl.read_parquet(tmp_path / "3" / "runs.parquet")
    )
    for path in (tmp_path / "1" / "series").rglob("*.parquet"):
        other = tmp_path / "3" / path.relative_to(tmp_path / "1")
        assert pl.read_parquet(path).equals(pl.read_parquet(other))
    summaries = [(tmp_path / jobs / "summary.csv").read_bytes() for jobs in ("1", "3")]
    assert summaries[0] == summaries[1]


def test_a_resume_runs_only_what_is_missing_and_ends_as_if_never_interrupted(tmp_path, pair, monkeypatch):
    once, twice = str(tmp_path / "once"), str(tmp_path / "twice")
    cli.run([pair, "--repeats", "3", "--out", once])
    cli.run([pair, "--repeats", "1", "--out", twice])
    started: list[str] = []
    run_here = execute.run_here

    def counting(runs, inputs, jobs, take):  # type: ignore[no-untyped-def]
        started.extend(run.run_id for run in runs)
        return run_here(runs, inputs, jobs, take)

    monkeypatch.setattr(execute, "run_here", counting)
    cli.run([pair, "--repeats", "3", "--out", twice, "--resume"])
    assert len(started) == 2 * 2
    cli.run([pair, "--repeats", "3", "--out", twice, "--resume"])
    assert len(started) == 2 * 2
    tables = [pl.read_parquet(Path(folder) / "runs.parquet") for folder in (once, twice)]
    assert tables[0].equals(tables[1])
    assert len(json.loads((tmp_path / "twice" / "run.json").read_text())["earlier"]) == 2


def test_a_resume_with_another_suite_reports_both(tmp_path, pair):
    solo = tmp_path / "solo.yaml"
    solo.write_text(PAIR.replace("  - {scheme: $scheme, start_s: 0.5, route: [l]}\n", ""))
    out = tmp_path / "out"
    cli.run([pair, "--repeats", "1", "--schemes", "cubic", "--out", str(out)])
    cli.run([str(solo), "--repeats", "1", "--schemes", "reno", "--out", str(out), "--resume"])
    summary = pl.read_csv(out / "summary.csv")
    assert set(summary.select("suite", "scheme").rows()) == {("pair", "cubic"), ("solo", "reno")}
    assert '<section id="pair" class="suite">' in (out / "report.html").read_text()


def test_repeats_start_at_their_own_times_of_a_path_trace(tmp_path):
    (tmp_path / "short.csv").write_text(TRACE)
    scenario = tmp_path / "traced.yaml"
    link = f"{{trace: '{tmp_path / 'short.csv'}', rate_mbps: 10}}"
    scenario.write_text(f"duration_s: 3\nlinks: {{l: {link}}}\nflows: [{{scheme: reno, route: [l]}}]\n")
    cli.run([str(scenario), "--repeats", "4", "--out", str(tmp_path / "out")])
    rows = pl.read_parquet(tmp_path / "out" / "runs.parquet").sort("repeat")
    assert rows["offset_s"][0] == 0
    assert rows["offset_s"].n_unique() == 4
    assert rows["offset_s"].is_between(0, 2).all()
    assert rows["trace_sha256"].n_unique() == 1


def test_a_policy_steers_the_scheme_that_it_is_given_for(tmp_path, pair):
    policy = ROOT / "core" / "control" / "tests" / "fixtures" / "perceptron"
    out = tmp_path / "out"
    cli.run([pair, "--repeats", "1", "--schemes", f"mine={policy},reno", "--out", str(out)])
    rows = pl.read_parquet(out / "runs.parquet")
    assert set(rows["scheme"]) == {"mine", "reno"}
    hashes = rows.group_by("scheme").agg(pl.col("policy_sha256").unique())
    found = dict(hashes.rows())
    assert found["reno"] == [None]
    assert len(found["mine"][0]) == 64


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name at least one"),
        (["leo-sngle"], "leo-sngle: no suite or scenario has this name (nearest: leo-single"),
        (["missing.yaml"], "missing.yaml: cannot be read"),
        (["PAIR", "--schemes", "vegas9"], "vegas9: not a scheme that this backend runs (nearest: vegas"),
        (["PAIR", "--schemes", "cubic,cubic"], "cubic: is a duplicate"),
        (["PAIR", "--schemes", "cubic=x"], "cubic: is built in"),
        (["PAIR", "--schemes", "mine="], "--schemes: mine=: must be NAME or NAME=PATH"),
        (["PAIR", "--schemes", "=x.py:X"], "--schemes: =x.py:X: must be NAME or NAME=PATH"),
        (["PAIR", "--schemes", "mine=nowhere"], "nowhere: policy.json"),
        (["PAIR", "--schemes", ","], "must name at least one scheme"),
        (["PAIR", "--backend", "magic"], "magic: not a backend that this build runs (there are: simulator, "),
        (["PAIR", "--repeats", "0"], "must be a whole number from 1 to 10000"),
        (["PAIR", "--jobs", "-1"], "--jobs"),
        (["PAIR", "--reapeats", "2"], "unrecognized arguments: --reapeats"),
        (["PAIR", "PAIR"], "two of the given suites and files have this name"),
        (["PAIR", "--ray", "127.0.0.1:1"], "127.0.0.1:1: no cluster answers"),
        (["PAIR", "--ray", "nonsense"], "nonsense: must be HOST:PORT"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, pair, arguments, told):
    arguments = [pair if argument == "PAIR" else argument for argument in arguments]
    out = tmp_path / "out"
    with pytest.raises(InputError) as raised:
        cli.run([*arguments, "--out", str(out)])
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_named_before_any_trace_is_built(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/out: --out: cannot be written: Not a directory"):
        cli.run(["leo-single", "--schemes", "reno", "--out", str(tmp_path / "file" / "out")])
    assert not (tmp_path / "cache").exists()


def test_a_folder_whose_name_is_not_utf_8_is_refused(pair):
    with pytest.raises(InputError, match=r"--out: .*a.udcff: must be a name in UTF-8"):
        cli.run([pair, "--out", os.fsdecode(b"a\xff")])


def test_a_resume_needs_a_folder(pair):
    with pytest.raises(InputError, match="--resume: needs --out"):
        cli.run([pair, "--resume"])


def test_schemes_that_no_scenario_takes_are_refused(tmp_path):
    fixed = tmp_path / "fixed.yaml"
    fixed.write_text(PAIR.replace("$scheme", "reno"))
    with pytest.raises(InputError, match="cubic: no flow of these scenarios has scheme: \\$scheme"):
        cli.run([str(fixed), "--schemes", "cubic", "--out", str(tmp_path / "out")])


@pytest.mark.parametrize("duration_s", [0.001, 0.05])
def test_a_run_shorter_than_an_interval_of_the_series_has_a_report(tmp_path, duration_s):
    file = tmp_path / "short.yaml"
    file.write_text(
        f"duration_s: {duration_s}\nlinks: {{l: {{rate_mbps: 50, delay_ms: 1}}}}\n"
        "flows: [{scheme: $scheme, route: [l]}, {scheme: udp, rate_mbps: 1, route: [l]}]\n"
    )
    out = tmp_path / "out"
    assert cli.run([str(file), "--schemes", "cubic", "--jobs", "1", "--repeats", "1", "--out", str(out)]) == 0
    rows = pl.read_parquet(out / "runs.parquet")
    assert rows["stop_s"].to_list() == [duration_s] * 2
    assert (out / "report.html").exists()


def test_runs_in_which_no_transfer_arrives_are_refused(tmp_path):
    file = tmp_path / "none.yaml"
    file.write_text(
        "duration_s: 1\nlinks: {l: {rate_mbps: 50, delay_ms: 1}}\n"
        "flows: [{scheme: $scheme, route: [l], arrivals: {rate_per_s: 0.000001, mean_bytes: 1000}}]\n"
    )
    with pytest.raises(InputError, match="none: flows: arrivals: no transfer arrived in any run: raise"):
        cli.run([str(file), "--schemes", "cubic", "--repeats", "1", "--out", str(tmp_path / "out")])


def test_the_script_exits_with_2_and_one_line_on_bad_input():
    done = subprocess.run(
        [sys.executable, "evaluate.py", "leo-sngle"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "leo-single" in done.stderr


def test_the_list_names_everything_in_80_columns(capsys):
    assert cli.run(["--list"]) == 0
    shown = capsys.readouterr().out
    for name in (*names.known(), *backend("simulator").schemes(), *shipped(), *BACKENDS, *GROUPS):
        assert re.search(rf"^  {re.escape(name)}\b", shown, re.MULTILINE), name
    assert max(map(len, shown.splitlines())) <= 80
    # The paper and its figure.
    assert "ANRW 2025, section 4 and Fig. 2" in " ".join(shown.split())


def test_a_scenarios_name_runs_as_its_file_does(tmp_path):
    path = names.scenarios()["static-100-cubic"]
    for given, out in (("static-100-cubic", "name"), (str(path), "file")):
        arguments = ["--schemes", "reno", "--repeats", "1", "--cache", "none", "--out", str(tmp_path / out)]
        assert cli.run([given, *arguments]) == 0
    rows = [pl.read_parquet(tmp_path / out / "runs.parquet") for out in ("name", "file")]
    assert set(rows[0]["scheme"]) == {"cubic", "reno"}
    assert rows[0].equals(rows[1])


def test_a_group_says_what_it_leaves_out(tmp_path, pair, monkeypatch, capsys):
    monkeypatch.setattr(backend("simulator"), "schemes", staticmethod(lambda: ["cubic", "reno"]))
    out = tmp_path / "out"
    assert cli.run([pair, "--schemes", "classic", "--repeats", "1", "--out", str(out)]) == 0
    assert set(pl.read_parquet(out / "runs.parquet")["scheme"]) == {"cubic", "reno"}
    assert re.search(r"^--schemes: simulator does not run bbr, .*: left out$", capsys.readouterr().err, re.M)


def test_more_jobs_than_the_machine_can_run_are_refused_with_the_number_that_it_can(pair):
    most = most_at_a_time(evaluating.RUN_BYTES)
    with pytest.raises(
        InputError, match=rf"--jobs: {most + 1}: this machine can run at most {most} at a time"
    ):
        cli.run([pair, "--jobs", str(most + 1)])


@pytest.mark.parametrize("arguments", [[], ["report"], ["compare"]])
def test_help_has_examples(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.run([*arguments, "--help"])
    assert ended.value.code == 0
    assert len(re.findall("^  leogym evaluate .*runs/", capsys.readouterr().out, re.MULTILINE)) >= 2
