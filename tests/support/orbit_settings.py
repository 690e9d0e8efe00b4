"""Settings of Orbit's training that take a second."""

from typing import Any

from leogym.agents.orbit.settings import OrbitSettings
from leogym.configs.sampling import AstraeaSampling


def tiny(**others: Any) -> OrbitSettings:
    """Return settings of two flows, one of them Cubic, for four seconds on a slow link."""
    link = AstraeaSampling(
        flows=(2, 2),
        learning_flows=1,
        background=("cubic",),
        rate_mbps=(10, 20),
        base_rtt_ms=(20, 40),
        duration_s=4,
    )
    settings = {"scenarios": link, "num_envs": 2, "width": 4, **others}
    return OrbitSettings(agent="orbit", checkpoint_steps=1, track="none", **settings)
