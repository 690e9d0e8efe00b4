"""Read old checkpoints, which stack the weights of both critics along a leading axis of 2."""

from collections.abc import Mapping
from typing import Any


def separated(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a learner (`Td3.state`) with separate critics; a new one is only copied."""
    if "critic_optimiser" not in state:
        return dict(state)
    apart = {key: value for key, value in state.items() if key != "critic_optimiser"}
    for name in ("critics", "target_critics"):
        apart[name] = {
            f"{critic}.{key}": stacked[critic] for critic in range(2) for key, stacked in state[name].items()
        }
    optimiser = state["critic_optimiser"]
    apart["critic_optimisers"] = [
        {
            "param_groups": optimiser["param_groups"],
            "state": {
                parameter: {
                    "step": moments["step"].clone(),
                    "exp_avg": moments["exp_avg"][critic],
                    "exp_avg_sq": moments["exp_avg_sq"][critic],
                }
                for parameter, moments in optimiser["state"].items()
            },
        }
        for critic in range(2)
    ]
    return apart
