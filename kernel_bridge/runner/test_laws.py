"""Benefits of the bridge's schemes, on real TCP behind mm-leo."""

import numpy as np
import pytest

from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.run import Run, check
from leogym.results.measurement import Measurement
from tests.support.lateness import Lateness
from tests.support.real_time import on_a_quiet_machine, skip_if_invalid
from tests.support.scenarios import path_trace, scenario

pytestmark = pytest.mark.real_time

LACK = LeoLinks().missing() or bridge_process.missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")

RATE_MBPS, ONE_WAY_MS, BUFFER_PACKETS = 12, 25, 60
LATE_MS = 50.0
"""Longer sleeps of a flow's ends or shells may cause timeouts (Linux: at least 200 ms after a round trip)."""
PACKET_MS = 1.0
GOODPUT_MBPS = RATE_MBPS * 1448 / 1500


def _run(scheme, duration_s, links, traces=None) -> Measurement:
    """Run a flow over each link in real time; skip if the machine cannot keep up."""
    queue = {"packets": BUFFER_PACKETS}
    queued = {name: {**link, "queue": queue} for name, link in links.items()}
    flows = ({"scheme": scheme, "route": [name]} for name in links)
    planned = check(scenario(duration_s, queued, *flows), traces or {}, LeoLinks(), {})
    lateness = Lateness(prompt=True)
    with on_a_quiet_machine(), Run(planned, LeoLinks()) as run, lateness:
        run.begin()
        log = run.finish()
    lateness.skip_above(LATE_MS)
    skip_if_invalid(log.invalid)
    return log


@needs_bridge
@pytest.mark.parametrize(
    "scheme",
    [
        "vivace",
        *(pytest.param(other, marks=pytest.mark.soak) for other in ("vivace-proteus", "vivace-kernel")),
    ],
)
def test_vivace_fills_the_link_and_leaves_most_of_the_buffer_empty(scheme):
    # In the simulator over 60 seeds: at least 0.89 of the link and at most 0.37 of the buffer.
    seconds, skip = 10, 5
    series = _run(scheme, seconds, {"l": {"rate_mbps": RATE_MBPS, "delay_ms": ONE_WAY_MS}}).flow_series
    settled = series["time_s"] > skip
    goodput = series["goodput_mbps"][settled].mean() / GOODPUT_MBPS
    queued = (np.nanmean(series["rtt_ms"][settled]) - 2 * ONE_WAY_MS) / (BUFFER_PACKETS * PACKET_MS)
    print(f"{scheme}: {goodput:.3f} of the link, {queued:.3f} of the buffer")
    assert goodput > 0.8
    assert 0 <= queued < 0.5


OUT_S, BACK_S = 5.0, 5.6


def _trace(name, handovers) -> bytes:
    states = [(0, "1,0,"), (OUT_S, "0,0,"), (BACK_S, "1,1,"), (60, "1,1,")]
    rows = (f"{time_s},{ONE_WAY_MS},{RATE_MBPS},{RATE_MBPS},0,{state}" for time_s, state in states)
    return path_trace(*rows, name=name, handovers=handovers).encode()


def _time_to_come_back(log, flow) -> tuple[float, float]:
    """Return the window before the outage, and the time in s from its end until 95 % of that window."""
    # Only the outage causes a timeout.
    assert log.flows[flow]["rtos"] == 1
    rows = log.flow_series["flow"] == flow
    times, windows = (log.flow_series[name][rows] for name in ("time_s", "cwnd_packets"))
    before = windows[times < OUT_S][-1]
    # A flow in recovery keeps its old window for a moment, so require that it was low first.
    down_s = times[(times > OUT_S) & (windows < before / 2)][0]
    back = times[(times > max(down_s, BACK_S)) & (windows >= 0.95 * before)]
    return float(before), float(back[0] - BACK_S) if len(back) else np.inf


@needs_bridge
def test_satcp_is_back_at_its_window_after_an_announced_outage_far_sooner_than_after_another():
    # Algorithm 1: at a timeout within a handover report, SaTCP does not reset Cubic and sets K <- K / 9. With
    # the old maximum W as target, K is the cube root of 0.3 W / 0.4, after slow start up to 0.7 W.
    handovers = {"announced": [{"time_s": OUT_S, "predicted_s": OUT_S}], "sudden": []}
    traces = {name: _trace(name, announced) for name, announced in handovers.items()}
    # One run, each flow alone on its link. Three seconds after the outage are twice what the first may take.
    log = _run("satcp", BACK_S + 3, {name: {"trace": name} for name in traces}, traces)
    window, announced_s = _time_to_come_back(log, 0)
    ninth_s = np.cbrt(0.3 * window / 0.4) / 9
    # Slow start from one packet to 0.7 W, then ACKs of some RTTs with a full buffer until K is over.
    rtt_s = (2 * ONE_WAY_MS + BUFFER_PACKETS * PACKET_MS) / 1e3
    slow_start_s = np.log2(0.7 * window) * 2 * ONE_WAY_MS / 1e3
    _, usual_s = _time_to_come_back(log, 1)
    summary = f"back after {announced_s:.1f} s announced, {usual_s:.1f} s else"
    print(f"W {window:.0f}, K / 9 {ninth_s:.2f} s: {summary}")
    assert announced_s < slow_start_s + ninth_s + 3 * rtt_s
    assert announced_s < usual_s / 2
