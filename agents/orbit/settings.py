"""Settings of Orbit's training, in addition to those of every run."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from leogym.agents.training.settings import (
    Count,
    RewardText,
    Simulations,
    TrainSettings,
    Width,
    ranges_by_name,
)
from leogym.common.strict import Positive, Probability
from leogym.configs.sampling import (
    AstraeaSampling,
    LeoSampling,
    MixtureSampling,
    Part,
    Sampling,
    Simple,
    TraceSampling,
)

PATHS = (
    "mad-yto-isl",
    "sfo-tpe-isl",
    "fra-cpt-isl@kuiper-630",
    "ams-hkg-isl@telesat-1015",
    "bos-was-bp",
    "las-stl-bp@oneweb",
)
"""Cities that LeoBench's judge does not draw, on the constellations that it draws."""

COMPETITORS = ("cubic", "cubic", "cubic", "bbr3", "bbr3", "bbr", "reno")

DURATION_S = 45.0

BURSTS = (65_536, 524_288)


def _static(**ranges: Any) -> AstraeaSampling:
    return AstraeaSampling(start_window=0.3, duration_s=DURATION_S, **ranges)


def _leo(**ranges: Any) -> LeoSampling:
    return LeoSampling(
        paths=PATHS, rate_mbps=(20.0, 300.0), queue_bdp=(0.4, 4.0), duration_s=DURATION_S, **ranges
    )


def _traces(*paths: str, **ranges: Any) -> TraceSampling:
    return TraceSampling(paths=paths, duration_s=DURATION_S, **ranges)


def _draws(preset: str) -> list[str]:
    """Return sixteen traces of ``preset``; draw 1 is LeoBench's public one."""
    return [f"{preset}@{seed}" for seed in range(2, 18)]


PARTS: list[tuple[float, Simple]] = [
    # Alone, or among flows of its own.
    (0.12, _leo(flows=(1, 2))),
    (0.1, _traces(*_draws("uniform-steps"), *_draws("uniform-steps-lossy"), flows=(1, 1))),
    (
        0.08,
        _traces(*_draws("starlink"), flows=(1, 4), queue_kind="head_drop", queue_packets=(300, 700)),
    ),
    (0.04, _traces("outages:outage_ms=50", "outages:outage_ms=170", flows=(1, 1), rate_mbps=(20.0, 200.0))),
    (0.06, _static(flows=(1, 4), rate_mbps=(10.0, 300.0), base_rtt_ms=(10.0, 200.0), queue_bdp=(0.4, 4.0))),
    # Shapers whose buckets let bursts pass, as in the papers' testbeds.
    (0.24, _static(flows=(2, 5), burst_bytes=BURSTS, base_rtt_ms=(10.0, 200.0), rate_mbps=(20.0, 200.0))),
    (0.04, _static(flows=(1, 2), rate_mbps=(1.0, 20.0), base_rtt_ms=(10.0, 150.0), queue_bdp=(0.4, 4.0))),
    (0.04, _static(flows=(1, 1), rate_mbps=(20.0, 250.0), base_rtt_ms=(400.0, 600.0), queue_bdp=(0.5, 2.0))),
    # Beside other schemes.
    (0.13, _leo(flows=(2, 3), learning_flows=1, background=COMPETITORS)),
    (
        0.18,
        _static(
            flows=(2, 3),
            learning_flows=1,
            background=COMPETITORS,
            rate_mbps=(10.0, 300.0),
            base_rtt_ms=(10.0, 200.0),
            queue_bdp=(0.4, 6.0),
            burst_bytes=(0, 0, *BURSTS),
            unequal_rtt_probability=0.3,
        ),
    ),
]

RANGES = MixtureSampling(parts=[Part(weight=weight, scenarios=ranges) for weight, ranges in PARTS])
"""Kinds of LeoBench's suites, on none of its paths and draws."""


class OrbitSettings(TrainSettings):
    """Settings of Orbit's training."""

    spec: str = "orbit"
    reward: RewardText = "fair-share"
    scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)] = RANGES
    interval_ms: Positive = 10.0
    num_envs: Simulations = 32
    """Episodes of a round: the network runs them, then learns from them."""
    width: Width = 32
    """Numbers in the network's memory."""
    learning_rate: Positive = 2e-3
    """Of Adam, in the first round; halved after ``halving_rounds``, a third of it after twice as many."""
    halving_rounds: Count = 10
    passes: Count = 3
    """How often a round's episodes are learned from."""
    flows_per_update: Count = 16
    steps_per_update: Count = 500
    """Length of truncated backpropagation through time, in intervals."""
    teacher_share: Probability = 0.25
    """Part of the flows that a noisy teacher steers, after ``teacher_rounds`` in which it steers all."""
    teacher_rounds: Count = 4
    start_quantile: Probability = 0.35
    """Quantile of the first rate that the network learns: below 0.5, it rather starts too slowly."""
