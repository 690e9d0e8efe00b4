"""Fuzz targets: every parser of user input, with a few valid inputs each.

Any input must parse or raise a one-line InputError, within limited time.
"""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import leosim

from leogym.common import text_file
from leogym.common.errors import InputError
from leogym.configs import scenario
from leogym.traces.capacity import terminal
from leogym.traces.formats import (
    hypatia,
    irtt,
    leoem,
    leoreplayer,
    mahimahi,
    netem_trace,
    ping_log,
    probes,
    series,
    starlink_csv,
    wetlinks,
)
from leogym.traces.orbit import catalogue, tle
from leogym.traces.orbit.flown import flight, own_epoch
from leogym.traces.path import cache, physics
from tests.support import catalogues

ROOT = Path(__file__).resolve().parents[2]
_FIXTURE = ROOT / "core" / "control" / "tests" / "fixtures" / "perceptron"
_HEAD = b'# {"format": "leogym-path-trace", "version": 1, "name": "x"}\n'
_COLUMNS = b"time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event\n"
_HEAD_2 = _HEAD.replace(b'"version": 1', b'"version": 2')
_COLUMNS_2 = (
    b"time_s,up_delay_ms,down_delay_ms,uplink_mbps,downlink_mbps,up_loss,down_loss,"
    b"up_connected,down_connected,path_id,event\n"
)
_MAX_RUN_S = 0.05


class Target(NamedTuple):
    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _path_trace(data: bytes) -> None:
    trace = cache.parse(data, "x.csv")
    physics.check(trace, "x.csv")
    rows = series.from_trace(trace)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for direction in mahimahi.DIRECTIONS:
            netem_trace.write_spans(nowhere, rows, rows.way(direction).delay_ns, *netem_trace.DELAY)
        mahimahi.check(rows, "x.csv")
        turned = rows.rotated(mahimahi.starting_offset_ns(rows, "x.csv"))
        if turned.period_ns < 10**10 and int(turned.up.bps.max()) < 10**9:
            mahimahi.write(turned, "uplink", nowhere)


def _file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="leogym-fuzz-") as folder:
            path = Path(folder) / "input"
            path.write_bytes(data)
            return read(path)

    return parse


def _leoem(path: Path) -> None:
    rows, seconds = leoem.read(path, 100.0)
    leoem.faults(seconds)
    series.without_overtaking(rows)


def _mahimahi(path: Path) -> None:
    # Bins of a minute: a trace may last for months.
    mahimahi.read(path, path, (20.0, 15.0), bin_ms=60_000)


