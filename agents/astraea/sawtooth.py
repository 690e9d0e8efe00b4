"""A rule over Astraea's observations that shares a link evenly, for the actor to imitate.

A window grows until packets queue, then shrinks until the queue is empty, in cycles. The increase of the rate
per second is constant and the decrease is a share of the rate. As with TCP's additive increase and
multiplicative decrease, flows that see the same queue converge to equal rates (Chiu and Jain, 1989). The
queue empties in every cycle, so late flows see the base RTT. A memoryless policy that is trained alone
settles in an equilibrium with a standing queue instead, which late flows take for a part of the base RTT.
"""

import torch
from torch import Tensor

from leogym.common.errors import InputError

INTERVALS, FEATURES = 5, 10
"""Per observation (oldest first), and per interval. See `core/control/src/features/astraea.rs`."""
MBIT = 80.0
"""Unit of the maximum throughput: 10 MB/s in Mbit/s."""
MILLISECONDS = 500.0
"""Unit of the minimum RTT in ms."""
PACKETS = 1e7 * 0.5 * 10 / (1460 * 8)
"""Packets of a window per product of the features 3, 4 and 5."""

FULL_MS, FULL_POWER, FULL_LEAST_MS = 2.6, 0.6, 2.2
"""Queueing delay at which a flow of 40 Mbit/s backs off. Slower flows wait longer, so faster ones back off
first: windows are whole packets, so small windows lose as many packets as large ones."""
EMPTY_MS, EMPTY_POWER, EMPTY_LEAST_MS = 0.33, 1.1, 0.5
"""Queueing delay at which a flow grows again; faster flows wait longer."""
SHRANK = 0.001
"""A flow whose window shrank by more than this share is backing off."""
RISE_RTT_MS, RISE_PACKETS, RISE_LEAST = 60.0, 0.94, 0.11
"""Growth of a window: 0.94 packets per interval and 60 ms of RTT, so rates grow equally, and at least this
share of the largest step."""
STEP = 0.025
"""The largest step as a share of the window; Astraea's alpha."""
FREE_MS, FREE_SHARE = 0.45, 0.97
"""Below this queueing delay, and above this share of its highest rate, a flow grows by the largest step."""
FALL_RTT_MS, FALL_LEAST = 67.0, 0.3
"""Up to this RTT a flow backs off by the largest step, then by less: it sees an empty queue an RTT late."""
LOSS = 0.04
"""Loss rate, relative to the highest rate so far, beyond which a flow backs off even without a queue."""
LEAST_PACKETS = 5.0
"""Windows up to this size do not back off."""


def check(observation_dim: int, spec: str) -> None:
    """Raise `InputError` if observations are not of Astraea's specification."""
    if observation_dim != INTERVALS * FEATURES:
        raise InputError(f"settings: lessons: the rule reads observations of astraea, not of {spec}")


def action(observation: Tensor) -> Tensor:
    """Map observations (n, 50) to actions (n, 1) in [-1, 1]."""
    intervals = observation.unflatten(1, (-1, FEATURES))
    now, before = intervals[:, -1], intervals[:, -2]
    rate = (now[:, 0] * now[:, 4] * MBIT).clamp(min=0.3)
    rtt_ms = now[:, 5] * MILLISECONDS
    queueing = _queueing_ms(intervals)
    window, window_before = (PACKETS * row[:, 3] * row[:, 4] * row[:, 5] for row in (now, before))

    full = (FULL_MS * (rate / 40).pow(-FULL_POWER)).clamp(min=FULL_LEAST_MS)
    empty = (EMPTY_MS * (rate / 40).pow(-EMPTY_POWER)).clamp(min=EMPTY_LEAST_MS)
    too_much = torch.where(window < window_before * (1 - SHRANK), empty, full)
    back_off = (queueing[:, -1] > too_much) | (now[:, 6] > LOSS)
    back_off &= window > LEAST_PACKETS

    rise = RISE_PACKETS * rtt_ms / RISE_RTT_MS / (STEP * window.clamp(min=1.0))
    # At its highest rate without a queue: the flow is alone or has capacity left.
    free = (queueing.amax(1) < FREE_MS) & (intervals[:, :, 0].amin(1) > FREE_SHARE)
    rise = torch.where(free, torch.ones_like(rise), rise.clamp(RISE_LEAST, 1.0))
    fall = (rtt_ms.clamp(min=5.0) / FALL_RTT_MS).rsqrt().clamp(FALL_LEAST, 1.0)
    return torch.where(back_off, -fall, rise).unsqueeze(1)


def _queueing_ms(intervals: Tensor) -> Tensor:
    """Map intervals (n, 5, 10) to queueing delays (n, 5) in ms; 0 without a sample."""
    waited = (intervals[:, :, 1] - 1) * intervals[:, :, 5] * MILLISECONDS
    silent = (intervals[:, :, 1] >= 2) & (intervals[:, :, 0] == 0.5)
    return torch.where(silent, torch.zeros_like(waited), waited)
