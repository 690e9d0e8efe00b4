"""Bad input prints one line with file, field and rule, exits with 2, and leaves no partial files.

The rooms' tests have every rule; these are a few of each kind through the commands.
"""

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
HEADER = "time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event"
GOOD_ROWS = ["0,20,100,100,0,1,0,", "0.1,21,100,100,0,1,0,", "0.2,20,100,100,0,1,0,"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process, to import everything only once."""

    def run(*arguments: str | Path) -> Done:
        words = [str(argument) for argument in arguments]
        module = words[0] == "-m"
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "argv", words[1:] if module else words)
        status: object = 0
        try:
            if module:
                runpy.run_module(words[1], run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            status = end.code
        captured = capfd.readouterr()
        return Done(int(status or 0), captured.out, captured.err)

    return run


def one_line(done: Done, *parts: str) -> None:
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0], lines[0]


def trace(folder: Path, rows: list[str], end: str = "\n") -> Path:
    metadata = json.dumps({"format": "leogym-path-trace", "version": 1, "name": "made-up"})
    path = folder / "trace.csv"
    path.write_text("\n".join([f"# {metadata}", HEADER, *rows]) + end)
    return path


def scenario(folder: Path, **changes: object) -> Path:
    data = {
        "name": "mine",
        "duration_s": 2,
        "links": {"path": {"rate_mbps": 10, "delay_ms": 10}},
        "flows": [{"scheme": "cubic", "route": ["path"]}],
        **changes,
    }
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def on_trace(folder: Path, path: Path | str) -> Path:
    return scenario(folder, links={"path": {"trace": str(path), "rate_mbps": 10}})


def test_the_scenario_that_the_others_spoil_is_good(run, tmp_path):
    done = run("evaluate.py", on_trace(tmp_path, trace(tmp_path, GOOD_ROWS)), "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("rows", "end", "parts"),
    [
        ([*GOOD_ROWS, "0.3,-1,100,100,0,1,0,"], "\n", ("trace.csv:6", "delay_ms")),
        (GOOD_ROWS, "", ("trace.csv", "truncated")),
    ],
    ids=["negative delay", "truncated"],
)
def test_a_spoilt_trace_is_named_with_line_and_rule(run, tmp_path, rows, end, parts):
    path = on_trace(tmp_path, trace(tmp_path, rows, end))
    one_line(run("evaluate.py", path, "--out", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_a_missing_trace_is_named(run, tmp_path):
    done = run("evaluate.py", on_trace(tmp_path, "nowhere.csv"), "--out", tmp_path / "out")
    one_line(done, "nowhere.csv")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"flows": [{"scheme": "cubik", "route": ["path"]}]}, ("mine.yaml", "scheme", "cubik", "cubic")),
        ({"links": {"path": {"rate_mbps": float("nan"), "delay_ms": 1}}}, ("mine.yaml", "rate_mbps")),
    ],
    ids=["scheme", "NaN"],
)
def test_a_spoilt_scenario_is_named_with_field_and_rule(run, tmp_path, changes, parts):
    one_line(run("evaluate.py", scenario(tmp_path, **changes), "--out", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_a_real_process_exits_with_2(tmp_path):
    command = [sys.executable, "evaluate.py", str(scenario(tmp_path, colour="red"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    one_line(Done(done.returncode, done.stdout, done.stderr), "mine.yaml", "colour", "unknown key")


def test_an_unknown_suite_or_backend_lists_those_there_are(run, tmp_path):
    one_line(run("evaluate.py", "leo-tripel", "--out", tmp_path / "out"), "leo-tripel", "leo-single")
    done = run("evaluate.py", "leo-single", "--backend", "ns-3", "--out", tmp_path / "out")
    one_line(done, "ns-3", "simulator")
    assert not (tmp_path / "out").exists()


def test_a_policy_of_another_spec_version_is_refused(run, tmp_path):
    fixture = next((ROOT / "core" / "control" / "tests" / "fixtures").rglob("policy.json"))
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "policy.onnx").write_bytes(fixture.with_name("policy.onnx").read_bytes())
    description = json.loads(fixture.read_text())
    (policy / "policy.json").write_text(json.dumps({**description, "spec_version": 99}))
    arguments = ("--schemes", f"astraea={policy}", "--out", tmp_path / "out")
    one_line(run("evaluate.py", "leo-single", *arguments), "policy.json", "spec_version", "99")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate.py", "leo-single", "--schemes", "reno"),
        ("train.py", "--agent", "astraea", "--steps", "100"),
        ("-m", "traces", "build", "sd-ny-bp", "--duration", "1"),
    ],
    ids=["evaluate", "train", "traces"],
)
def test_an_output_that_cannot_be_written_is_named(run, tmp_path, command):
    (tmp_path / "file").write_text("a file where a folder should be")
    one_line(run(*command, "--out", tmp_path / "file" / "out"), str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--agent", "astrea", "--steps", "9"), ("astrea", "astraea")),
        (("--agent", "astraea", "--steps", "9", "--set", "gama=0.9"), ("gama",)),
        (("--agent", "ppo", "--steps", "9", "--engine", "rllib", "--ray", "127.0.0.1:1"), ("127.0.0.1:1",)),
    ],
    ids=["agent", "key", "Ray address"],
)
def test_train_names_what_is_wrong(run, tmp_path, arguments, parts):
    one_line(run("train.py", *arguments, "--out", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_results_that_cannot_be_kept_or_compared_are_one_line(run, tmp_path):
    out = tmp_path / "out"
    file = tmp_path / "file"
    file.write_text("")
    one_line(
        run("evaluate.py", "leo-single", "--cache", file / "kept", "--out", out),
        f"--cache: {file}/kept: cannot be written",
        "or none",
    )
    one_line(run("evaluate.py", "leo-single", "--quik", "--out", out), "leogym evaluate", "--quik")
    one_line(run("evaluate.py", "leo-single", "--series", "some", "--out", out), "--series", "'some'")
    one_line(run("evaluate.py", "compare", tmp_path / "a", tmp_path / "b"), f"{tmp_path}/a/run.json")
    one_line(run("evaluate.py", "compare", tmp_path / "a"), "leogym evaluate compare", "RUN_B")
    assert not out.exists()
