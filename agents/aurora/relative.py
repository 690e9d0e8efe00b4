"""Aurora's reward relative to its path: the optimal policy is the same, with far less noise in training.

Aurora's reward depends on packets per second and on seconds, but its observation has neither the link's rate
nor its delay. So a critic cannot tell whether the action or the path made a reward large; on paths of 100 to
500 packets/s it is mostly the path. Training uses

    (reward + cost of the base RTT) / worth of the link's rate

instead, an increasing affine function of the reward on each path, so the optimal actions are the same.
"""

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

PACKET_BITS = 1_500 * 8
WORTH_PER_PACKET_PER_S = 0.01
"""Aurora's reward per packet/s."""
COST_PER_S = 1.0
"""Aurora's penalty per second of latency."""


def relative(rewards: NDArray[np.float32], paths: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return ``rewards`` (n,) relative to ``paths`` (n, 2): capacity in Mbit/s and base RTT in ms."""
    capacity_mbps, base_rtt_ms = paths.T
    worth = WORTH_PER_PACKET_PER_S * np.maximum(capacity_mbps * 1e6 / PACKET_BITS, 1.0)
    return ((rewards + COST_PER_S * base_rtt_ms / 1e3) / worth).astype(np.float32)


class RelativeRewards(VecEnvWrapper):
    """Makes the rewards of ``venv``, which wraps `envs.sb3.LeoVecEnv`, relative to their paths."""

    def reset(self) -> VecEnvObs:
        """Reset the environment."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environment; return relative rewards."""
        observations, rewards, dones, infos = self.venv.step_wait()
        paths = np.array([(info["capacity_mbps"], info["base_rtt_ms"]) for info in infos])
        return observations, relative(rewards, paths), dones, infos
