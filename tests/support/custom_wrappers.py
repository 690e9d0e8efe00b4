"""Wrappers as users write them, which a written policy must contain or refuse."""

# pyright: reportIncompatibleMethodOverride=false, reportOperatorIssue=false
# As users write them: without types.

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import VecEnvWrapper

TENTH, HALF, TWO = np.float32(0.1), np.float32(0.5), np.float32(2)


class StepOnly(gymnasium.Wrapper):
    """Scales observations wherever an environment returns them."""

    def reset(self, **arguments):
        observation, info = self.env.reset(**arguments)
        return 3 * observation - 1, info

    def step(self, action):
        observation, *remaining = self.env.step(action)
        return 3 * observation - 1, *remaining


class NotAtReset(StepOnly):
    def reset(self, **arguments):
        return self.env.reset(**arguments)


class Shaped(gymnasium.Wrapper):
    """Changes rewards and information only."""

    def step(self, action):
        observation, reward, *ends, info = self.env.step(action)
        return observation, reward - 0.1 * float(np.sum(action)), *ends, {**info, "mine": 1}


class Halved(gymnasium.ActionWrapper):
    def action(self, action):
        return np.clip(HALF * action, -0.3, 0.4)


class Squared(gymnasium.ActionWrapper):
    def action(self, action):
        return action * np.abs(action)


class Twice(gymnasium.Wrapper):
    def step(self, action):
        self.env.step(action)
        return self.env.step(action)


class Averaged(gymnasium.ObservationWrapper):
    """Remembers."""

    def __init__(self, env):
        super().__init__(env)
        self.mean = np.zeros(50, np.float32)

    def observation(self, observation):
        self.mean = 0.5 * self.mean + 0.5 * observation
        return self.mean


class Cautious(gymnasium.Wrapper):
    """Acts less where it saw much."""

    def reset(self, **arguments):
        self.last, info = self.env.reset(**arguments)
        return self.last, info

    def step(self, action):
        self.last, *remaining = self.env.step(action * (HALF if self.last.mean() > 0.3 else 1))
        return self.last, *remaining


class Echo(gymnasium.Wrapper):
    """Shows the action in the observation."""

    def step(self, action):
        observation, *remaining = self.env.step(action)
        return observation + TENTH * action, *remaining


class Root(gymnasium.ObservationWrapper):
    def observation(self, observation):
        return np.sign(observation) * np.sqrt(np.abs(observation))


class Mixed(gymnasium.ObservationWrapper):
    """Divides by the length of the whole observation."""

    def observation(self, observation):
        return observation / (1 + np.linalg.norm(observation))


class Noise(gymnasium.ObservationWrapper):
    def observation(self, observation):
        return observation + 0.01 * np.random.default_rng().normal(size=50)


class Locked(gymnasium.Wrapper):
    """Cannot be copied."""

    def __init__(self, env):
        super().__init__(env)
        self.lines = (line for line in ())


class Choosy(gymnasium.ObservationWrapper):
    def observation(self, observation):
        if observation.max() > 50:
            raise ValueError("too\nlarge")
        return observation


class TenthOf(VecEnvWrapper):
    def reset(self):
        return self.venv.reset() * TENTH

    def step_wait(self):
        observation, *remaining = self.venv.step_wait()
        return (observation * TENTH, *remaining)


class HalfOf(VecEnvWrapper):
    def reset(self):
        return self.venv.reset()

    def step_async(self, actions):
        self.venv.step_async(actions * HALF)

    def step_wait(self):
        return self.venv.step_wait()


class Centred(gymnasium.vector.VectorObservationWrapper):
    """Takes the mean over environments from each."""

    def observations(self, observations):
        return observations - observations.mean(axis=0, keepdims=True)


class Doubled(gymnasium.vector.VectorWrapper):
    def reset(self, **arguments):
        observation, info = self.env.reset(**arguments)
        return TWO * observation, info

    def step(self, actions):
        observation, *remaining = self.env.step(actions * HALF)
        return (TWO * observation, *remaining)
