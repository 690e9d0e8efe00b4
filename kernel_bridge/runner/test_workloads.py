"""Workloads over the host's TCP and UDP, in real time."""

import leosim
import pytest

from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.mahimahi_links import MahimahiLinks
from leogym.kernel_bridge.runner.run import execute
from leogym.kernel_bridge.workloads import app
from tests.support.real_time import machine_state, on_a_quiet_machine, skip_if_invalid
from tests.support.scenarios import scenario

pytestmark = pytest.mark.real_time

QUEUE = {"packets": 1000}
VIDEO = {"video": {"adaptation": "rate", "chunk_s": 1, "bitrates_kbps": [1000, 2500]}}
PAGE = {"page": {"http": "http1", "graph": "article"}}


def _lack(backend):
    return app.missing() or backend.missing()


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(backend, marks=pytest.mark.skipif(bool(_lack(backend)), reason=_lack(backend) or ""))
        for backend in (LeoLinks(), MahimahiLinks())
    ],
    ids=lambda backend: backend.name,
)
def test_workloads_feel_as_in_the_simulator_through_nested_shells(backend):
    before = machine_state()
    # Losses and the outer link's half milliseconds give mahimahi three shells for a link.
    described = scenario(
        3,
        {
            "inner": {"rate_mbps": 12, "delay_ms": 10, "loss": 1e-6, "queue": QUEUE},
            "outer": {"rate_mbps": 24, "delay_ms": 10.5, "queue": QUEUE},
        },
        {"scheme": "cubic", "route": ["inner", "outer"], "workload": VIDEO, "stop_s": 1.2},
        {"scheme": "cubic", "route": ["inner"], "workload": PAGE, "start_s": 1.3, "extra_delay_ms": 3},
        {"scheme": "gcc", "route": ["outer"], "workload": {"call": {}}},
        handshake=True,
    )
    with on_a_quiet_machine():
        log = execute(described, {}, backend)
    skip_if_invalid(log.invalid)
    assert machine_state() == before
    [simulated] = leosim.run([described.to_json()], {})
    assert [flow["workload"] for flow in log.flows] == ["video", *["page"] * 6, "call"]
    for place, bounds in {
        0: {"startup_s": 0.15, "bitrate_mbps": 0.01},
        1: {"page_load_s": 0.15},
        7: {"bitrate_mbps": 0.1, "delay_p50_ms": 0.3},
    }.items():
        for name, share in bounds.items():
            theirs = simulated.flows[place][name]
            assert log.flows[place][name] == pytest.approx(theirs, rel=share), (place, name)
    assert [flow["base_rtt_mean_ms"] for flow in log.flows[:2]] == [41, 26]
    assert log.flows[7]["delay_p50_ms"] >= 10.5
