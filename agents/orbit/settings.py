"""Settings of Orbit's evolution strategy, in addition to those of every run."""

from typing import Annotated

from pydantic import BeforeValidator

from leogym.agents.training.settings import Simulations, TrainSettings, ranges_by_name
from leogym.common.strict import Positive, Range
from leogym.configs.sampling import (
    AstraeaSampling,
    LeoSampling,
    MixtureSampling,
    Part,
    Sampling,
    TraceSampling,
)

RANGES = MixtureSampling(
    parts=[
        Part(
            weight=0.35,
            scenarios=LeoSampling(
                paths=("sea-ba-isl", "sd-sea-isl", "sd-sea-bp", "sea-ny-isl@kuiper-630"),
                rate_mbps=(20.0, 300.0),
                queue_bdp=(0.5, 4.0),
                flows=(1, 1),
                duration_s=30.0,
            ),
        ),
        Part(
            weight=0.25,
            scenarios=TraceSampling(paths=("uniform-steps", "uniform-steps-lossy"), duration_s=30.0),
        ),
        Part(
            weight=0.4,
            scenarios=AstraeaSampling(
                flows=(1, 3),
                rate_mbps=(20.0, 300.0),
                base_rtt_ms=(10.0, 200.0),
                queue_bdp=(0.5, 4.0),
                start_window=0.2,
                duration_s=30.0,
            ),
        ),
    ]
)
"""Neither the paths nor the draws of the suites that judge: those have other pairs, phases and seeds."""


class OrbitSettings(TrainSettings):
    """Settings of the evolution strategy."""

    spec: str = "orbit"
    reward: str = "power"
    scenarios: Annotated[Sampling, BeforeValidator(ranges_by_name)] = RANGES
    interval_ms: Positive = 10.0
    num_envs: Simulations = 12
    """Episodes of each candidate; all candidates of a generation meet the same ones."""
    population: Annotated[int, Range(ge=4, le=10_000)] = 8
    """Candidates of a generation."""
    deviation: Positive = 0.15
    """Of the first generation, in units of an action."""
