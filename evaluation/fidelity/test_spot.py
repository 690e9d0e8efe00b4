import pytest

from leogym.common.errors import InputError
from leogym.configs import suite as suites
from leogym.configs.scenario import Scenario
from leogym.evaluation.fidelity import golden, spot
from leogym.evaluation.fidelity.golden import Golden
from leogym.kernel_bridge.lab import virtual_run

UNABLE = {"reroute", "leotcp-reroute", "converging-paths"}
"""Their flows change routes, which nested shells cannot do."""
FELT = {"qoe"}
"""`fidelity-workloads` compares what users feel."""
NO_KERNEL = {"l4s", "l4s-hotspot", "l4s-pair", "l4s-starlink", "leotcp-telemetry"}
"""No stock kernel has their scheme, Prague or LeoTCP."""
VARIANTS = {
    "converging-paths-soft",
    "disruption-leoem",
    "geo-loss",
    "geometry",
    "geometry-orbit",
    "geometry-pair",
    "handovers-leoem",
    "latency-jump-leoem",
    "leo-orbit-flows-leoem",
    "leo-orbit-leoem",
    "leo-pair-leoem",
    "leo-single-leoem",
    "leo-single-others",
    "leotcp-parking-lot-buffers",
    "no-outages",
    "quic-leo",
    "responsiveness-heavy-loss",
    "shared-path-soft",
    "starlink-24-ms",
    "starlink-mix-24-ms",
    "starlink-short-24-ms",
    "static-links",
    "transfer",
}
"""Variants of other suites, which have the spot checks."""
PAPERS = [name for name in suites.shipped() if not name.startswith("fidelity")]


def _drawn_anew(scenario: Scenario) -> str:
    """Return a scenario without its random seed and offsets."""
    links = {name: link.model_copy(update={"offset_s": 0.0}) for name, link in scenario.links.items()}
    return scenario.model_copy(update={"seed": 0, "links": links}).to_json()


@pytest.mark.parametrize("name", PAPERS)
def test_each_suite_has_a_scenario_for_the_lab_and_what_the_lab_did_with_it(name):
    suite = suites.load(name)
    assert (suite.spot is None) == (name in UNABLE | FELT | NO_KERNEL | VARIANTS)
    if suite.spot is None:
        with pytest.raises(InputError, match=f"{name}.yaml: --spot: the suite has no spot check"):
            suite.as_spot()
        return
    cut = suite.as_spot()
    assert set(cut.schemes) <= set(virtual_run.schemes())
    [case] = cut.cases(cut.schemes[0])
    assert (spot.FOLDER / f"{name}.json").exists()
    found = golden.read(spot.FOLDER / f"{name}.json")
    assert {run.scenario.name for run in found.runs} == {case.scenario.name}
    if suite.tests_schemes:
        assert [run.scheme for run in found.runs] == sorted(cut.schemes)
    assert {_drawn_anew(run.scenario) for run in found.runs} <= {
        _drawn_anew(case.scenario) for scheme in cut.schemes for case in cut.cases(scheme)
    }


def test_a_spot_check_has_both_sides_and_how_far_they_are_apart(tmp_path, monkeypatch):
    shipped = golden.read(golden.FOLDER / "fidelity-pair.json")
    golden.write(tmp_path / "checked-here.json", Golden(shipped.provenance, shipped.runs[:1]))
    monkeypatch.setattr(spot, "FOLDER", tmp_path)
    found = spot.of_suite("checked-here")
    assert found is not None
    [row] = found.rows
    simulator, kernel = row.goodput_mbps
    assert kernel == pytest.approx(sum(flow.goodput_mbps for flow in shipped.runs[0].flows))
    assert row.goodput_error == pytest.approx(simulator / kernel - 1)
    low, high = row.goodput_range
    assert low <= simulator <= high
    assert low < high, "seeds differ"
    assert row.rtt_range is not None
    assert row.rtt_range[0] <= row.rtt_mean_ms[0] <= row.rtt_range[1]
    assert spot.of_suite("no-such-suite") is None
