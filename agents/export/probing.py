"""The effect of a wrapper on observations and actions, measured with chosen ones."""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import nn

from leogym.agents.export.layers import REMEDY, Copies, Layer
from leogym.agents.export.network import Clipped, Scaled
from leogym.common.errors import InputError

Numbers = NDArray[np.float64]

FAR = 1e30
"""Beyond any clip of a wrapper, and far from the end of float32."""
GRID = np.unique(
    np.concatenate([[0.0], *(sign * np.logspace(-4, 3, 15) for sign in (-1, 1)), np.linspace(-10, 10, 41)])
)
SCALES = (0.1, 1.0, 10.0, 100.0, 1e4)
REPEATS = 40
"""Random values of each scale. A wrapper that draws at random now and then is seen with these."""
STEP_EVERY = 8
"""Steps of a wrapper for one of its environment's simulation."""
RESET_EVERY = 16
"""Observations from one reset to the next."""
TOLERANCE = 1e-5
"""Relative; wrappers calculate with float32."""
LAST_BITS = 4e-7


class Tape:
    """The observations that a wrapper gets in turn, and the actions that it passes on."""

    def __init__(self, space: spaces.Space[Any], quiet: Any) -> None:
        self._space, self.quiet = space, quiet
        self.shown: Numbers = np.zeros(space.shape or ())
        self.actions: list[Any] = []
        self._rest: tuple[Any, ...] | None = None
        self._steps = 0

    def observation(self) -> Any:
        """Return the current observation as the space has it."""
        return self.shown.astype(self._space.dtype)

    def answer(self, step: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return what ``step`` gives besides observations: rewards, flags and information.

        They are those of the last step for `STEP_EVERY` calls, unless an episode ended, to save time.
        """
        if self._rest is None or self._steps % STEP_EVERY == 0:
            self._rest = step(self.quiet)[1:]
        self._steps += 1
        answer = copy.deepcopy(self._rest)
        if any(np.any(flags) for flags in answer[1:-1]):
            self._rest = None
        return answer


class Taped:
    """Stands in for an environment or vector: observations come from a tape, and actions go onto it."""

    env: Any

    def __init__(self, env: Any, tape: Tape) -> None:
        super().__init__(env)  # type: ignore[call-arg]
        self._tape = tape

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Reset, and show the tape's observations."""
        _, info = self.env.reset(**arguments)
        return self._tape.observation(), info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Keep the actions, step with quiet ones, and show the tape's observations."""
        self._tape.actions.append(np.array(action))
        return (self._tape.observation(), *self._tape.answer(self.env.step))  # type: ignore[return-value]


class Splice(Taped, gymnasium.Wrapper[Any, Any, Any, Any]):
    """`Taped` for an environment."""


class VectorSplice(Taped, gymnasium.vector.VectorWrapper):  # type: ignore[override] (a name)
    """`Taped` for Gymnasium's vectors."""


def vec_splice(env: Any, tape: Tape) -> Any:
    """Return a `Splice` for vectors of Stable-Baselines3, which may not be installed."""
    from stable_baselines3.common.vec_env import VecEnvWrapper

    class VecSplice(VecEnvWrapper):
        def reset(self) -> Any:
            self.venv.reset()
            return tape.observation()

        def step_async(self, actions: Any) -> None:
            tape.actions.append(np.array(actions))

        def step_wait(self) -> Any:
            return (tape.observation(), *tape.answer(self.venv.step))

    return VecSplice(env)


class Probe:
    """A copy of a wrapper, around a copy of its environment that a tape stands in for."""

    def __init__(self, layer: Layer, copies: Copies) -> None:
        inner = copies.of(layer.inner)
        self._layer = layer
        self._batched = getattr(inner, "num_envs", None) is not None
        self._vec = hasattr(inner, "step_wait")
        quiet = _quiet(inner.action_space, inner.num_envs if self._vec else None)
        space = inner.observation_space
        if self._vec:
            space = gymnasium.vector.utils.batch_space(space, inner.num_envs)
        self.tape = Tape(space, quiet)
        kinds: Any = vec_splice if self._vec else VectorSplice if self._batched else Splice
        self._env = copies.around(layer.env, {id(layer.inner): kinds(inner, self.tape)})
        self.outer: spaces.Space[Any] = single(self._env.action_space, self._env)
        self.inner: spaces.Space[Any] = single(inner.action_space, inner)
        self.size = int(np.prod(self.tape.shown.shape[1:] if self._batched else self.tape.shown.shape))
        self._rows = self.tape.shown.shape[0] if self._batched else 1
        self._random = np.random.default_rng(1)
        self._calls = 0

    def seen(self, observation: Numbers) -> Numbers:
        """Return the wrapper's result for ``observation`` (n,) in a step, or now and then in a reset.

        In a vector it is that of each environment in turn, and others have other observations. Actions are
        random, so that observations that depend on them are seen.
        """
        begins, row = self._calls % RESET_EVERY == 0, self._calls % self._rows
        self._calls += 1
        shape = self.tape.shown.shape
        if self._batched:
            self.tape.shown = self._random.normal(size=shape)
            self.tape.shown[row] = observation.reshape(shape[1:])
        else:
            self.tape.shown = observation.reshape(shape)
        out = np.asarray(self._reset() if begins else self._step(self._actions()), np.float64)
        if out.shape != shape:
            self.refuse(OBSERVATIONS)
        return (out[row] if self._batched else out).reshape(-1)

    def acted(self, action: NDArray[Any]) -> NDArray[Any]:
        """Return what reaches the environment of ``action``, an action of one environment.

        Observations are random, so that actions that depend on them are seen.
        """
        action, row = np.asarray(action, self.outer.dtype), self._calls % self._rows
        self._calls += 1
        self.tape.actions.clear()
        self.tape.shown = self._random.normal(0.0, SCALES[self._calls % len(SCALES)], self.tape.shown.shape)
        if self._batched:
            actions = self._actions()
            actions[row] = action
            self._step(actions)
        else:
            self._step(action)
        if len(self.tape.actions) != 1:
            steps = f"steps its environment {len(self.tape.actions)} times for one action"
            self.refuse(f"{steps}: set interval_ms instead")
        passed = self.tape.actions[0]
        return np.asarray(passed[row] if self._batched else passed)

    def refuse(self, reason: str) -> None:
        """Raise the `InputError` that names the wrapper and ``reason``."""
        raise InputError(f"env: {self._layer.name}: {reason}")

    def _actions(self) -> Any:
        rows = (self._rows,) if self._batched else ()
        if not isinstance(self.outer, spaces.Box):
            return self._random.integers(0, getattr(self.outer, "n", 1), (*rows, *(self.outer.shape or ())))
        low, high = np.maximum(self.outer.low, -1.0), np.minimum(self.outer.high, 1.0)
        return self._random.uniform(low, high, (*rows, *self.outer.shape)).astype(self.outer.dtype)

    def _reset(self) -> Any:
        out = self._env.reset()
        return out if self._vec else out[0]

    def _step(self, action: Any) -> Any:
        out = self._env.step(action)
        if not self._batched and (out[2] or out[3]):
            return self._reset()
        return out[0]


OBSERVATIONS = "changes observations in a way that cannot be exported: make it the first layer of the network"
ACTIONS = "changes actions in a way that cannot be exported: make it the last layer of the network"

Steps = tuple[list[nn.Module], list[nn.Module]]
"""Steps from the simulator's observation to the network's, and from the network's action back."""


def steps_of(layer: Layer, copies: Copies, class_steps: list[nn.Module] | None = None) -> Steps:
    """Return a wrapper's effect as steps that clip and scale each component.

    ``class_steps`` are the steps of its observations where its class says them.

    Raises:
        InputError: it does anything else, or depends on more than the present observation or action.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probe = Probe(layer, copies)
            before = class_steps or _fitted(probe.seen, probe.size)
            if before is None or not _holds(before, probe.seen, probe.size):
                probe.refuse(OBSERVATIONS)
            return before or [], _action_steps(probe)
    except InputError:
        raise
    except Exception as error:  # a wrapper may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"env: {layer.name}: what it does cannot be seen ({reason[:80]}): {REMEDY}"
        ) from None


def _action_steps(probe: Probe) -> list[nn.Module]:
    outer, inner = probe.outer, probe.inner
    if isinstance(outer, spaces.Discrete) and isinstance(inner, spaces.Discrete):
        if outer.n != inner.n or any(int(probe.acted(np.array(k))) != k for k in range(int(outer.n))):
            probe.refuse(ACTIONS)
        return []
    if not (isinstance(outer, spaces.Box) and isinstance(inner, spaces.Box) and outer.shape == inner.shape):
        probe.refuse(ACTIONS)
    shape = outer.shape or ()

    def passed(action: Numbers) -> Numbers:
        return np.asarray(probe.acted(action.reshape(shape)), np.float64).reshape(-1)

    size = int(np.prod(shape))
    after = _fitted(passed, size)
    if after is None or not _holds(after, passed, size):
        probe.refuse(ACTIONS)
    return after or []


def _fitted(function: Callable[[Numbers], Numbers], size: int) -> list[nn.Module] | None:
    """Return a scale and a clip that may be ``function``; None if it is none of these on `GRID`."""
    low, high = (function(np.full(size, bound)) for bound in (-FAR, FAR))
    low, high = np.minimum(low, high), np.maximum(low, high)
    values = np.stack([function(np.full(size, point)) for point in GRID])
    scale, shift = np.zeros(size), np.zeros(size)
    for component in range(size):
        inside = (values[:, component] > low[component]) & (values[:, component] < high[component])
        points = GRID[inside]
        if len(points) < 2:
            return None
        first, last = values[inside, component][[0, -1]]
        scale[component] = (last - first) / (points[-1] - points[0])
        near = np.argmin(np.abs(points))
        shift[component] = values[inside, component][near] - scale[component] * points[near]
    low, high = np.where(low > -FAR * 1e-20, low, -np.inf), np.where(high < FAR * 1e-20, high, np.inf)
    steps: list[nn.Module] = []
    if not (np.allclose(scale, 1.0, atol=1e-6) and np.allclose(shift, 0.0, atol=1e-6)):
        steps.append(Scaled(scale, shift))
    if np.isfinite(low).any() or np.isfinite(high).any():
        steps.append(Clipped(low, high))
    return steps


def _holds(steps: list[nn.Module], function: Callable[..., Numbers], size: int) -> bool:
    """Return whether ``steps`` are what ``function`` does to a sequence of random values."""
    random, module = np.random.default_rng(0), nn.Sequential(*steps)
    for _ in range(REPEATS):
        for scale in SCALES:
            values = random.normal(0.0, scale, size).astype(np.float32)
            if not within(module, values, function(values.astype(np.float64)), TOLERANCE).all():
                return False
    return True


def within(
    module: nn.Module, values: NDArray[np.float32], measured: NDArray[Any], limit: float
) -> NDArray[np.bool_]:
    """Return where ``module`` maps ``values`` (n,) to ``measured``, to ``limit`` of their size or 1.

    Differences in the last bits of float32 are allowed, too: a module may divide by a tiny deviation.
    """
    bits = (LAST_BITS * (1 + np.abs(values))).astype(np.float32)
    with torch.no_grad():
        rows = module(torch.from_numpy(np.stack([values, values - bits, values + bits]))).numpy()
    expected, low, high = rows.astype(np.float64)
    return np.abs(measured - expected) <= limit * np.maximum(1, np.abs(expected)) + np.abs(high - low)


def single(space: spaces.Space[Any], env: Any) -> spaces.Space[Any]:
    """Return the space of one environment of ``env``, whose space is ``space``."""
    return getattr(env, "single_action_space", None) or space


def _quiet(space: spaces.Space[Any], rows: int | None) -> Any:
    """Return an action of ``space`` that changes little: zeros within its bounds, or the first one."""
    shape = space.shape or ()
    if isinstance(space, spaces.Box):
        quiet = np.clip(np.zeros(shape), space.low, space.high).astype(space.dtype)
    else:
        quiet = np.zeros(shape, space.dtype)
    return quiet if rows is None else np.stack([quiet] * rows)
