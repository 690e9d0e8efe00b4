"""Aurora's reward, relative to what each path allows: the same best policy, learned with far less noise.

Aurora's reward counts packets a second and seconds, and its observation tells neither the link's rate nor its
delay. A critic cannot know, then, whether a reward is large because of the action or of the path, and on
paths of 100 to 500 packets/s most of it is the path. What is learned from instead is

    (reward + cost of the base RTT) / worth of the link's rate,

an increasing affine function of the reward on each path, under which the same actions are best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

PACKET_BITS = 1_500 * 8
WORTH_PER_PACKET_PER_S = 0.01
"""Aurora's reward for a packet a second …"""
COST_PER_S = 1.0
"""… and its punishment for a second of latency."""

DELAY_MS, RATE_MBPS = (9, 500.0), (11, 500.0)
"""Places and scales in the critic's global state, ``core/control/src/global_state.rs``."""


def relative(rewards: NDArray[np.float32], global_states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``rewards``, (n,), relative to what the paths of ``global_states``, (n, global_dim), allow."""
    delay_s, rate_mbps = (
        global_states[:, place].astype(np.float64) * scale for place, scale in (DELAY_MS, RATE_MBPS)
    )
    base_rtt_s = 2 * delay_s / 1e3
    packets_per_s = np.maximum(rate_mbps * 1e6 / PACKET_BITS, 1.0)
    worth = WORTH_PER_PACKET_PER_S * packets_per_s
    return ((rewards + COST_PER_S * base_rtt_s) / worth).astype(np.float32)


class RelativeRewards(VecEnvWrapper):
    """Makes the rewards of `envs.sb3.LeoVecEnv`, within ``environment``, relative to their paths."""

    def __init__(self, environment: VecEnv) -> None:
        super().__init__(environment)
        (self._global_states, *_) = environment.get_attr("global_states", [0])
        self._paths = self._global_states.copy()

    def reset(self) -> VecEnvObs:
        """Reset as the environment does."""
        return self.venv.reset()

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Take the actions, and note which paths they are for."""
        self._paths = self._global_states.copy()
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Step as the environment does, the rewards relative."""
        observations, rewards, dones, infos = self.venv.step_wait()
        # Where an episode ended, the global state is the next one's already.
        return (
            observations,
            relative(rewards, np.where(dones[:, None], self._paths, self._global_states)),
            dones,
            infos,
        )
