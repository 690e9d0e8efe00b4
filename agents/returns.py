"""Returns of random actions, constant actions and shipped policies in the registered environments.

``leogym agents returns`` prints them beside the thresholds of `leogym.registration`. Episodes have separate
seeds, from `FIRST_SEED` on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.training import registry
from leogym.common.errors import InputError
from leogym.registration import PRESETS, Preset

POLICIES = ("astraea", "orca", "aurora")

FIRST_SEED = 900_000_000
"""Seed of the first episode; training starts from small seeds."""

_PRESETS = {preset.id: preset for preset in PRESETS}
IDS = (*_PRESETS,)

Act = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True)
class Return:
    """Returns of one policy in one environment."""

    id: str
    policy: str
    mean: float
    low: float
    high: float
    """Mean, smallest and largest return of an episode."""


def table(returns: Iterable[Return]) -> str:
    """Return ``returns`` as a Markdown table: a row per environment, a column per policy."""
    rows: dict[str, list[Return]] = {}
    for result in returns:
        rows.setdefault(result.id, []).append(result)
    columns = ["id", "threshold", *(result.policy for result in next(iter(rows.values()), []))]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for name, row in rows.items():
        cells = [f"`{name}`", f"{_PRESETS[name].threshold:g}", *(f"{result.mean:.1f}" for result in row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(ids: Iterable[str], episodes: int) -> Iterator[Return]:
    """Yield the returns of every policy over ``episodes`` episodes of each environment.

    A policy of another agent specification or interval earns its mean reward in each step that the id's own
    interval has while the flow runs.

    Raises:
        InputError: an id is unknown, or there is no episode.
    """
    if episodes < 1:
        raise InputError(f"returns: --episodes: {episodes}: must be at least 1")
    for name in ids:
        if name not in _PRESETS:
            raise InputError(f"returns: {name}: unknown environment (there are: {', '.join(IDS)})")
        yield from _of_preset(_PRESETS[name], episodes)


def _of_preset(preset: Preset, episodes: int) -> Iterator[Return]:
    rng = np.random.default_rng(FIRST_SEED)
    levels: int | None = preset.arguments.get("actions")

    def random(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        shape = len(rows), 1
        actions = (
            rng.uniform(-1.0, 1.0, shape)
            if levels is None
            else rng.choice(np.linspace(-1.0, 1.0, levels), shape)
        )
        return actions.astype(np.float32)

    fixed: dict[str, Act] = {
        "random": random,
        **{
            f"always {value:+g}": lambda rows, value=value: np.full((len(rows), 1), value, np.float32)
            for value in (-1.0, 0.0, 1.0)
        },
    }
    own_steps = np.zeros(episodes)
    for name, act in fixed.items():
        rewards, own_steps = _means(preset, act, episodes, {})
        yield _summed(preset, name, rewards * own_steps)
    for name in POLICIES:
        policy = leosim.Policy.load(str(registry.shipped()[name] / "policy"))
        arguments = {"agent": policy.spec, "interval_ms": policy.interval_ms}
        rewards, _ = _means(preset, policy.act, episodes, arguments)
        yield _summed(preset, name, rewards * own_steps)


def _summed(preset: Preset, policy: str, returns: NDArray[np.float64]) -> Return:
    return Return(preset.id, policy, float(returns.mean()), float(returns.min()), float(returns.max()))


def _means(
    preset: Preset, act: Act, episodes: int, arguments: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean rewards and the steps of one episode of each of ``episodes`` environments."""
    env: Any = gymnasium.make_vec(
        preset.id,
        num_envs=episodes,
        max_episode_steps=-1,
        actions=None,
        threads=0,
        **arguments,
    )
    observations, _ = env.reset(seed=FIRST_SEED)
    total, steps = np.zeros(episodes), np.zeros(episodes)
    running = np.ones(episodes, dtype=bool)
    while running.any():
        observations, rewards, terminated, truncated, _ = env.step(act(observations))
        total += np.where(running, rewards, 0.0)
        steps += running
        running &= ~(terminated | truncated)
    env.close()
    return total / steps, steps
