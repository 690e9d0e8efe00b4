"""Tests of the command line with the lab: schemes of the kernel and leo-bridge and a policy, here and on
Ray."""

from pathlib import Path

import polars as pl
import pytest

from leogym.evaluation import cli
from leogym.kernel_bridge.lab import image, links, served_in_guest
from tests.support import local_ray, scenarios

LACK = links.missing() or served_in_guest.missing(image.latest())
POLICY = Path(__file__).resolve().parents[1] / "core/control/tests/fixtures/perceptron"


def _rows(folder: Path, *more: str) -> pl.DataFrame:
    line = [scenarios.written(folder), "--backend", "lab", "--repeats", "1", "--out", str(folder / "out")]
    assert cli.run([*line, *more]) == 0
    return pl.read_parquet(folder / "out/runs.parquet").sort("scheme")


@pytest.mark.skipif(LACK is not None, reason=LACK or "")
@pytest.mark.parametrize(
    ("schemes", "where"),
    [
        (["mine", "yeah"], ["--jobs", "2"]),
        pytest.param(["mine"], ["--ray", "local"], marks=local_ray.MARKS),
    ],
)
def test_schemes_of_the_lab_and_a_policy_are_in_the_tables_here_and_on_a_cluster(tmp_path, schemes, where):
    named = ",".join(f"{scheme}={POLICY}" if scheme == "mine" else scheme for scheme in schemes)
    rows = _rows(tmp_path, "--schemes", named, *where)
    assert rows["scheme"].to_list() == schemes
    assert set(rows["backend"]) == {"lab"}
    assert all(goodput > 0.3 for goodput in rows["goodput_mbps"]), rows
    assert (tmp_path / "out/report.html").exists()
