import numpy as np
import pytest
import torch

from leogym.agents.astraea import sawtooth
from leogym.configs.queue import Queue
from leogym.configs.scenario import LEARNER, Flow, Link, Scenario


def observation(waits_ms, window=200.0, window_before=199.0, *, rtt_ms=60.0, mbit=40.0, share=0.5, lost=0.0):
    """Return five intervals of a flow; the last one has ``waits_ms`` of queueing delay and ``window``."""
    most = mbit / share / sawtooth.MBIT
    row = [share, 1 + waits_ms / rtt_ms, 1.0, 0.0, most, rtt_ms / sawtooth.MILLISECONDS, lost, 1.0, 1.0, 0.0]
    rows = np.tile(row, (5, 1))
    rows[:, 3] = window_before / sawtooth.PACKETS / row[4] / row[5]
    rows[-1, 3] = window / sawtooth.PACKETS / row[4] / row[5]
    return torch.tensor(rows.reshape(1, -1), dtype=torch.float32)


def action(*given, **features):
    return sawtooth.action(observation(*given, **features)).item()


def test_a_window_grows_until_packets_wait_and_then_shrinks_until_none_does():
    assert action(2.0) > 0
    assert action(4.0) == -1.0
    assert action(2.0, 195.0, 200.0) == -1.0
    assert action(0.1, 195.0, 200.0) > 0


def test_faster_flows_back_off_first_and_go_on_last():
    assert action(4.0, mbit=10.0) > 0
    assert action(4.0, mbit=40.0) < 0
    assert action(1.0, 195.0, 200.0, mbit=10.0) > 0
    assert action(1.0, 195.0, 200.0, mbit=100.0) < 0


def test_flows_of_one_rtt_grow_by_as_many_packets_whatever_their_windows():
    for window in (100.0, 250.0):
        grown = action(0.0, window, window) * sawtooth.STEP * window
        assert grown == pytest.approx(sawtooth.RISE_PACKETS, rel=0.01)


def test_a_flow_alone_grows_as_fast_as_it_can_and_losses_are_answered():
    assert action(0.0, share=1.0) == 1.0
    assert action(0.0, share=1.0, lost=0.1) == -1.0
    assert action(4.0, 4.0, 4.0) > 0, "not below a few packets"


@pytest.mark.parametrize(("rate_mbps", "rtt_ms"), [(50, 40), (120, 80)])
def test_flows_that_join_late_get_their_share(rate_mbps, rtt_ms):
    import leosim

    link = Link(rate_mbps=rate_mbps, delay_ms=rtt_ms / 2, queue=Queue(kind="droptail", bdp=1.0))
    flows = [Flow(scheme=LEARNER, start_s=5.0 * k, route=["path"]) for k in range(3)]
    scenario = Scenario(name="late", duration_s=40, links={"path": link}, flows=flows)
    batch = leosim.Batch(1, slots=3)
    batch.reset(0, scenario.to_json(), {})
    delivered, waited = np.zeros(3), []
    fields = {name: index for index, name in enumerate(batch.report_fields)}
    while not batch.finished[0]:
        batch.step(sawtooth.action(torch.from_numpy(batch.observations[0])).numpy()[None])
        if batch.time_s[0] > 25 and batch.active.all():
            delivered += batch.reports[0, :, fields["delivered_bytes"]]
            waited.append(batch.reports[0, :, fields["avg_rtt_us"]].mean() / 1e3 / rtt_ms)
    assert delivered.min() / delivered.max() > 0.9
    assert delivered.sum() * 8 / 15 > 0.93 * rate_mbps * 1e6
    assert np.mean(waited) < 1.2
