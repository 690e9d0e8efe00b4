"""Running episodes in checkpoints of Stable-Baselines3, so that a resumed run continues them.

Besides `LeoVecEnv.state`, it saves the library's state between rollouts: the last observations, recurrent
states and episode statistics. The files are JSON and plain NumPy; reading them executes nothing.
"""

import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, unwrap_vec_wrapper

from leogym.envs.sb3 import LeoVecEnv

TEXT, ARRAYS = "episodes.json", "episodes.npz"
ACTIONS = "actions_"  # prefix of the arrays of each simulation's actions


def save(model: BaseAlgorithm, folder: Path) -> None:
    """Write the running episodes of ``model`` to ``folder``, except those on real TCP."""
    environment, monitor = _parts(model)
    if not environment.repeatable:
        return
    state = environment.state()
    episodes = state["episodes"]
    text = {
        "rngs": state["rngs"],
        "scenarios": episodes["scenarios"],
        "action_rng": model.action_space.np_random.bit_generator.state,
        "ended": [[float(ended["r"]), int(ended["l"])] for ended in model.ep_info_buffer or ()],
    }
    (folder / TEXT).write_text(json.dumps(text), encoding="utf-8")
    np.savez(
        folder / ARRAYS,
        returns=monitor.episode_returns,
        lengths=monitor.episode_lengths,
        starts=np.asarray(model._last_episode_starts),
        **{f"{ACTIONS}{index}": actions for index, actions in enumerate(episodes["actions"])},
        **_memories(model),
    )


def restore(model: BaseAlgorithm, folder: Path) -> bool:
    """Restore episodes into an untrained model; if none were saved, return False (it begins new ones)."""
    if not (folder / TEXT).exists():
        return False
    environment, monitor = _parts(model)
    text: dict[str, Any] = json.loads((folder / TEXT).read_text(encoding="utf-8"))
    with np.load(folder / ARRAYS, allow_pickle=False) as stored:
        arrays = dict(stored)
    model._last_obs = environment.restore(
        {
            "rngs": text["rngs"],
            "episodes": {
                "scenarios": text["scenarios"],
                "actions": [arrays[f"{ACTIONS}{index}"] for index in range(environment.num_envs)],
            },
        }
    )
    model._last_original_obs = model._last_obs
    model._last_episode_starts = arrays["starts"]
    monitor.episode_returns, monitor.episode_lengths = arrays["returns"], arrays["lengths"]
    model.action_space.np_random.bit_generator.state = text["action_rng"]
    ended = [{"r": total, "l": length} for total, length in text["ended"]]
    # The library resets both if either is missing.
    model.ep_info_buffer = deque(ended, maxlen=model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    if "memory_0" in arrays:
        memories = [torch.from_numpy(arrays[f"memory_{place}"]) for place in range(4)]
        model._last_lstm_states = RNNStates(  # type: ignore[attr-defined] (of sb3-contrib's)
            (memories[0], memories[1]), (memories[2], memories[3])
        )
    return True


def _parts(model: BaseAlgorithm) -> tuple[LeoVecEnv, VecMonitor]:
    wrapped: VecEnv | None = model.get_env()
    assert wrapped is not None
    environment, monitor = wrapped.unwrapped, unwrap_vec_wrapper(wrapped, VecMonitor)
    assert isinstance(environment, LeoVecEnv)
    assert isinstance(monitor, VecMonitor)
    return environment, monitor


def _memories(model: BaseAlgorithm) -> dict[str, Any]:
    """Return the LSTM states of actor and critic by index, empty without LSTMs."""
    states = getattr(model, "_last_lstm_states", None)
    if states is None:
        return {}
    memories = (*states.pi, *states.vf)
    return {f"memory_{place}": memory.numpy() for place, memory in enumerate(memories)}
