"""Logs in pantheon-tunnel's format, and one real flow through it where it is installed."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.tunnel import Logs, measured, missing, read_log, run

BEGAN_MS = {"client": 1795252212986.571, "server": 1795252212983.178}
LACK = missing()


def _write(folder, end, direction, packets, skew_ms=0.0):
    """Write packets: (ms after BEGAN_MS of the client by its clock, uid, bytes of IP)."""
    path = folder / end / f"{direction}.log"
    path.parent.mkdir(exist_ok=True)
    shift_ms = BEGAN_MS["client"] - BEGAN_MS[end] + skew_ms
    command = f"'/usr/local/bin/mm-tunnel{end}' '--{direction}-log=it'\\''s: x.log'"
    lines = [f"# {command} {direction}: {BEGAN_MS[end]:.3f}"]
    lines += [f"{at + shift_ms:.3f} - {uid} - {size + 36}" for at, uid, size in packets]
    path.write_text("\n".join(lines) + "\n")
    return path


def _logs(folder, skew_ms=0.0):
    """A packet every 10 ms for 3 s, 20 ms to the server and 30 ms back; one in ten packets is lost.

    From 1.5 s on, packets wait 10 ms more on their way to the server.
    """
    sent = [(10.0 * n, n, 1500) for n in range(300)]
    there = [
        (at + (20 if at < 1500 else 30), uid, size) for at, uid, size in sent if uid == 0 or uid % 10 != 5
    ]
    acknowledged = [(at, uid, 52) for uid, (at, _, _) in enumerate(there)]
    back = [(at + 30, uid, size) for at, uid, size in acknowledged]
    _write(folder, "client", "egress", sent)
    _write(folder, "server", "ingress", there, skew_ms)
    _write(folder, "server", "egress", acknowledged, skew_ms)
    _write(folder, "client", "ingress", back)
    return Logs.read(sender=folder / "client", receiver=folder / "server")


def test_a_log_is_what_an_end_sent_without_encapsulation_and_when_by_its_clock(tmp_path):
    log = read_log(_write(tmp_path, "client", "egress", [(65.457, 0, 60), (65.824, 1, 52)]))
    assert log.direction == "egress"
    assert log.command.startswith("'/usr/local/bin/mm-tunnelclient' ")
    assert log.began_ns == 1795252212986571000
    assert log.time_ns.tolist() == [65457000, 65824000]
    assert log.uid.tolist() == [0, 1]
    assert log.size_bytes.tolist() == [60, 52]


@pytest.mark.parametrize("skew_ms", [0.0, 12345.6, -777.0])
def test_rtts_and_losses_do_not_depend_on_how_the_ends_clocks_differ(tmp_path, skew_ms):
    log = measured(_logs(tmp_path, skew_ms), "bbr")
    (flow,) = log.flows
    assert flow["scheme"] == "bbr"
    assert flow["sent_packets"] == 300
    # Packets of the last second may be in flight: of 30 missing packets, 20 count as lost.
    assert flow["lost_packets"] == 20
    assert flow["delivered_packets"] == 270
    assert flow["base_rtt_mean_ms"] == pytest.approx(50, abs=0.01)
    assert flow["rtt_mean_ms"] == pytest.approx(55, abs=0.2)
    assert flow["rtt_p95_ms"] == pytest.approx(60, abs=0.01)
    assert flow["delay_inflation"] == pytest.approx(1.1, abs=0.01)
    # The last packet is sent at 2.99 s and takes 25 ms (half of the base RTT) plus 10 ms of waiting.
    assert flow["stop_s"] == pytest.approx(3.025, abs=0.002)
    assert flow["goodput_mbps"] == pytest.approx(270 * 1448 * 8e-6 / flow["stop_s"], rel=1e-6)


def test_the_series_add_up_to_the_summary(tmp_path):
    log = measured(_logs(tmp_path), "bbr")
    (flow,) = log.flows
    series = log.flow_series
    assert np.allclose(series["time_s"], np.arange(1, 32) / 10)
    total_mbit = series["goodput_mbps"].sum() * 0.1
    assert total_mbit == pytest.approx(flow["goodput_mbps"] * flow["stop_s"])
    assert series["send_mbps"].sum() * 0.1 == pytest.approx(300 * 0.012)
    assert series["lost_packets"].sum() == 20
    assert np.allclose(series["rtt_ms"][1:14], 50, atol=0.1)
    assert np.allclose(series["rtt_ms"][16:29], 60, atol=0.1)
    assert len({len(column) for column in series.values()}) == 1


def test_a_packet_that_came_twice_counts_once(tmp_path):
    logs = _logs(tmp_path)
    path = tmp_path / "server/ingress.log"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[-1]]))
    again = Logs.read(sender=tmp_path / "client", receiver=tmp_path / "server")
    assert repr(measured(again, "x").flows) == repr(measured(logs, "x").flows)


def test_the_cut_off_last_line_of_a_killed_end_is_left_out(tmp_path):
    path = _write(tmp_path, "client", "egress", [(1.0, 0, 60), (2.0, 1, 60)])
    content = path.read_text()
    for cut in (1, 2, 5, 9):
        path.write_text(content[:-cut])
        assert read_log(path).uid.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "line 1: must be"),
        ("# 'x' egress: soon\n", "line 1: must be"),
        ("# 'x' sideways: 1.0\n", "line 1: must be"),
        ("# 'x' egress: 1.0\n1.0 - 0 - 60\n2.0 + 1 - 60\n", "line 3: must be"),
        ("# 'x' egress: 1.0\n1.0 - zero - 60\n", "line 2: must be"),
        ("# 'x' egress: 1.0\n1.0 - 0 - 35\n2.0 - 1 - 60\n", "line 2: must be"),
    ],
)
def test_what_is_no_log_is_named_with_its_line(tmp_path, text, rule):
    path = tmp_path / "egress.log"
    path.write_text(text)
    with pytest.raises(InputError, match=rule) as caught:
        read_log(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_logs_in_each_others_place_and_missing_ones_are_named(tmp_path):
    _logs(tmp_path)
    (tmp_path / "server/ingress.log").rename(tmp_path / "server/kept")
    with pytest.raises(InputError, match=r"server/ingress\.log: cannot be read"):
        Logs.read(sender=tmp_path / "client", receiver=tmp_path / "server")
    (tmp_path / "server/egress.log").rename(tmp_path / "server/ingress.log")
    with pytest.raises(InputError, match=r"is a log of egress: must be ingress"):
        Logs.read(sender=tmp_path / "client", receiver=tmp_path / "server")


def test_ends_in_each_others_place_are_refused_with_the_order_that_is_right(tmp_path):
    _logs(tmp_path)
    client, server = tmp_path / "client", tmp_path / "server"
    line = [sys.executable, "-m", "kernel_bridge", "tunnel", "read", server, client]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{server}: belongs to the receiver (14,040 bytes left it, 450,000 left {client}): "
        f"the sender's folder comes first: tunnel read {client} {server}\n"
    )


def test_the_command_line_prints_the_summary_and_writes_the_series(tmp_path):
    _logs(tmp_path)
    line = [sys.executable, "-m", "kernel_bridge", "tunnel", "read", tmp_path / "client", tmp_path / "server"]
    line += ["--series", tmp_path / "series.parquet"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    record = json.loads(done.stdout)
    assert record["delivered_packets"] == 270
    assert record["capacity_mbps"] is None
    assert pl.read_parquet(tmp_path / "series.parquet").height == 31


def test_without_the_programs_one_line_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"tunnel: mm-tunnelserver is not installed: .*pantheon-tunnel"):
        run("cubic", 1, tmp_path)


@pytest.mark.skipif(LACK is not None, reason=LACK or "")
def test_a_flow_through_a_tunnel_is_measured_by_its_logs(tmp_path):
    log = run("cubic", 2, tmp_path)
    (flow,) = log.flows
    assert flow["goodput_mbps"] > 20
    assert 0 < flow["base_rtt_mean_ms"] < 5
    assert flow["rtt_mean_ms"] > flow["base_rtt_mean_ms"]
    assert flow["stop_s"] == pytest.approx(2, abs=0.3)
    assert flow["sent_packets"] >= flow["delivered_packets"] + flow["lost_packets"] - 1
