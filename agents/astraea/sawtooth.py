"""A rule over Astraea's observations that shares a link evenly, for an actor to begin with.

A window grows until packets wait, then shrinks until none does, again and again. What one flow adds to its
rate in a second does not depend on the rate, and what it takes away is a share of it: as with TCP's additive
increase and multiplicative decrease, flows that see the same queue come to equal rates (Chiu and Jain, 1989).
And the queue runs empty in every cycle, so that a flow that joined late sees the path's RTT, too. An
equilibrium, which a memoryless policy finds when left to itself, offers neither: who joins it takes its queue
for a part of the path.
"""

from __future__ import annotations

import torch
from torch import Tensor

from configs.errors import InputError

INTERVALS, FEATURES = 5, 10
"""Of an observation, and of an interval, the oldest first. See `core/control/src/features/astraea.rs`."""
MBIT = 80.0
"""Mbit/s in the unit of the maximum throughput, 10 MB/s."""
MILLISECONDS = 500.0
"""In the unit of the minimum RTT."""
PACKETS = 1e7 * 0.5 * 10 / (1460 * 8)
"""Window, from the product of the features 3, 4 and 5."""

FULL_MS, FULL_POWER, FULL_LEAST_MS = 2.6, 0.6, 2.2
"""So long packets wait when a flow of 40 Mbit/s backs off. Slower ones let them wait longer, so that faster
ones back off first: windows are whole packets, and small ones lose as many as large ones."""
EMPTY_MS, EMPTY_POWER, EMPTY_LEAST_MS = 0.33, 1.1, 0.5
"""So long they still wait when it goes on; faster ones go on last."""
SHRANK = 0.001
"""A window that became smaller by more is being taken back."""
RISE_RTT_MS, RISE_PACKETS, RISE_LEAST = 60.0, 0.94, 0.11
"""A window grows by a packet an interval for every 60 ms of RTT, so that rates grow alike, by one at least,
and by this share of the largest step at least."""
STEP = 0.025
"""Of a window, at most; Astraea's alpha."""
FREE_MS, FREE_SHARE = 0.45, 0.97
"""Nothing waits, and the rate is this share of its highest so far: it grows as fast as it can."""
FALL_RTT_MS, FALL_LEAST = 67.0, 0.3
"""Up to this RTT it takes back the largest step, beyond it less: a queue is seen to be empty an RTT late."""
LOSS = 0.04
"""Lost a second over the highest rate so far, beyond which a flow backs off however short the queue is."""
LEAST_PACKETS = 5.0
"""A window of so many packets or fewer is not taken back."""


def check(observation_dim: int, spec: str) -> None:
    """Refuse observations that the rule cannot read.

    Raises:
        InputError: they are of another specification than Astraea's.
    """
    if observation_dim != INTERVALS * FEATURES:
        raise InputError(f"settings: lessons: the rule reads observations of astraea, not of {spec}")


def action(observation: Tensor) -> Tensor:
    """Map observations (n, 50) to actions (n, 1) in [-1, 1]."""
    intervals = observation.unflatten(1, (-1, FEATURES))
    now, before = intervals[:, -1], intervals[:, -2]
    rate = (now[:, 0] * now[:, 4] * MBIT).clamp(min=0.3)
    rtt_ms = now[:, 5] * MILLISECONDS
    queueing = _queueing_ms(intervals)
    window, window_before = (PACKETS * one[:, 3] * one[:, 4] * one[:, 5] for one in (now, before))

    full = (FULL_MS * (rate / 40).pow(-FULL_POWER)).clamp(min=FULL_LEAST_MS)
    empty = (EMPTY_MS * (rate / 40).pow(-EMPTY_POWER)).clamp(min=EMPTY_LEAST_MS)
    too_much = torch.where(window < window_before * (1 - SHRANK), empty, full)
    back_off = (queueing[:, -1] > too_much) | (now[:, 6] > LOSS)
    back_off &= window > LEAST_PACKETS

    rise = RISE_PACKETS * rtt_ms / RISE_RTT_MS / (STEP * window.clamp(min=1.0))
    # At its highest rate so far, and nothing waits: nobody else is there, or not yet.
    free = (queueing.amax(1) < FREE_MS) & (intervals[:, :, 0].amin(1) > FREE_SHARE)
    rise = torch.where(free, torch.ones_like(rise), rise.clamp(RISE_LEAST, 1.0))
    fall = (rtt_ms.clamp(min=5.0) / FALL_RTT_MS).rsqrt().clamp(FALL_LEAST, 1.0)
    return torch.where(back_off, -fall, rise).unsqueeze(1)


def _queueing_ms(intervals: Tensor) -> Tensor:
    """Map intervals (n, 5, 10) to the time that packets waited (n, 5), in ms; 0 without a sample."""
    waited = (intervals[:, :, 1] - 1) * intervals[:, :, 5] * MILLISECONDS
    silent = (intervals[:, :, 1] >= 2) & (intervals[:, :, 0] == 0.5)
    return torch.where(silent, torch.zeros_like(waited), waited)
