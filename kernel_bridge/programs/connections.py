"""Read the log of programs' TCP connections: `kernel_bridge/inside/tcp_log.c`."""

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.runner.socket_log import INFO

_SAMPLE = np.dtype(
    [
        ("time_ns", "<i8"),
        ("cookie", "<u8"),
        ("here", "V16"),
        ("there", "V16"),
        ("here_port", ">u2"),
        ("there_port", ">u2"),
        ("info_bytes", "<u4"),
        ("scheme", "S16"),
        ("info", INFO),
    ]
)
_NO_RTT_US = 2**32 - 1
"""Linux's minimum RTT of a connection without a sample."""
_COLUMNS = {"goodput_mbps": pl.Float64, "rtt_ms": pl.Float64, "cwnd_packets": pl.UInt32}


def read(
    folder: Path, hosts: Sequence[str], origin_ns: int, series_ms: float
) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Return a row per connection and interval, and a summary per connection that carried data.

    Args:
        folder: the folder of the logs.
        hosts: the hosts; each sees its end of a connection.
        origin_ns: the run's start on the monotonic clock.
        series_ms: the interval.
    """
    tables, summaries = [], []
    for host in hosts:
        samples = np.fromfile(folder / f"{host}.tcp", dtype=_SAMPLE)
        _, first = np.unique(samples["cookie"], return_index=True)
        for cookie in samples["cookie"][np.sort(first)]:
            of_connection = samples[samples["cookie"] == cookie]
            if summary := _summary(host, of_connection, origin_ns):
                tables.append(_series(len(summaries), of_connection, origin_ns, round(series_ms * NS_PER_MS)))
                summaries.append({"connection": len(summaries), **summary})
    empty = pl.DataFrame(schema={"time_s": pl.Float64, "connection": pl.UInt32, **_COLUMNS})
    return pl.concat([empty, *tables]).sort("time_s", "connection"), summaries


def _summary(host: str, samples: NDArray[Any], origin_ns: int) -> dict[str, Any] | None:
    info = samples["info"]
    sent, received = int(info["bytes_acked"].max()), int(info["bytes_received"].max())
    if not sent and not received:
        return None
    rtt_ms, weight = _rtts(samples)
    minima_us = info["min_rtt_us"][info["min_rtt_us"] < _NO_RTT_US]
    start_ns, stop_ns = samples["time_ns"][0] - origin_ns, samples["time_ns"][-1] - origin_ns
    first, last = samples[0], samples[-1]
    seconds = (stop_ns - start_ns) / NS_PER_S
    schemes = [scheme for scheme in samples["scheme"] if scheme]
    return {
        "host": host,
        "local": _endpoint(first["here"], first["here_port"]),
        "remote": _endpoint(first["there"], first["there_port"]),
        "scheme": schemes[-1].decode() if schemes else None,
        "start_s": start_ns / NS_PER_S,
        "stop_s": stop_ns / NS_PER_S,
        "sent_bytes": sent,
        "received_bytes": received,
        "goodput_mbps": sent * 8e-6 / seconds if seconds else None,
        "rtt_mean_ms": float(np.average(rtt_ms, weights=weight)) if weight.any() else None,
        "rtt_min_ms": float(minima_us.min() / 1e3) if len(minima_us) else None,
        "sent_packets": int(last["info"]["data_segs_out"]),
        "retransmitted_packets": int(last["info"]["total_retrans"]),
    }


def _series(number: int, samples: NDArray[Any], origin_ns: int, step_ns: int) -> pl.DataFrame:
    at_ns = samples["time_ns"] - origin_ns
    ends = np.arange(at_ns[0] // step_ns + 1, -(-at_ns[-1] // step_ns) + 1) * step_ns
    if not len(ends):
        ends = np.array([(at_ns[-1] // step_ns + 1) * step_ns])
    last = np.searchsorted(at_ns, ends, side="right") - 1
    acked = samples["info"]["bytes_acked"][last].astype(np.int64)
    rtt_ms, weight = _rtts(samples)
    interval = np.searchsorted(ends, at_ns)
    inside = interval < len(ends)
    sums = np.bincount(interval[inside], weights=(rtt_ms * weight)[inside], minlength=len(ends))
    counts = np.bincount(interval[inside], weights=weight[inside], minlength=len(ends))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / counts
    return pl.DataFrame(
        {
            "time_s": ends / NS_PER_S,
            "connection": np.full(len(ends), number, dtype=np.uint32),
            "goodput_mbps": np.diff(acked, prepend=0) * 8e3 / step_ns,
            "rtt_ms": mean,
            "cwnd_packets": samples["info"]["snd_cwnd"][last],
        }
    )


def _rtts(samples: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smoothed RTT of each sample, and its weight: the segments since the previous sample."""
    info = samples["info"]
    weight = np.maximum(np.diff(info["segs_in"].astype(np.int64), prepend=0), 0) * (info["rtt_us"] > 0)
    return info["rtt_us"] / 1e3, weight.astype(np.float64)


def _endpoint(address: Any, port: Any) -> str:
    data = bytes(address)
    is_short = not any(data[4:])
    text = ipaddress.ip_address(data[:4] if is_short else data)
    if isinstance(text, ipaddress.IPv6Address) and text.ipv4_mapped is not None:
        text = text.ipv4_mapped
    return f"[{text}]:{int(port)}" if text.version == 6 else f"{text}:{int(port)}"