def _probes(read: Callable[[Path], probes.Probes]) -> Callable[[Path], None]:
    def parse(path: Path) -> None:
        value = read(path)
        # A few slots: a log may last for months.
        probes.binned(value, max(1, int(value.time_ns[-1]) // 1000), 100.0, "x")

    return parse


def _wetlinks(path: Path) -> None:
    # Seconds and pings in one file, apart by an empty line.
    seconds, _, pings = path.read_bytes().partition(b"\n\n")
    path.write_bytes(seconds)
    other = path.with_name("pings")
    other.write_bytes(pings)
    wetlinks.read(path, other, None)


def _catalogue(data: bytes) -> None:
    satellites = catalogue.parse(text_file.decode(data, "x"), "x")
    if satellites is not None:
        flight(satellites, "x", own_epoch(satellites), 0.0, 100.0)


def _scenario(data: bytes) -> None:
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
    except (ValueError, RecursionError):
        text, value = data.decode("utf-8", "replace"), None
    refused = None
    try:
        scenario.parse(value, "x.json")
    except InputError as error:
        refused = error
    duration_s = value.get("duration_s") if isinstance(value, dict) else None
    # The core parses only when it runs: pass invalid or short scenarios.
    if not isinstance(duration_s, int | float) or duration_s <= _MAX_RUN_S:
        leosim.run([text], {}, series_ms=0.0)
    if refused is not None:
        raise refused


def _policy(name: str) -> Callable[[bytes], object]:
    files = {file: (_FIXTURE / file).read_bytes() for file in ("policy.json", "policy.onnx")}

    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory(prefix="leogym-fuzz-") as folder:
            for file, content in (files | {name: data}).items():
                (Path(folder) / file).write_bytes(content)
            return leosim.Policy.load(folder)

    return parse


_SCENARIO = {
    "name": "x",
    "duration_s": 0.04,
    "seed": 1,
    "links": {
        "a": {"rate_mbps": 10, "delay_ms": 2, "loss": 0.0, "queue": {"kind": "droptail", "packets": 10}}
    },
    "flows": [{"scheme": "cubic", "start_s": 0, "route": ["a"], "extra_delay_ms": 1, "count": 2}],
}
_CROSSED = {
    "duration_s": 0.02,
    "links": {
        "a": {"rate_mbps": 10, "delay_ms": 2, "queue": {"kind": "fq_codel"}},
        "b": {"rate_mbps": 10, "delay_ms": 1, "reverse": {"rate_mbps": 2, "loss": 0.1}},
    },
    "flows": [
        {
            "scheme": "udp",
            "rate_mbps": 2,
            "on_off": {"on_s": 0.005, "off_s": 0.002, "distribution": "constant"},
            "route": ["a", "b"],
        },
        {"scheme": "bbr", "route": ["a"]},
        {"scheme": "reno", "route": ["b"], "direction": "backward"},
    ],
    "events": [{"at_s": 0.01, "reroute": {"flows": [0], "route": ["b"]}}],
}
_LIMITED = {
    "duration_s": 0.03,
    "handshake": True,
    "host_jitter_us": 100,
    "links": {
        "a": {"rate_mbps": 10, "delay_ms": 1, "burst_bytes": 4000, "queue": {"kind": "pie", "ecn": True}}
    },
    "flows": [
        {"scheme": "cubic", "ecn": True, "transfer_bytes": 30_000, "route": ["a"]},
        {"scheme": "prague", "ecn": {"sender": "accurate", "receiver": "classic"}, "route": ["a"]},
        {
            "scheme": "leotcp",
            "tcp_rmem": [4096, 65_536, 1_000_000],
            "tcp_wmem": [4096, 16_384, 100_000],
            "route": ["a"],
        },
        {
            "scheme": "vivace",
            "arrivals": {"rate_per_s": 100, "mean_bytes": 3000, "distribution": "pareto", "shape": 1.5},
            "route": ["a"],
        },
    ],
}
_PING = (
    b"PING 1.1.1.1 (1.1.1.1) 56(84) bytes of data.\n"
    b"[1700000000.410606] 64 bytes from 2605::1: icmp_seq=1 ttl=63 time=60.6 ms\n"
    b"[1700000000.421290] 64 bytes from 2605::1: icmp_seq=2 ttl=63 time=56.9 ms (DUP!)\n"
    b"[1700000000.5] no answer yet for icmp_seq=3\n"
    b"[1700000000.442474] 64 bytes from 2605::1: icmp_seq=65535 ttl=63 time=62 ms\n"
    b"Warning: time of day goes back (-12us), taking countermeasures.\n"
    b"[1700003600.442474] 64 octets de a : icmp_seq=4 ttl=63 temps=62,1 ms (DIFFERENT ADDRESS!)\n"
    b"[1700003600.5] From 192.0.2.9 icmp_seq=5 Time to live exceeded\n"
    b"--- 1.1.1.1 ping statistics ---\n4 packets transmitted, 3 received\n"
)
_IRTT = {
    "version": {"irtt": "0.9.1"},
    "round_trips": [
        {
            "lost": "false",
            "timestamps": {"client": {"send": {"wall": 1700000000000000000}}},
            "delay": {"rtt": 17291970, "send": 10488213200, "receive": -10470921269},
        },
        {"lost": "true_up", "timestamps": {"client": {"send": {"wall": 1700000000010000000}}}, "delay": {}},
    ],
}
_WETLINKS = (
    b"timestamp_start,timestamp_end,download,upload\n2023-09-28 12:00:00,2023-09-28 12:00:01,1e8,1e7\n"
    b"2023-09-28T12:05:00Z,2023-09-28T12:05:01Z,2e8,2e7\n\n"
    b"timestamp_start,packet_loss,ping_best\n2023-09-28 12:00:40+00:00,1.5,40.5\n2023-09-28 12:01:40,100,\n"
)
_TLE = (
    b"ISS (ZARYA)\n"
    b"1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927\n"
    b"2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537\n"
)
_OMM = [catalogues.record(1), catalogues.record(100_001, MEAN_ANOMALY=180.0, BSTAR=1e-4)]
_LEOEM = (
    b"0$[-1, 5, 1600, 6, -2]$5$[0.0019, 0.002, 0.002, 0.0021]$0.008\n1$NULL\n"
    b"2$[-1, 5, 7, -2]$4$[0.0005, 0.01, 0.002]$0.0125\n3$[-1, 8, 7, -2]$4$[0.0005, 0.01, 0.002]$0.0125\n"
)

TARGETS: dict[str, Target] = {
    "path-trace": Target(
        _path_trace,
        (
            _HEAD
            + _COLUMNS
            + b"0,20,100,50,0,1,0,\n0.1,21,0.5,1.5,0.01,0,1,hard_handover\n0.2,20.5,1,1,0,1,1,\n",
            _HEAD.replace(
                b"}",
                b', "from": {"lat_deg": 1, "lon_deg": 2}, "to": {"lat_deg": 3, "lon_deg": 4}, '
                b'"altitude_km": 550, "reattach_s": 15, "constellation": "s", "start_s": 1}',
            )
            + _COLUMNS
            + b"0,20,1,1,0,0,0,unreachable\n5,20,1,1,1,1,0,\n"
            + b"9.000000001,21,1,1,0,1,1,soft_handover(1.5..20)\n10,1,1,1,0,1,1,\n",
        ),
    ),
    "path-trace-2": Target(
        _path_trace,
        (
            _HEAD_2
            + _COLUMNS_2
            + b"0,20,15,100,50,0,0.1,1,1,0,\n0.1,21,15.5,0.5,1.5,0.01,0,0,1,1,hard_handover\n"
            + b"0.2,20.95,15.45,1,1,0,0,1,1,1,\n",
            _HEAD_2.replace(
                b"}",
                b', "from": {"lat_deg": 1, "lon_deg": 2}, "to": {"lat_deg": 3, "lon_deg": 4}, '
                b'"altitude_km": 550, "reattach_s": 15, "constellation": "s", "start_s": 1}',
            )
            + _COLUMNS_2
            + b"0,20,5,1,1,0,1,0,1,0,unreachable\n5,20,6,1,1,1,0,1,1,0,\n"
            + b"9.000000001,21,6,1,1,0,0,1,0,1,soft_handover(1.5..20)\n10,1,1,1,1,0,0,1,1,1,\n",
            # As a spreadsheet saves it.
            b'\xef\xbb\xbf"# {""format"": ""leogym-path-trace""";" ""version"": 2}";;;;;;;;;;\r\n'
            + _COLUMNS_2.replace(b",", b";")
            + b"0;20,5;15;100;50;0;0,1;1;1;0;\r\n0,1;20,45;15;1;1;0;0;1;1;1;\r\n",
        ),
    ),
    "tle": Target(lambda data: tle.parse(data, "x.tle"), (_TLE, _TLE.split(b"\n", 1)[1])),
    "omm": Target(_catalogue, tuple(syntax(_OMM).encode() for syntax in catalogues.SYNTAXES.values())),
    "leoem": Target(_file(_leoem), (_LEOEM,)),
    "hypatia": Target(
        _file(lambda path: hypatia.read(path, 100.0)),
        (b"0,29423137.75\n100000000,0\n200000000,29420274.7\n",),
    ),
    "leoreplayer": Target(
        _file(lambda path: leoreplayer.read(path, None, None, 100.0)), (b"20\n21\n19\n0\n300\n",)
    ),
    "mahimahi": Target(_file(_mahimahi), (b"0\n1\n1\n5\n20\n",)),
    "starlink-csv": Target(
        _file(lambda path: starlink_csv.read(path, {}, None, 100.0)),
        (
            b"timestamp,rtt,uplink,downlink\n1700000000000000000,40.5,20,20\n1700000000010000000,-1,0,0\n",
            b"timestamp,rtt\n1700000000.5,40.5\n1700000000.6,41\n",
            b"time_iso,delay_ms,uplink_mbps,downlink_mbps,loss_percent\n2024-01-01T00:00:00Z,20,5,50,1\n",
            b"time_ms,rtt_s,loss,uplink_lost\n0,0.04,0.1,1\n1000,-1,0,-1\n",
            b"time_utc;uplink_ms;downlink_ms\r\n2024-01-01T00:00:00;-4,5;30\r\n2024-01-01T00:00:01;;-1\r\n",
        ),
    ),
    "ping": Target(_file(_probes(ping_log.read)), (_PING,)),
    "irtt": Target(
        _file(_probes(irtt.read)), (json.dumps(_IRTT).encode(), json.dumps(_IRTT, indent=4).encode())
    ),
    "wetlinks": Target(_file(_wetlinks), (_WETLINKS,)),
    "terminal": Target(
        _file(terminal.read),
        tuple((terminal.FOLDER / f"{name}.yaml").read_bytes() for name in terminal.names()),
    ),
    "scenario": Target(
        _scenario, tuple(json.dumps(seed).encode() for seed in (_SCENARIO, _CROSSED, _LIMITED))
    ),
    "policy-json": Target(_policy("policy.json"), ((_FIXTURE / "policy.json").read_bytes(),)),
    "policy-onnx": Target(_policy("policy.onnx"), ((_FIXTURE / "policy.onnx").read_bytes(),)),
}


def run(name: str, data: bytes) -> bool:
    """Return whether a target parsed an input; any exception is a finding."""
    try:
        TARGETS[name].parse(data)
    except InputError as error:
        # Not splitlines(): terminals and log readers break lines only at these two.
        if not str(error) or "\n" in str(error) or "\r" in str(error):
            raise AssertionError(f"{name}: must be refused in one line, not {str(error)!r}") from error
        return False
    return True
