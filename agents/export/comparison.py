"""The written policy compared with the model in the training's environment, from the simulator's side."""

import warnings
from typing import Any

import leosim
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from leogym.agents.export.layers import Copies, innermost, layers
from leogym.agents.export.network import Actor
from leogym.agents.export.probing import single, within
from leogym.common.errors import InputError
from leogym.envs.interface import simulations

STEPS = 64
INPUT_TOLERANCE = 1e-4
"""Largest difference of the network's inputs, relative to their size or 1, whichever is larger."""
ACTION_TOLERANCE = 1e-3


def require_same(policy: leosim.Policy, actor: Actor, env: Any, copies: Copies) -> None:
    """Play the model in a copy of ``env``, and require that the policy would have done the same.

    The policy sees the simulator's own observations, and its actions are compared with those that arrive at
    the simulator. Every other action is random, so that a network that always does the same hides nothing.

    Raises:
        InputError: they differ, or the environment cannot be stepped; the message names its wrappers.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            differences = _differences(policy, actor, copies.of(env), simulations(copies.of(innermost(env))))
    except InputError:
        raise
    except Exception as error:  # a wrapper may raise anything
        reason = " ".join(str(error).split())[:80] or type(error).__name__
        raise InputError(
            f"env: {_described(env)}: cannot be stepped to compare the policy with it ({reason})"
        ) from None
    for quantity, largest in differences.items():
        if largest > 0:
            raise InputError(
                f"env: {_described(env)}: the network's {quantity} differ by {largest:g} from those of "
                "the written policy: something around the network does what a policy cannot"
            )


def _described(env: Any) -> str:
    return " of ".join([*(layer.name for layer in layers(env)), type(innermost(env)).__name__])


def _differences(policy: leosim.Policy, actor: Actor, env: Any, inside: Any) -> dict[str, float]:
    """Return the largest differences of inputs and actions beyond what rounding explains, 0 without any."""
    batch, random = inside.batch, np.random.default_rng(0)
    normalised = bool(inside.arguments.get("normalize_observations"))
    driver = Driver(env)
    driver.reset()
    memory, state = np.zeros((1, policy.memory_dim), np.float32), None
    largest = {"inputs": 0.0, "actions": 0.0}

    def differ(quantity: str, actual: NDArray[Any], expected: NDArray[Any], agree: NDArray[np.bool_]) -> None:
        if not agree.all():
            difference = float(np.max(np.abs(np.asarray(actual, np.float64) - expected)))
            largest[quantity] = max(largest[quantity], difference if np.isfinite(difference) else np.inf)

    def acts(actual: NDArray[Any], expected: NDArray[Any]) -> None:
        differ("actions", actual, expected, np.abs(actual - expected) <= ACTION_TOLERANCE)

    for step in range(STEPS):
        if driver.follow(batch.active[0]):
            memory, state = np.zeros_like(memory), None
        slot, observed, acts_now = driver.slot, driver.seen, bool(batch.active[0, driver.slot])
        simulated = batch.observations[0, slot : slot + 1].astype(np.float64)
        if normalised:
            simulated /= np.maximum(1.0 - np.abs(simulated), 1e-12)
        simulated = simulated.astype(np.float32)
        with torch.no_grad():
            inputs = actor.before(torch.from_numpy(simulated)).numpy()[0]
        if acts_now:
            differ("inputs", observed, inputs, within(actor.before, simulated[0], observed, INPUT_TOLERANCE))
        decided, state = actor.predict(np.asarray(observed, np.float32), state)
        own = policy.act(simulated, memory)
        action = decided if step % 2 == 0 else driver.random(random)
        ended = driver.step(action)
        # A vector that began an episode in this step has no actions of the last one.
        if acts_now and len(applied := batch.actions(0)):
            arrived = np.clip(applied[-1, slot], -1, 1)
            with torch.no_grad():
                passed = actor.passed_on(torch.from_numpy(driver.number(action)[None])).numpy()
            acts(passed[0], arrived)
            if step % 2 == 0:
                acts(np.clip(own[0], -1, 1), arrived)
        if ended:
            memory, state = np.zeros_like(memory), None
    return largest


class Driver:
    """Steps one environment, the first one of a vector, or one of several flows, of any of the libraries.

    Attributes:
        slot: the flow that is compared.
        seen: its observation.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._many = hasattr(env, "possible_agents")
        self._vec = hasattr(env, "step_wait")
        self._rows = 0 if self._many else getattr(env, "num_envs", 0) or 0
        self._space: Any = (
            env.action_spaces[env.possible_agents[0]] if self._many else single(env.action_space, env)
        )
        self.slot = 0
        self.seen: NDArray[Any] = np.zeros(0)
        self._observations: Any = None

    def reset(self) -> None:
        """Begin an episode."""
        out = self._env.reset()
        self._observe(out if self._vec else out[0])

    def follow(self, active: NDArray[np.bool_]) -> bool:
        """Turn to another flow if the compared one does not run; return whether there is one."""
        if not self._many or active[self.slot]:
            return False
        agents = enumerate(self._env.possible_agents)
        running = [slot for slot, name in agents if active[slot] and name in self._observations]
        if not running:
            return False
        self.slot = running[0]
        self._observe(self._observations)
        return True

    def step(self, action: NDArray[Any]) -> bool:
        """Apply ``action``; return whether the episode ended, and begin the next."""
        env_action: Any = action if isinstance(self._space, spaces.Box) else int(action)
        if self._many:
            out = self._env.step({name: env_action for name in self._env.agents})
            over = not self._env.agents
        else:
            if self._rows:
                env_action = np.stack([np.asarray(env_action, self._space.dtype)] * self._rows)
            out = self._env.step(env_action)
            ends = out[2:3] if self._vec else out[2:4]
            over = any(np.reshape(end, -1)[0] for end in ends)
        if over and not self._rows:
            self.reset()
        else:
            self._observe(out[0])
        return over

    def number(self, action: NDArray[Any]) -> NDArray[np.float32]:
        """Return an action as numbers: a discrete one as its level."""
        if isinstance(self._space, spaces.Box):
            return np.asarray(action, np.float32).reshape(-1)
        return np.linspace(-1, 1, int(self._space.n), dtype=np.float32)[int(action)][None]

    def random(self, random: np.random.Generator) -> NDArray[Any]:
        """Draw an action."""
        space = self._space
        if not isinstance(space, spaces.Box):
            return np.array(random.integers(int(space.n)))
        low, high = np.maximum(space.low, -2.0), np.minimum(space.high, 2.0)
        return random.uniform(low, high).astype(space.dtype)

    def _observe(self, observations: Any) -> None:
        self._observations = observations
        if self._many:
            name = self._env.possible_agents[self.slot]
            observations = observations.get(name, next(iter(observations.values())))
        self.seen = np.asarray(observations[0] if self._rows else observations).reshape(-1)
