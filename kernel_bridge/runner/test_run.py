"""Real runs behind mahimahi with the host's schemes; nothing stays on the machine."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.common.processes import descendants
from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.runner.mahimahi_links import MahimahiLinks
from leogym.kernel_bridge.runner.run import execute
from tests.support.real_time import machine_state, on_a_quiet_machine, skip_if_invalid
from tests.support.scenarios import path_trace, scenario

pytestmark = pytest.mark.real_time

LACK = mahimahi.missing()
needs_mahimahi = pytest.mark.skipif(LACK is not None, reason=LACK or "")
PIPE = {"rate_mbps": 24, "delay_ms": 10}


def _run(duration_s, links, *flows, traces=None):
    """Run in real time; skip if the machine cannot keep up."""
    with on_a_quiet_machine():
        log = execute(scenario(duration_s, links, *flows), traces or {}, MahimahiLinks())
    skip_if_invalid(log.invalid)
    return log


@needs_mahimahi
def test_a_flow_of_the_kernels_own_fills_its_link_and_leaves_the_machine_as_it_was():
    before = machine_state()
    schemes = ("reno", "cubic", "bbr")
    log = _run(4, dict.fromkeys(schemes, PIPE), *({"scheme": name, "route": [name]} for name in schemes))
    places = ("delivered_packets", "dropped_packets", "lost_packets", "queued_packets", "in_flight_packets")
    for number, (flow, link) in enumerate(zip(log.flows, log.links, strict=True)):
        assert 0.85 < flow["normalized_goodput"] <= 1
        assert 20 < flow["rtt_mean_ms"] < flow["rtt_p95_ms"] < 80
        assert flow["base_rtt_mean_ms"] == 20
        assert flow["sent_packets"] >= flow["delivered_packets"] > 0
        assert link["offered_packets"] == sum(link[place] for place in places)
        # The series cover the whole run with a row every 100 ms, and add up to the summary.
        rows = log.flow_series["flow"] == number
        series = {name: column[rows] for name, column in log.flow_series.items()}
        assert np.allclose(series["time_s"], np.arange(1, 41) / 10)
        assert series["goodput_mbps"].mean() == pytest.approx(flow["goodput_mbps"], rel=1e-6)
        assert series["lost_packets"].sum() == flow["lost_packets"]
    assert machine_state() == before


@needs_mahimahi
def test_two_flows_share_a_link_and_each_runs_in_its_own_time():
    log = _run(
        6,
        {"l": PIPE},
        {"scheme": "cubic", "route": ["l"], "stop_s": 5},
        {"scheme": "cubic", "route": ["l"], "start_s": 1.0},
    )
    alone = (log.flow_series["flow"] == 0) & (log.flow_series["time_s"] <= 1.0)
    together = (log.flow_series["time_s"] > 2) & (log.flow_series["time_s"] <= 5)
    assert log.flow_series["goodput_mbps"][alone][-5:].mean() > 15
    shares = [
        log.flow_series["goodput_mbps"][together & (log.flow_series["flow"] == n)].mean() for n in (0, 1)
    ]
    assert min(shares) > 0.1 * max(shares), "both get something"
    assert sum(shares) == pytest.approx(24 * 1448 / 1500, rel=0.05)
    rows = [log.flow_series["time_s"][log.flow_series["flow"] == n] for n in (0, 1)]
    assert rows[0].max() == pytest.approx(5)
    assert rows[1].min() == pytest.approx(1.1)


@needs_mahimahi
def test_flows_on_stretches_of_a_chain_see_only_their_links_and_datagrams_keep_their_rate():
    log = _run(
        4,
        {"a": {"rate_mbps": 24, "delay_ms": 5}, "b": {"rate_mbps": 12, "delay_ms": 10}},
        {"scheme": "reno", "route": ["a", "b"]},
        {"scheme": "reno", "route": ["a"], "extra_delay_ms": 20},
        {"scheme": "udp", "rate_mbps": 2.4, "route": ["b"]},
    )
    full, first, datagrams = log.flows
    assert [flow["base_rtt_mean_ms"] for flow in (full, first)] == [30, 50]
    assert full["rtt_mean_ms"] >= 30
    assert first["rtt_mean_ms"] >= 50
    assert [flow["capacity_mbps"] for flow in log.flows] == [12, 24, 12]
    assert datagrams["sent_packets"] == pytest.approx(800, abs=2)
    assert datagrams["goodput_mbps"] == pytest.approx(2.4 * 1448 / 1500, rel=0.05)
    assert log.link_names == ["a", "b"]


@needs_mahimahi
def test_a_run_begins_at_its_traces_offset_and_sees_the_outage_when_it_is():
    rows = "0,10,24,24,0,1,0,", "2,10,24,24,0,0,1,hard_handover", "2.5,10,24,24,0,1,1,", "5,10,24,24,0,1,1,"
    link = {"trace": "short", "offset_s": 1.0}
    traces = {"short": path_trace(*rows).encode()}
    log = _run(3, {"l": link}, {"scheme": "bbr", "route": ["l"]}, traces=traces)
    connected, delivered = log.link_series["connected"], log.link_series["delivered_mbps"]
    time_s = log.link_series["time_s"]
    assert not connected[(time_s > 1.05) & (time_s < 1.45)].any()
    assert delivered[(time_s > 1.15) & (time_s < 1.45)].max() < 1
    # Check the mean, because a shell that slept catches up, perhaps only in the next 100 ms.
    assert delivered[(time_s > 0.65) & (time_s < 0.95)].mean() > 20
    assert log.flows[0]["capacity_mbps"] == pytest.approx(24 * 2.5 / 3, rel=1e-3)


@needs_mahimahi
def test_a_killed_caller_leaves_no_process_and_only_its_folder():
    before = machine_state()
    code = (
        "import sys; from configs.scenario import parse; from kernel_bridge.runner.run import execute;"
        "from kernel_bridge.runner.mahimahi_links import MahimahiLinks;"
        "data = {'name': 't', 'duration_s': 100, 'links': {'l': {'rate_mbps': 12, 'delay_ms': 1}},"
        "'flows': [{'scheme': 'reno', 'route': ['l']}]};"
        "execute(parse(data, 't'), {}, MahimahiLinks())"
    )
    caller = subprocess.Popen([sys.executable, "-c", code])
    try:
        sender = _descendant(caller.pid, "traffic")
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.wait()
    assert select.select([sender], [], [], 30)[0], "a flow's end outlived its run"
    os.close(sender)
    done = subprocess.run(
        [sys.executable, "-m", "kernel_bridge", "clean"], capture_output=True, text=True, check=True
    )
    assert f"leogym-run-mahimahi-{caller.pid}-" in done.stdout
    assert not list(Path("/tmp").glob(f"leogym-run-mahimahi-{caller.pid}-*"))
    assert machine_state() == before


def _descendant(pid, name):
    """Return a pidfd of the first descendant with this name, once it exists."""
    pause = select.poll()  # poll every 50 ms, for at most 30 s: new processes send no event
    for _ in range(600):
        for child, command in descendants(pid).items():
            if command == name:
                return os.pidfd_open(child)
        pause.poll(50)
    raise AssertionError(f"no {name} was started")


def test_an_ordinary_user_gets_one_line(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match=r"is not installed|need root") as caught:
        _run(1, {"l": PIPE}, {"scheme": "reno", "route": ["l"]})
    assert "\n" not in str(caught.value)
