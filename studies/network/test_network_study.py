import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from leogym.evaluation.network import __main__ as command
from leogym.traces.network import description as describing
from studies.network import __main__ as study
from studies.network import measures

FOLDER = Path(__file__).parent


def test_a_third_is_unused_where_the_busiest_laser_of_the_current_route_carries_less_than_two_thirds():
    times = np.array([0.1, 0.2, 0.3, 0.4])
    # Stations are 8 and 9. After two intervals, the pair moves from satellites 0, 1, 2 to 0, 3.
    routes = pl.DataFrame({"time_s": [0.0, 0.2], "pair": [0, 0], "nodes": [[8, 0, 1, 2, 9], [8, 0, 3, 9]]})
    rows = [
        (0.1, "satellite 0 > satellite 1", 9.0),
        (0.1, "satellite 1 > satellite 2", 1.0),
        (0.2, "satellite 1 > satellite 2", 6.0),
        (0.3, "satellite 0 > satellite 1", 9.0),
        (0.3, "satellite 3 > satellite 0", 9.0),
        (0.4, "satellite 0 > satellite 3", 7.0),
        (0.4, "satellite 3 > Nairobi", 2.0),
    ]
    series = pl.DataFrame(rows, schema=["time_s", "link", "delivered_mbps"], orient="row")
    # 9, 6, 0 and 7 Mbit/s of 10.
    assert measures.share_below(series, times, routes, 20 / 3) == 2 / 4
    gone = pl.DataFrame({"time_s": [0.3], "pair": [0], "nodes": [[]]}, schema=routes.schema)
    assert measures.share_below(series, times, pl.concat([routes, gone]), 20 / 3) == 2 / 3
    # A path over one satellite has no laser.
    bent = pl.DataFrame({"time_s": [0.0], "pair": [1], "nodes": [[8, 5, 9]]}, schema=routes.schema)
    assert measures.share_below(series, times, pl.concat([routes, bent]), 20 / 3) == 2 / 4


def test_the_geodesic_is_the_great_circle():
    description = describing.load(FOLDER / "rio-petersburg.yaml")
    # Rio de Janeiro and St Petersburg are 11,300 km apart.
    assert measures.geodesic_rtt_ms(description) == pytest.approx([2 * 11_300 / 299.79], rel=0.01)


def test_each_network_of_the_study_has_its_flows():
    flows = {path.stem: len(describing.load(path, study.HOTSPOT).flows) for path in FOLDER.glob("*.yaml")}
    lone = {**dict.fromkeys(study.LONE_PAIRS, 1), "kuala-lumpur-cairo": 2}
    assert flows == {**lone, "hotspot": 23, "hotspot-frozen": 23, "kuiper-by-load": 100, "kuiper-frozen": 100}


def test_a_question_is_answered_from_the_runs_of_its_sweep(tmp_path, capsys, monkeypatch):
    schemes = ",".join(["+".join(study.HOTSPOT), *study.HOTSPOT])
    out = ["--out", str(tmp_path / "hotspot")]
    sweep = ["sweep", str(FOLDER / "hotspot.yaml"), "--schemes", schemes, *out]
    monkeypatch.setattr(sys, "argv", ["leogym network", *sweep, "--seeds", "1", "--duration", "2"])
    assert command.main() == 0
    capsys.readouterr()
    assert study.main([str(tmp_path), "hotspot"]) == 0
    title, *rows = capsys.readouterr().out.splitlines()
    assert title == "How do schemes share a hotspot?"
    assert len(rows) == 5 * len(study.HOTSPOT)
    shares = [row.split(": ")[2] for row in rows if "mean of all flows" in row]
    assert 4 < sum(float(share.split()[0]) for share in shares) < 6


def test_motion_and_routing_by_load_are_compared_on_the_same_seeds(tmp_path, capsys, monkeypatch):
    sweeps = (("kuiper-630", "reno,vegas", "kuiper"), ("kuiper-frozen", "reno", "frozen"))
    for network, schemes, out in (*sweeps, ("kuiper-by-load", "reno", "by-load")):
        file = network if network == study.KUIPER else str(FOLDER / f"{network}.yaml")
        options = ["--schemes", schemes, "--seeds", "1", "--duration", "1", "--series-ms", "100"]
        sweep = ["leogym network", "sweep", file, *options, "--out", str(tmp_path / out)]
        monkeypatch.setattr(sys, "argv", sweep)
        assert command.main() == 0
    capsys.readouterr()
    assert study.main([str(tmp_path), "utilisation", "by-load"]) == 0
    rows = [row.rsplit(": ", 1) for row in capsys.readouterr().out.splitlines() if ": " in row]
    mean = {name: float(value.split()[0]) for name, value in rows}
    moving, frozen, difference = (
        mean[f"{case}, reno: total goodput, Mbit/s"]
        for case in ("kuiper-630", "kuiper-frozen", "kuiper-630 minus kuiper-frozen")
    )
    assert difference == pytest.approx(moving - frozen, abs=0.002)
    # In the first second, no measurement of loads has changed a route yet.
    assert mean["by load over shortest paths: total goodput"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("hotspots", "hotspots: not a question; there are rtts, tcp, utilisation, hotspot, by-load"),
        ("tcp", "rio-petersburg, reno: no finished runs: README.md has the commands of the sweeps"),
        (
            "by-load",
            "by load over shortest paths: no finished runs: README.md has the commands of the sweeps",
        ),
    ],
)
def test_a_missing_sweep_or_question_is_one_line(tmp_path, capsys, question, message):
    with pytest.raises(SystemExit, match="2"):
        study.main([str(tmp_path), question])
    assert message in capsys.readouterr().err.splitlines()[-1]
