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
    assert "invalid: scenario, reno, repeat 1: links.l: 30 ms late" in capsys.readouterr().err.replace(
        "\n", " "
    )
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


def test_without_a_valid_run_there_is_no_report_but_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.setattr(Late, "late", ("cubic", "reno"))
    with pytest.raises(InputError, match=r"no run is valid .links\.l: 30 ms late.; try again with --resume"):
        cli.run([*arguments, "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out" / "report.html").exists()
