from pathlib import Path

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.runs import backends
from leogym.results.measurement import Measurement
from tests.support import scenarios


class Late(backends.Simulator):
    """The simulator on a machine too busy for some schemes."""

    late = ("reno",)

    def stream(self, scenario_json, interval_ms):
        if any(f'"scheme":"{scheme}"' in scenario_json for scheme in self.late):
            yield Measurement([], [], {}, {}, [], "links.l: 30 ms late")
        else:
            yield from super().stream(scenario_json, interval_ms)


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    monkeypatch.setitem(backends.BACKENDS, "late", Late)
    scenarios.written(tmp_path)
    return [str(tmp_path / "scenario.yaml"), "--backend", "late", "--schemes", "cubic,reno", "--repeats", "2"]


def test_an_invalid_run_is_in_the_report_and_in_no_table_until_it_is_run_again(
    arguments, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"
    cli.run([*arguments, "--out", str(out)])
    assert "invalid: scenario, reno, repeat 1: links.l: 30 ms late\n" in capsys.readouterr().err
    assert set(pl.read_parquet(out / "runs.parquet")["scheme"]) == {"cubic"}
    assert set(pl.read_csv(out / "summary.csv")["scheme"]) == {"cubic"}
    told = pl.read_csv(out / "invalid.csv")
    assert told["scheme"].to_list() == ["reno", "reno"]
    assert told["repeat"].to_list() == [0, 1]
    assert "30 ms late" in (out / "report.html").read_text()
    monkeypatch.setattr(Late, "late", ())
    cli.run([*arguments, "--out", str(out), "--resume"])
    assert set(pl.read_parquet(out / "runs.parquet")["scheme"]) == {"cubic", "reno"}
    assert not Path(out / "invalid.csv").exists()
    assert "Invalid runs" not in (out / "report.html").read_text()


def test_a_quic_flow_that_loses_its_connection_makes_its_run_invalid_and_other_runs_go_on(tmp_path, capsys):
    dead = tmp_path / "dead.yaml"
    dead.write_text(
        scenarios.SCENARIO.replace("duration_s: 1", "duration_s: 31").replace("5}", "5, loss: 1}")
    )
    out = tmp_path / "out"
    cli.run([str(dead), "--schemes", "cubic,quic:quinn-cubic", "--repeats", "1", "--out", str(out)])
    why = "flow 0, quic:quinn-cubic: its receiver lost the connection at 30.002 s: timed out"
    assert f"invalid: dead, quic:quinn-cubic, repeat 0: {why}\n" in capsys.readouterr().err
    assert set(pl.read_parquet(out / "runs.parquet")["scheme"]) == {"cubic"}
    assert pl.read_csv(out / "invalid.csv")["why"].to_list() == [why]


@pytest.mark.parametrize(("backend", "runner"), [("lab", backends.lab), ("kernel", backends)])
def test_a_failure_on_linux_is_that_of_one_run(backend, runner, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("the guest ended")

    monkeypatch.setattr(runner, "execute", fail)
    scenario = scenarios.one_link(1, {"rate_mbps": 10, "delay_ms": 5}, "cubic")
    engine = backends.BACKENDS[backend](backends.Inputs({}, {}))
    assert engine.run(scenario.to_json(), 30).invalid == "the guest ended"


def test_without_a_valid_run_there_is_no_report_but_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.setattr(Late, "late", ("cubic", "reno"))
    with pytest.raises(InputError, match=r"no run is valid .links\.l: 30 ms late.; try again with --resume"):
        cli.run([*arguments, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out" / "report.html").exists()
