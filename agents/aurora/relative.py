"""Aurora's reward relative to its path: the optimal policy is the same, with far less noise in training.

Aurora's reward depends on packets per second and on seconds, but its observation has neither the link's rate
nor its delay. So a critic cannot tell whether the action or the path made a reward large; on paths of 100 to
500 packets/s it is mostly the path. Training uses

    (reward + cost of the base RTT) / worth of the link's rate

instead, an increasing affine function of the reward on each path, so the optimal actions are the same.
"""

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

PACKET_BITS = 1_500 * 8
WORTH_PER_PACKET_PER_S = 0.01
"""Aurora's reward per packet/s."""
COST_PER_S = 1.0
"""Aurora's penalty per second of latency."""

DELAY_MS, RATE_MBPS = (9, 500.0), (11, 500.0)
"""(index, scale) in the critic's global state, ``core/control/src/global_state.rs``."""


def relative(rewards: NDArray[np.float32], global_states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``rewards`` (n,) relative to the paths in ``global_states`` (n, global_dim)."""
    delay_s, rate_mbps = (
        global_states[:, place].astype(np.float64) * scale for place, scale in (DELAY_MS, RATE_MBPS)
    )
    base_rtt_s = 2 * delay_s / 1e3
    packets_per_s = np.maximum(rate_mbps * 1e6 / PACKET_BITS, 1.0)
    worth = WORTH_PER_PACKET_PER_S * packets_per_s
    return ((rewards + COST_PER_S * base_rtt_s) / worth).astype(np.float32)


class RelativeRewards(VecEnvWrapper):
    """Makes the rewards of ``environment``, which wraps `envs.sb3.LeoVecEnv`, relative to their paths."""

    def __init__(self, environment: VecEnv) -> None:
        super().__init__(environment)
        (self._global_states, *_) = environment.get_attr("global_states", [0])
        self._paths = self._global_states.copy()

    def reset(self) -> VecEnvObs:
        """Reset the environment."""
        return self.venv.reset()

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Store the current paths and pass on the actions."""
        self._paths = self._global_states.copy()
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environment; return relative rewards."""
        observations, rewards, dones, infos = self.venv.step_wait()
        # After an episode's end, the global state is that of the next episode.
        return (
            observations,
            relative(rewards, np.where(dones[:, None], self._paths, self._global_states)),
            dones,
            infos,
        )
