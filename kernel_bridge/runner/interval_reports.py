"""Interval reports of an agent, computed from samples of the kernel's tcp_info.

An interval lasts from one sample to the next. leo-bridge's eBPF programs process every ACK; these reports
differ from leo-bridge's only in quantities that two readings of tcp_info do not contain:

- *throughput*: the latest delivery-rate sample, not the interval's mean; 0 without a delivery.
- *RTT samples* and their slope: unknown, as in an interval without samples. Smoothed RTT, its variation and
the minimum are the kernel's.
- *lost*: packets newly deemed lost, derived from retransmissions (`Samples.packets`).
"""

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS
from leogym.kernel_bridge.bridge.client import REPORT_FIELDS
from leogym.kernel_bridge.runner.socket_log import UNPACED, Samples

SAMPLE_MS = 10
"""The sampling interval of `traffic.c`."""
_NO_RTT = 2**32 - 1
"""The kernel's minimum RTT before the first sample."""


def interval_reports(sent: Samples, *, paced: bool) -> NDArray[np.float64]:
    """Return a TCP sender's reports, of shape (samples, len(`REPORT_FIELDS`)).

    The first interval starts one period before the first sample, with nothing sent. ``paced`` says whether
    the scheme paces, because the kernel reports a rate even if it does not.
    """
    info = {
        name: sent.info[name].astype(np.int64)
        for name in sent.info.dtype.names or ()
        if name != "pacing_rate"
    }
    segment = info["snd_mss"]
    # tcp_clean_rtx_queue counts the handshake's SYN as delivered.
    delivered = np.diff(info["delivered"], prepend=1) * segment
    throughput = np.where(delivered > 0, info["delivery_rate"], 0)
    _, _, lost = sent.packets()
    min_rtt = info["min_rtt_us"]
    rate = sent.info["pacing_rate"]
    columns = {
        "time_ns": sent.time_ns,
        "interval_ns": np.diff(sent.time_ns, prepend=sent.time_ns[:1] - SAMPLE_MS * NS_PER_MS),
        "delivered_bytes": delivered,
        "sent_bytes": np.diff(info["bytes_sent"], prepend=0),
        "lost_bytes": np.diff(lost, prepend=0) * segment,
        "avg_throughput_bytes_per_s": throughput,
        "min_rtt_us": np.where(min_rtt == _NO_RTT, 0, min_rtt),
        "srtt_us": info["rtt_us"],
        "rttvar_us": info["rttvar_us"],
        "cwnd_packets": info["snd_cwnd"],
        "packets_out": info["unacked"],
        "retrans_out": info["retrans"],
        "mss_bytes": segment,
        "pacing_rate_bytes_per_s": np.where(rate == UNPACED, 0, rate) if paced else 0,
        "max_throughput_bytes_per_s": np.maximum.accumulate(throughput),
        "ssthresh_packets": info["snd_ssthresh"],
    }
    reports = np.zeros((len(sent.time_ns), len(REPORT_FIELDS)))
    for name, column in columns.items():
        reports[:, REPORT_FIELDS.index(name)] = column
    return reports
