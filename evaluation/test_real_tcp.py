"""Tests of the command line with real TCP: schemes of the kernel and leo-bridge and a policy in one
report."""

from pathlib import Path

import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.runner.leo_links import LeoLinks

pytestmark = pytest.mark.real_time

LACK = LeoLinks().missing() or bridge_process.missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
POLICY = Path(__file__).resolve().parents[1] / "core/control/tests/fixtures/perceptron"
SCENARIO = """
duration_s: 2
links: {l: {rate_mbps: 12, delay_ms: 5}}
flows: [{scheme: $scheme, route: [l]}]
"""


@needs_bridge
@pytest.mark.parametrize("backend", ["kernel", "mahimahi"])
def test_every_scheme_of_real_tcp_is_in_the_tables_or_among_the_invalid_runs(backend, tmp_path):
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    names = {"cubic", "satcp", "vivace", "mine"}
    line = [str(tmp_path / "scenario.yaml"), "--backend", backend, "--repeats", "1", "--jobs", "2"]
    line += ["--schemes", f"cubic,satcp,vivace,mine={POLICY}", "--out", str(tmp_path / "out")]
    try:
        assert cli.run(line) == 0
    except InputError as error:
        if "no run is valid" not in str(error):
            raise
        pytest.skip(f"this machine is too busy for a run in real time: {error}")
    rows = pl.read_parquet(tmp_path / "out/runs.parquet")
    valid = set(rows["scheme"])
    invalid = tmp_path / "out/invalid.csv"
    told = set(pl.read_csv(invalid)["scheme"]) if invalid.exists() else set()
    assert valid | told == names
    assert not valid & told
    assert set(rows["backend"]) == {backend}
    # Vivace is still starting up after two seconds.
    assert all(goodput > 0.3 for goodput in rows["goodput_mbps"]), rows
    assert (tmp_path / "out/report.html").exists()


@needs_bridge
def test_a_scheme_that_real_tcp_cannot_run_is_answered_with_those_it_can(tmp_path):
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    line = [str(tmp_path / "scenario.yaml"), "--backend", "kernel", "--schemes", "leotcp"]
    with pytest.raises(
        InputError, match=r"leotcp: not a scheme that this backend runs, but .*nearest: .*satcp"
    ):
        cli.run(line)
