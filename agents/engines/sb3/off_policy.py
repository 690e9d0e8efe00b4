"""SAC, TD3 and TQC on one flow with Stable-Baselines3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sb3_contrib import TQC
from stable_baselines3 import SAC, TD3
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from agents.engines.actor import ACTIVATIONS, dense_layers
from agents.engines.replay_settings import ReplaySettings, Td3Settings, TqcSettings
from agents.engines.sb3 import loop
from agents.training.run_folder import RunFolder
from agents.training.settings import TrainSettings

ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
"""A replay buffer's arrays, each (capacity, simulations, …)."""


def make_model(settings: ReplaySettings, environment: VecEnv) -> OffPolicyAlgorithm:
    """Return an untrained SAC, TD3 or TQC, by the type of ``settings``."""
    common: dict[str, Any] = {
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
    if isinstance(settings, Td3Settings):
        size = (environment.action_space.shape or (1,))[0]
        noise = NormalActionNoise(np.zeros(size), np.full(size, settings.exploration_noise))
        return TD3(
            "MlpPolicy",
            environment,
            action_noise=noise,
            policy_delay=settings.policy_delay,
            target_policy_noise=settings.target_noise,
            target_noise_clip=settings.target_noise_clip,
            **common,
        )
    if isinstance(settings, TqcSettings):
        common["policy_kwargs"]["n_quantiles"] = settings.quantiles
        dropped = settings.dropped_quantiles
        return TQC("MlpPolicy", environment, top_quantiles_to_drop_per_net=dropped, **common)
    return SAC("MlpPolicy", environment, **common)


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


def dense(model: Any) -> list[nn.Linear]:
    """Return the actor's dense layers in order."""
    actor = model.policy.actor
    return dense_layers(actor.mu) if isinstance(model, TD3) else dense_layers(actor.latent_pi, actor.mu)


def algorithm(settings: ReplaySettings) -> loop.Algorithm:
    """Return the loop's interface to the algorithm."""
    return loop.Algorithm(
        make=make_model,
        read=read,
        write=write,
        dense=dense,
        columns={"policy_loss": "train/actor_loss", "value_loss": "train/critic_loss"},
    )


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one."""
    assert isinstance(settings, ReplaySettings)
    loop.train(algorithm(settings), settings, run)
