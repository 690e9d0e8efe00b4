import numpy as np

from leogym.results.measurement import Measurement
from studies.queueing import __main__ as queueing


def measured(queue: list[int], capacity_mbps: list[float], delivered_mbps: list[float]) -> Measurement:
    """Return a run of one flow over an idle link and a busy one, with rows a millisecond apart."""
    rows = len(queue)
    time_s = np.arange(1, rows + 1) / 1e3
    links = [{"delivered_bytes": 1}, {"delivered_bytes": 2}]
    link_series = {
        "time_s": np.concatenate([time_s, time_s]),
        "link": np.repeat([0, 1], rows),
        "capacity_mbps": np.concatenate([np.full(rows, 9.0), capacity_mbps]),
        "delivered_mbps": np.concatenate([np.zeros(rows), delivered_mbps]),
        "queue_packets": np.concatenate([np.zeros(rows, int), queue]),
    }
    flow_series = {
        "time_s": time_s,
        "flow": np.zeros(rows, int),
        "goodput_mbps": np.arange(rows, dtype=float),
    }
    return Measurement([{}], links, flow_series, link_series, ["idle", "busy"])


def test_queueing_is_the_time_that_the_link_takes_to_send_what_waits():
    # 12 Mbit/s are a packet a millisecond. The packet that is being sent counts half.
    found = queueing.queueing(measured([0, 1, 3, 0, 0, 0, 0], [12.0] * 7, [12.0] * 6 + [0.0]), 0.0)
    assert np.allclose(found.delay_ms, [0, 0.5, 2.5, 0, 0, 0])
    assert np.isclose(found.utilization, 6 / 7)
    assert np.allclose(found.goodputs_mbps, [3.0])


def test_silence_between_frames_is_waited_for():
    # A frame of two packets, 3 ms of silence, another frame: the third packet waits for it.
    found = queueing.queueing(
        measured([3, 1, 1, 1, 1, 0, 0], [24.0, 0, 0, 0, 24.0, 24.0, 24.0], [0.0] * 7), 0.0
    )
    assert np.allclose(found.delay_ms[:2], [4.25, 2.25], atol=1e-3)


def test_the_start_up_does_not_count():
    found = queueing.queueing(measured([99, 0, 0, 0], [12.0] * 4, [0.0, 12.0, 12.0, 12.0]), 0.0015)
    assert found.utilization == 1.0
    assert found.delay_ms.max() == 0.0


SUITE = """
name: short
title: A short suite
scenario:
  name: $scheme
  duration_s: 2
  links: {path: {rate_mbps: 10, delay_ms: 5, queue: {kind: dualpi2}}}
  flows: [{scheme: $scheme, count: 2, route: [path]}]
"""


def test_its_command_prints_a_row_for_each_scenario_and_scheme(tmp_path, capsys):
    file = tmp_path / "short.yaml"
    file.write_text(SUITE)
    assert queueing.main([str(file), "--schemes", "prague,reno", "--repeats", "1", "--from", "1"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["scenario", "scheme", "p50"]
    assert [row.split()[:2] for row in rows] == [["prague", "prague"], ["reno", "reno"]]
    assert float(rows[0].split()[4]) < float(rows[1].split()[4])
