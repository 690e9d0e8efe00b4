"""The environments' ids in Gymnasium's registry, each with its scenarios, its length and its threshold."""

from dataclasses import dataclass, field
from typing import Any

import gymnasium

FLOW_ID = "leo/Flow-v0"
ENTRY_POINT = "leogym.envs.flow:FlowEnv"
VECTOR_ENTRY_POINT = "leogym.envs.flow:FlowVectorEnv"

INTERVAL_S = 0.03
"""Default monitor interval."""


def seconds(steps: int) -> float:
    """Return the duration in s of an episode of ``steps`` steps: the reset runs one interval, too."""
    return round((steps + 1) * INTERVAL_S, 2)


@dataclass(frozen=True)
class Preset:
    """An id of one learning flow, with arguments that need no other to train."""

    id: str
    summary: str
    """Its scenarios, as docs/environments.md has them."""
    steps: int
    """Steps of an episode, and so ``max_episode_steps``."""
    threshold: float
    """Gymnasium's ``reward_threshold``: half way from Cubic's return to Orbit's, in two digits."""
    scenario: dict[str, Any]
    """A scenario or a sampler's ranges; the duration follows from ``steps``."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Further arguments of `envs.flow.FlowEnv`."""

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments of `envs.flow.FlowEnv` that the id stands for."""
        return {"scenario": {**self.scenario, "duration_s": seconds(self.steps)}, **self.arguments}


_LEO = {"sampler": "leo", "flows": 1}
_TRACES = {"sampler": "traces", "flows": 1}

PRESETS = (
    Preset(
        "leo/SingleFlow-v0",
        "a LEO path over lasers or gateways (bent pipes), 40 to 160 Mbit/s, a buffer of 0.5 to 4 BDP",
        steps=500,
        threshold=350.0,
        scenario=_LEO,
        arguments={"reward": "power"},
    ),
    Preset(
        "leo/SingleFlowDiscrete-v0",
        "the same, with eleven actions, such as for DQN",
        steps=500,
        threshold=350.0,
        scenario=_LEO,
        arguments={"reward": "power", "actions": 11},
    ),
    Preset(
        "leo/Competing-v1",
        "the same paths, with one or two Cubic flows that start within 10 s",
        steps=1000,
        threshold=8900.0,
        scenario={
            **_LEO,
            "flows": [2, 3],
            "learning_flows": 1,
            "background": ["cubic"],
            "start_window": 1 / 3,
        },
        arguments={"agent": "orbit+cubic_ratio", "reward": "sage-r2"},
    ),
    Preset(
        "leo/Responsiveness-v1",
        "every 15 s capacity (50 to 100 Mbit/s) and base RTT (10 to 100 ms) change",
        steps=1000,
        threshold=75.0,
        scenario={**_TRACES, "paths": ["uniform-steps"], "queue_packets": 344},
        # PPO and SAC learn more from Orbit's observation than from Astraea's (studies/reference/journal.md).
        arguments={"agent": "orbit+cwnd_step"},
    ),
    Preset(
        "leo/Starlink-v2",
        "a Starlink terminal: bursts, reconfigurations every 15 s, a buffer that drops its oldest packet",
        steps=500,
        threshold=220.0,
        scenario={**_TRACES, "paths": ["starlink"], "queue_packets": 487, "queue_kind": "head_drop"},
        # Where a full buffer drops its oldest packet, a flood of packets has a short queue: loss has a price.
        arguments={"reward": "power:1,loss:-1"},
    ),
    Preset(
        "leo/Handover-v1",
        "100 Mbit/s and 50 ms, a hard handover of 50, 100 or 200 ms every 5 s",
        steps=500,
        threshold=39.0,
        scenario={
            **_TRACES,
            "paths": [f"outages:outage_ms={ms}" for ms in (50, 100, 200)],
            "queue_packets": 417,
        },
        # An episode is too short for a start-up in steps of 2.5 % (studies/reference/journal.md).
        arguments={"agent": "orbit+cubic_ratio"},
    ),
    Preset(
        "leo/Geo-v1",
        "a geostationary path: 600 ms base RTT, 144 Mbit/s, a buffer of one BDP",
        steps=1000,
        threshold=66.0,
        scenario={**_LEO, "paths": ["geo"], "rate_mbps": 144, "queue_bdp": 1.0},
        arguments={"agent": "orbit+cubic_ratio"},
    ),
    Preset(
        "leo/Static-v0",
        "a static link: 100 Mbit/s, 50 ms base RTT, a buffer of one BDP",
        steps=500,
        threshold=36.0,
        scenario={
            "name": "static-100",
            "links": {"bottleneck": {"rate_mbps": 100, "delay_ms": 25, "queue": {"bdp": 1.0}}},
            "flows": [{"scheme": "agent", "route": ["bottleneck"]}],
        },
    ),
)

IDS = (FLOW_ID, *(preset.id for preset in PRESETS))

PAIR_STEPS = 1000
PAIR = {"sampler": "leo", "flows": 2, "start_window": 1 / 3, "duration_s": seconds(PAIR_STEPS)}
"""Scenarios of PettingZoo's ``leo/Pair-v0``: two learning flows on a LEO path, the second joins in 10 s."""


NETWORK_STEPS = 500
NETWORK: dict[str, Any] = {
    "scenario": {"network": "atlantic", "duration_s": seconds(NETWORK_STEPS)},
    "reward": "fair-share",
}
"""Arguments of PettingZoo's ``leo/Network-v0``: eight of 16 flows over Telesat's polar shell learn."""


ROUTING_ID = "leo/Routing-v0"
ROUTING_STEPS = 30
ROUTING: dict[str, Any] = {"network": "crossing", "duration_s": ROUTING_STEPS + 1.0}
"""Arguments of `envs.routing.RoutingEnv`: the reset runs a period, too."""


def register() -> None:
    """Add the ids to Gymnasium's registry, unless they are in it."""
    # Workers of RLlib may import this module twice, and the registry warns about a second entry.
    if FLOW_ID in gymnasium.registry:
        return
    entries: dict[str, Any] = {"entry_point": ENTRY_POINT, "vector_entry_point": VECTOR_ENTRY_POINT}
    gymnasium.register(FLOW_ID, **entries)
    gymnasium.register(
        ROUTING_ID,
        entry_point="leogym.envs.routing:RoutingEnv",
        max_episode_steps=ROUTING_STEPS,
        kwargs=ROUTING,
    )
    for preset in PRESETS:
        gymnasium.register(
            preset.id,
            **entries,
            max_episode_steps=preset.steps,
            reward_threshold=preset.threshold,
            kwargs=preset.kwargs,
        )


register()
