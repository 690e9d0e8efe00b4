"""The gym: scenarios as Gymnasium, PettingZoo, Stable-Baselines3 and RLlib environments.

    gymnasium.make("leo/SingleFlow-v0")  # after `import leogym`; leogym/registration.py has all ids
    gymnasium.make_vec("leo/Flow-v0", num_envs=16, scenario="leo")
    leogym.envs.parallel_env(scenario="static-pair-agents")
    leogym.envs.sb3.LeoVecEnv(16, scenario="leo")
    leogym.envs.rllib.MultiFlowEnv({"scenario": "leo"})

`leosim` simulates, and computes observations and rewards.
"""

from typing import TYPE_CHECKING, Any

from leogym.registration import FLOW_ID

if TYPE_CHECKING:
    from leogym.envs.parallel import FLOWS_ID, parallel_env

__all__ = ["FLOWS_ID", "FLOW_ID", "parallel_env"]


def __getattr__(name: str) -> Any:
    """Import PettingZoo's face on first use: every command imports this package, and few need the face."""
    if name not in ("FLOWS_ID", "parallel_env"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from leogym.envs import parallel

    return getattr(parallel, name)
