from pathlib import Path

import leosim
import polars as pl
import pytest

from leogym.common import lock
from leogym.common.errors import InputError
from leogym.evaluation import cli

SUITE = """
name: small
title: Small
repeats: 2
figures: []
parameters: {duration_s: 1}
quick: {repeats: 1, parameters: {duration_s: 0.5}}
scenario:
  duration_s: $duration_s
  links: {l: {rate_mbps: 10, delay_ms: 5}}
  flows: [{scheme: $scheme, route: [l]}]
"""
POLICY = Path(__file__).resolve().parents[2] / "core" / "control" / "tests" / "fixtures" / "perceptron"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SUITE)
    return path


def evaluate(suite: Path, schemes: str, *arguments: str) -> int:
    out = str(suite.parent / "out")
    return cli.run([str(suite), "--schemes", schemes, "--out", out, *arguments])


def refused(suite: Path, schemes: str, *arguments: str) -> str:
    """Return the error of a refused ``--resume``; check that the folder is unchanged."""
    out = suite.parent / "out"
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(InputError) as raised:
        evaluate(suite, schemes, "--resume", *arguments)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_quick_folder_does_not_go_on_at_full_length(suite):
    evaluate(suite, "cubic", "--quick")
    told = refused(suite, "reno")
    assert "--quick: yes before, no now; small: parameters.duration_s: 0.5 before, 1 now" in told
    assert "small: repeats: 1 before, 2 now" in told
    assert evaluate(suite, "reno", "--quick", "--resume") == 0
    rows = pl.read_parquet(suite.parent / "out" / "runs.parquet")
    assert set(rows["scheme"]) == {"cubic", "reno"}


@pytest.mark.parametrize(
    ("schemes", "arguments", "change", "told"),
    [
        ("reno", ["--seed", "2"], None, "--seed: 1 before, 2 now"),
        ("reno", ["--repeats", "3"], None, "small: repeats: 2 before, 3 now without cubic"),
        ("cubic", ["--repeats", "1"], None, "small: repeats: 2 before, 1 now"),
        ("reno", [], ("delay_ms: 5", "delay_ms: 6"), "small: scenario.links.l.delay_ms: 5 before, 6 now"),
        ("reno", [], ("repeats: 2", "repeats: 2\nfairness_last_s: 0.5"), "fairness_last_s: none before, 0.5"),
        ("reno", [], ("quick:", "vary_offset: false\nquick:"), "small: vary_offset: yes before, no now"),
    ],
)
def test_whatever_would_mix_two_setups_in_a_table_is_refused_by_name(suite, schemes, arguments, change, told):
    evaluate(suite, "cubic")
    if change is not None:
        suite.write_text(SUITE.replace(*change))
    assert told in refused(suite, schemes, *arguments)


def test_another_build_of_the_simulator_is_another_setup(suite, monkeypatch):
    evaluate(suite, "cubic")
    monkeypatch.setattr(leosim, "BUILD", "0" * 32)
    assert "leosim: build " in refused(suite, "reno")


def test_other_bytes_behind_a_policys_name_are_another_setup(suite, tmp_path):
    policy = tmp_path / "policy"
    policy.mkdir()
    for name in ("policy.onnx", "policy.json"):
        (policy / name).write_bytes((POLICY / name).read_bytes())
    evaluate(suite, f"mine={policy}")
    (policy / "policy.json").write_bytes((POLICY / "policy.json").read_bytes() + b"\n")
    assert "--schemes: mine: policy: " in refused(suite, f"cubic,mine={policy}")


def test_more_repeats_of_all_that_is_recorded_are_the_same_setup(suite):
    evaluate(suite, "cubic", "--repeats", "1")
    assert evaluate(suite, "cubic,reno", "--resume") == 0
    rows = pl.read_parquet(suite.parent / "out" / "runs.parquet")
    assert sorted(rows.select("scheme", "repeat").rows()) == [
        ("cubic", 0), ("cubic", 1), ("reno", 0), ("reno", 1),
    ]  # fmt: skip


def test_a_folder_that_another_process_writes_to_is_refused_and_left_alone(suite):
    evaluate(suite, "cubic")
    with lock.held(suite.parent / "out"):
        message = refused(suite, "reno")
        assert "another process" in message
        assert "is writing to it" in message


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_report_says_so_in_every_section_and_table(suite, capsys, quick):
    evaluate(suite, "cubic", *(["--quick"] if quick else []))
    out = suite.parent / "out"
    assert ("Small (quick: a look, not a result)" in capsys.readouterr().out) == quick
    page = (out / "report.html").read_text()
    assert page.count('<p class="quick">') == 2 * quick  # in the header and the suite's section
    assert set(pl.read_csv(out / "summary.csv")["quick"]) == {quick}
