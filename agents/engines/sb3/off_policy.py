"""SAC, TD3 and TQC on one flow with Stable-Baselines3."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sb3_contrib import TQC
from stable_baselines3 import SAC, TD3
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from leogym.agents.engines.actor import ACTIVATIONS, dense_layers
from leogym.agents.engines.sb3 import loop
from leogym.agents.engines.settings import ReplaySettings, Td3Settings, TqcSettings
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings

ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
"""A replay buffer's arrays, each (capacity, simulations, …)."""


def make_sac(settings: ReplaySettings, environment: VecEnv) -> SAC:
    """Return an untrained SAC."""
    return SAC("MlpPolicy", environment, **_common(settings))


def make_td3(settings: Td3Settings, environment: VecEnv) -> TD3:
    """Return an untrained TD3."""
    size = (environment.action_space.shape or (1,))[0]
    return TD3(
        "MlpPolicy",
        environment,
        action_noise=NormalActionNoise(np.zeros(size), np.full(size, settings.exploration_noise)),
        policy_delay=settings.policy_delay,
        target_policy_noise=settings.target_noise,
        target_noise_clip=settings.target_noise_clip,
        **_common(settings),
    )


def make_tqc(settings: TqcSettings, environment: VecEnv) -> TQC:
    """Return an untrained TQC."""
    common = _common(settings)
    common["policy_kwargs"]["n_quantiles"] = settings.quantiles
    return TQC("MlpPolicy", environment, top_quantiles_to_drop_per_net=settings.dropped_quantiles, **common)


def _common(settings: ReplaySettings) -> dict[str, Any]:
    return {
        "learning_rate": settings.learning_rate,
        "buffer_size": settings.memory,
        "learning_starts": settings.learning_starts,
        "batch_size": settings.batch_size,
        "tau": settings.tau,
        "gamma": settings.gamma,
        "train_freq": settings.train_every,
        "gradient_steps": settings.updates_per_training,
        "policy_kwargs": {
            "net_arch": list(settings.hidden),
            "activation_fn": ACTIVATIONS[settings.activation],
        },
        "seed": settings.seed,
        "device": "cpu",  # the networks are too small to gain from a GPU
    }


def write(model: OffPolicyAlgorithm, folder: Path) -> None:
    """Write the replay buffer to ``folder`` as plain arrays."""
    buffer = model.replay_buffer
    assert buffer is not None
    rows = buffer.buffer_size if buffer.full else buffer.pos
    arrays = {name: getattr(buffer, name)[:rows] for name in ARRAYS}
    np.savez(folder / "replay.npz", position=buffer.pos, full=buffer.full, **arrays)


def read(model: OffPolicyAlgorithm, folder: Path) -> None:
    """Restore into ``model`` what `write` wrote to ``folder``."""
    buffer = model.replay_buffer
    assert buffer is not None
    with np.load(folder / "replay.npz", allow_pickle=False) as stored:
        buffer.pos, buffer.full = int(stored["position"]), bool(stored["full"])
        rows = len(stored["rewards"])
        for name in ARRAYS:
            getattr(buffer, name)[:rows] = stored[name]


def _gaussian_actor(model: Any) -> list[nn.Linear]:
    return dense_layers(model.policy.actor.latent_pi, model.policy.actor.mu)


def _algorithm(make: Callable[[Any, VecEnv], OffPolicyAlgorithm], dense: Callable) -> loop.Algorithm:
    columns = {"policy_loss": "train/actor_loss", "value_loss": "train/critic_loss"}
    return loop.Algorithm(make=make, read=read, write=write, dense=dense, columns=columns)


ALGORITHMS: dict[type[TrainSettings], loop.Algorithm] = {
    ReplaySettings: _algorithm(make_sac, _gaussian_actor),
    Td3Settings: _algorithm(make_td3, lambda model: dense_layers(model.policy.actor.mu)),
    TqcSettings: _algorithm(make_tqc, _gaussian_actor),
}
"""The algorithm of each class of settings."""


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train SAC, TD3 or TQC from the latest checkpoint of ``run``, if there is one."""
    assert isinstance(settings, ReplaySettings)
    loop.train(ALGORITHMS[type(settings)], settings, run)
