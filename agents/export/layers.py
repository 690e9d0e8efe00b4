"""The wrappers around an environment, one after the other, and copies of them that may be stepped."""

import copy
from dataclasses import dataclass
from typing import Any

import gymnasium

from leogym.common.errors import InputError
from leogym.envs.interface import is_environment, simulations

HARMLESS = {
    "gymnasium.wrappers": {
        *("Autoreset", "ClipReward", "NormalizeReward", "OrderEnforcing", "PassiveEnvChecker"),
        *("RecordEpisodeStatistics", "TimeLimit", "TransformReward", "VectorizeTransformReward"),
    },
    "stable_baselines3.common": {"VecCheckNan", "VecMonitor"},
}
"""By package: wrappers that leave observations and actions as they are. Subclasses may change them."""
OUTPUT = {
    "gymnasium.wrappers": {
        *("AddWhiteNoise", "ObstructView", "HumanRendering", "RecordVideo", "RenderCollection"),
        *("ArrayConversion", "DictInfoToList", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"),
    },
    "stable_baselines3.common": {"Monitor", "VecVideoRecorder"},
}
"""As `HARMLESS`. Copies of an environment go without them: they draw, write files or convert arrays."""
REMEDY = "make it part of the network, or pass the environment without it if it leaves values as they are"


@dataclass(frozen=True)
class Layer:
    """A wrapper, or a vector that holds environments in this process.

    Attributes:
        env: the wrapper or vector.
        inner: the wrapped environment, or a vector's first environment.
    """

    env: Any
    inner: Any

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.env).__name__

    @property
    def holds_many(self) -> bool:
        """Whether it is a vector."""
        return bool(_members(self.env))

    @property
    def is_harmless(self) -> bool:
        """Whether its class leaves observations and actions as they are."""
        return self.holds_many or _is_of(self.env, HARMLESS) or self.is_output

    @property
    def is_output(self) -> bool:
        """Whether its class is one of `OUTPUT`."""
        return _is_of(self.env, OUTPUT)


def layers(env: Any) -> list[Layer]:
    """Return the layers around our environment, the outermost first.

    Raises:
        InputError: something around it is no wrapper of Gymnasium or Stable-Baselines3 and no vector of this
            process; the message names it.
    """
    around: list[Layer] = []
    while not is_environment(env):
        inner = _inner(env)
        if inner is None:
            raise InputError(_unknown(env))
        around.append(Layer(env, inner))
        env = inner
    return around


def innermost(env: Any) -> Any:
    """Return the environment of this package that ``env`` is or wraps."""
    around = layers(env)
    return around[-1].inner if around else env


def _unknown(env: Any) -> str:
    prefix = f"env: {type(env).__name__}: is not an environment of this package"
    if not is_environment(getattr(env, "unwrapped", None)):
        remedy = "pass one environment with its wrappers"
        return f"{prefix}, nor a wrapper or vector of one in this process: {remedy}"
    return f"{prefix}, and what it does around one cannot be exported: {REMEDY}"


def _inner(env: Any) -> Any:
    if members := _members(env):
        return members[0]
    if isinstance(env, gymnasium.Wrapper | gymnasium.vector.VectorWrapper):
        return env.env
    # Of Stable-Baselines3, which may not be installed.
    return env.venv if any(base.__name__ == "VecEnvWrapper" for base in type(env).__mro__) else None


def _members(env: Any) -> Any:
    """Return the environments that a vector holds in this process."""
    wraps = isinstance(env, gymnasium.Wrapper | gymnasium.vector.VectorWrapper) or "venv" in vars(env)
    return None if wraps else getattr(env, "envs", None)


def _is_of(env: Any, names: dict[str, set[str]]) -> bool:
    kind = type(env)
    return any(kind.__module__.startswith(f"{home}.") and kind.__name__ in names[home] for home in names)


class Copies:
    """Copies of an environment and its wrappers, whose running statistics stand still.

    Stepping them changes nothing in the originals.
    """

    def __init__(self) -> None:
        self._copied: dict[int, Any] = {}
        self._alive: list[Any] = []  # ids are those of objects that live

    def of(self, env: Any) -> Any:
        """Return the copy of ``env`` and of everything in it, without wrappers of `OUTPUT`.

        Raises:
            InputError: something cannot be copied; the message names it.
        """
        if id(env) in self._copied:
            return self._copied[id(env)]
        if is_environment(env):
            env_copy = _copied(env, env, dict(self._copied)) if simulations(env).repeatable else _twin(env)
        else:
            members = _members(env)
            inners = [self.of(inner) for inner in (members or [_inner(env)])]
            env_copy = inners[0] if Layer(env, None).is_output else self.around(env, {})
        self._copied[id(env)] = env_copy
        self._alive += [env, env_copy]
        return env_copy

    def around(self, env: Any, instead: dict[int, Any]) -> Any:
        """Return a copy of the wrapper ``env`` around the copies of its contents.

        ``instead`` has other objects by the id of those whose place they take.
        """
        copies = {**self._copied, **instead}
        wrapper = object.__new__(type(env))
        for name, value in vars(env).items():
            # Members of its class, which Stable-Baselines3 keeps in each wrapper.
            shared = name == "class_attributes"
            wrapper.__dict__[name] = value if shared else _copied(value, env, dict(copies))
        if "obs_rms" in vars(wrapper):
            for flag in {"_update_running_mean", "training"} & vars(wrapper).keys():
                wrapper.__dict__[flag] = False
        return wrapper


def _twin(env: Any) -> Any:
    """Return an environment on simulations like one on real TCP, which cannot be copied."""
    kind = next(kind for kind in type(env).__mro__ if kind.__module__.startswith("leogym.envs."))
    inside, levels = simulations(env), getattr(env, "_levels", None)
    names = ("agent", "interval_ms", "reward", "normalize_observations")
    arguments = {name: inside.arguments[name] for name in names if name in inside.arguments}
    return kind(**arguments, actions=None if levels is None else levels.count)


def _copied(value: Any, env: Any, copies: dict[int, Any]) -> Any:
    try:
        return copy.deepcopy(value, copies)
    except Exception as error:  # libraries raise exceptions of any type
        message = f"env: {type(env).__name__}: cannot be copied to see what it does"
        raise InputError(f"{message} ({type(error).__name__}): {REMEDY}") from None
