"""Algorithms of Stable-Baselines3 and sb3-contrib, with hyperparameters as in rl_zoo3's files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sb3_contrib
import stable_baselines3
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecNormalize

from leogym.envs.seeding import mixed
from studies.reference.learners.pickled import Pickled, WholeInPickles
from studies.reference.learners.tasks import Policy, Task

CLASSES: dict[str, type[BaseAlgorithm]] = {
    "ppo": stable_baselines3.PPO,
    "recurrent_ppo": sb3_contrib.RecurrentPPO,
    "sac": stable_baselines3.SAC,
    "td3": stable_baselines3.TD3,
    "tqc": sb3_contrib.TQC,
}
DISCRETE = ("ppo", "recurrent_ppo")
"""Algorithms that take discrete actions."""


class AnnealedStepSize:
    """A step size that falls linearly to 0 at ``n_timesteps``, as rl_zoo3's ``lin_VALUE``.

    Stable-Baselines3's own progress is that of one call of ``learn``, and a cell is trained in several.
    """

    def __init__(self, initial: float, n_timesteps: float) -> None:
        self._initial, self._n_timesteps = initial, n_timesteps
        self.learner: Sb3Learner | None = None

    def __call__(self, _: float) -> float:
        """Return the step size for the learner's steps so far."""
        steps = 0 if self.learner is None else self.learner.steps
        return self._initial * max(0.0, 1.0 - steps / self._n_timesteps)


class Normalized(WholeInPickles, VecNormalize):
    """``VecNormalize`` whose pickle includes its environment and running returns."""


class Sb3Learner(Pickled):
    """One model and its environment."""

    def __init__(self, algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int) -> None:
        arguments = dict(hyperparameters)
        n_timesteps = arguments.pop("n_timesteps", None)
        num_envs, normalize = arguments.pop("n_envs", 1), arguments.pop("normalize", False)
        env = of.training_env(num_envs, discrete=algorithm in DISCRETE)
        if normalize:
            env = Normalized(env, gamma=arguments.get("gamma", 0.99))
        if arguments.pop("noise_type", None) == "normal":
            [size] = env.action_space.shape or (1,)
            deviation = arguments.pop("noise_std")
            arguments["action_noise"] = NormalActionNoise(np.zeros(size), np.full(size, deviation))
        self._flows = of.flows
        step_size = arguments.get("learning_rate")
        if isinstance(step_size, str):
            arguments["learning_rate"] = AnnealedStepSize(float(step_size.removeprefix("lin_")), n_timesteps)
        self._model = CLASSES[algorithm](env=env, seed=seed, device="cpu", **arguments)
        if isinstance(step_size, str):
            arguments["learning_rate"].learner = self
        # The model gave its environments the seeds from `seed` on, which the next run's would share.
        env.seed(mixed([seed], bits=31))
        self._model.set_logger(Logger(None, []))

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self._model.num_timesteps // self._flows

    def learn_until(self, steps: int) -> None:
        """Train to the first end of a rollout at or after ``steps``."""
        missing = steps * self._flows - self._model.num_timesteps
        if missing > 0:
            self._model.learn(missing, reset_num_timesteps=False)

    def policy(self, rows: int) -> Policy:
        """Return the deterministic policy for ``rows`` flows at a time."""
        normalized = self._model.get_vec_normalize_env()
        memory = None

        def act(observations: NDArray[np.float32], begins: NDArray[np.bool_]) -> NDArray[Any]:
            nonlocal memory
            if normalized is not None:
                observations = normalized.normalize_obs(observations)  # pyright: ignore
            actions, memory = self._model.predict(observations, memory, begins, deterministic=True)
            return actions

        return act
