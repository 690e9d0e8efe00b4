"""The logs of QUIC flows, written by hand."""

import json

import numpy as np
import pytest

from leogym.kernel_bridge.quic import logs

MS = 1_000_000
TIMES = logs.Times(origin_ns=1_000 * MS, start_ns=0, at_sender_ns=20 * MS, at_receiver_ns=40 * MS)
METRICS = {"latest_rtt": 40, "congestion_window": 3600, "bytes_in_flight": 2401, "pto_count": 0}


def _event(time, name, **data):
    return {"time": time, "name": name, "data": data}


def _packet(time, name, number, *frames, length=1200):
    return _event(
        time,
        f"transport:packet_{name}",
        header={"packet_type": "1RTT", "packet_number": number},
        frames=list(frames),
        raw={"length": length},
    )


def _stream(offset, length, stream_id=0, **more):
    return {"frame_type": "stream", "stream_id": stream_id, "offset": offset, "length": length, **more}


def _ack(*ranges):
    return {"frame_type": "ack", "acked_ranges": [list(acked) for acked in ranges]}


SENT = [
    _packet(100, "received", 0, _stream(0, 10)),
    _event(100, "recovery:metrics_updated", **METRICS | {"latest_rtt": 0}),
    _packet(101, "sent", 1, _stream(0, 1000)),
    _packet(101, "sent", 2, _stream(1000, 1000)),
    _packet(101, "sent", 3, _stream(2000, 500, fin=True), length=700),
    _packet(141, "received", 1, _ack([3, 3], [1])),
    _event(141, "recovery:packet_lost", header={"packet_number": 2}),
    _event(141, "recovery:metrics_updated", latest_rtt=41, pto_count=1),
    _packet(142, "sent", 4, _stream(1000, 1000)),
    _packet(182, "received", 2, {"frame_type": "padding"}),
    _event(182, "recovery:metrics_updated", latest_rtt=41),
    _packet(183, "received", 3, _ack([3, 4], [1])),
    _event(183, "recovery:metrics_updated", latest_rtt=42, pto_count=0),
]
RECEIVED = [
    _packet(0, "sent", 0),
    _packet(41, "received", 1, _stream(0, 1000), _stream(0, 7, stream_id=3)),
    _packet(41, "received", 3, _stream(2000, 500, fin=True)),
    _packet(82, "received", 4, _stream(1000, 1000)),
]


def _folder(place, events, name="a.qlog", end=""):
    place.mkdir(exist_ok=True)
    lines = [{"qlog_format": "JSON-SEQ"}, *events]
    (place / name).write_text("".join(f"\x1e{json.dumps(line)}\n" for line in lines) + end)
    return place


def _read(
    tmp_path, sent=SENT, received=RECEIVED, transfer_bytes=2500, rtt_unit="ms", pacing_unit="bit/s", **more
):
    sender = _folder(tmp_path / "sender", sent, **more)
    receiver = _folder(tmp_path / "receiver", received)
    return logs.read_flow(sender, receiver, TIMES, transfer_bytes, rtt_unit, pacing_unit)


def test_a_flow_with_a_loss_has_its_packets_bytes_and_times(tmp_path):
    record = _read(tmp_path, end='\x1e{"time": 184, "na')
    sent = record.sent
    # The sender's clock is 80 ms behind the run's, the receiver's 1 ms.
    np.testing.assert_array_equal(sent.time_ns, np.array([20, 61, 102, 103]) * MS)
    np.testing.assert_array_equal(sent.acks(), [0, 1, 0, 1])
    np.testing.assert_array_equal(sent.rtt_ms(), [0, 41, 41, 42])
    packets, again, lost = sent.packets()
    assert (packets[-1], again[-1], lost[-1], sent.timeouts()) == (4, 1, 1, 1)
    np.testing.assert_array_equal(sent.cwnd_packets(), 3)
    np.testing.assert_array_equal(sent.in_flight_packets(), 3)
    assert np.isnan(sent.pacing_mbps()).all()
    assert sent.packet_bytes == (3 * 1200 + 700) / 4 + 28
    np.testing.assert_array_equal(record.received.time_ns, np.array([40, 40, 81]) * MS)
    np.testing.assert_array_equal(record.received.count, [1000, 1000, 2500])
    assert record.start_ns == 0
    assert record.completed_ns == 103 * MS


def test_a_receiver_that_closes_the_connection_has_everything(tmp_path):
    closes = [*SENT[:-2], _packet(190, "received", 3, {"frame_type": "connection_close"})]
    assert _read(tmp_path, closes).completed_ns == 110 * MS


def test_a_receiver_whose_last_packet_is_lost_has_everything(tmp_path):
    assert _read(tmp_path, SENT[:-2]).completed_ns == 81 * MS


def test_without_its_last_packet_a_transfer_is_not_complete(tmp_path):
    record = _read(tmp_path, received=RECEIVED[:-1])
    assert record.completed_ns is None
    assert record.received.count[-1] == 1000


def test_a_receiver_with_all_progress_has_everything_if_its_last_packet_is_lost(tmp_path):
    for end, text in {"sender": "1150000000 900\n", "receiver": "1100000000 900\n1120000000 2500\n"}.items():
        (tmp_path / end).mkdir()
        (tmp_path / end / logs.PROGRESS).write_text(text)
    assert _read(tmp_path).completed_ns == 120 * MS


def test_progress_counts_before_stream_frames(tmp_path):
    for end, text in {"sender": "1150000000 2500\n", "receiver": "1100000000 900\n1120000000 2600\n"}.items():
        (tmp_path / end).mkdir()
        (tmp_path / end / logs.PROGRESS).write_text(text)
    record = _read(tmp_path)
    np.testing.assert_array_equal(record.received.time_ns, np.array([100, 120]) * MS)
    np.testing.assert_array_equal(record.received.count, [900, 2500])
    assert record.completed_ns == 150 * MS


def test_rtts_may_be_in_seconds(tmp_path):
    assert _read(tmp_path, rtt_unit="s").sent.rtt_ms()[-1] == 42_000


def test_quiches_metrics_have_its_pacing_rate_and_lost_packets(tmp_path):
    name = "quic:recovery_metrics_updated"
    events = [
        *SENT[:6],
        _event(141, name, latest_rtt=41, cf_lost_packets={"total": 2, "delta": 2}, pacing_rate=1_000_000),
        _packet(183, "received", 3, _ack([3, 4], [1])),
        _event(183, name, latest_rtt=42, cf_lost_packets={"total": 3, "delta": 1}),
    ]
    sent = _read(tmp_path, events, pacing_unit="B/s").sent
    np.testing.assert_array_equal(sent.packets()[2], [0, 2, 3])
    np.testing.assert_array_equal(sent.pacing_mbps(), [np.nan, 8, 8])
    np.testing.assert_array_equal(sent.acks(), [0, 1, 1])


@pytest.mark.parametrize(
    ("sent", "message"),
    [([], "a.qlog: no packet was received"), (SENT[:1], "the sender's qlog has no metrics")],
)
def test_a_log_without_a_connection_is_an_error(tmp_path, sent, message):
    with pytest.raises(RuntimeError, match=message):
        _read(tmp_path, sent)


def test_two_qlogs_are_an_error(tmp_path):
    _folder(tmp_path / "sender", SENT, "b.sqlog")
    with pytest.raises(RuntimeError, match="2 qlogs of its connection, not one"):
        _read(tmp_path)
