"""Checkpoints of Stable-Baselines3 runs: weights, optimisers and generators, without executable content."""

import json
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv

from leogym.agents.engines.data_parallel import ALONE, Ranks
from leogym.agents.engines.sb3 import episodes
from leogym.agents.engines.sb3.algorithm import Algorithm, make_environment
from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.training import state_file, torch_file
from leogym.common.atomic import sync_folder
from leogym.common.errors import InputError
from leogym.envs.seeding import mixed


def seed_episodes(environment: VecEnv, settings: Sb3Settings, steps: int, rank: int) -> int:
    """Seed the episodes of process ``rank`` after ``steps``, so that none repeats; return the seed."""
    seed = mixed([settings.seed, steps, *([rank] if rank else [])], bits=31)
    environment.seed(seed)
    return seed


def save(
    algorithm: Algorithm,
    model: BaseAlgorithm,
    folder: Path,
    counters: Mapping[str, Any],
    ranks: Ranks = ALONE,
) -> None:
    """Write ``model``, its episodes, the state of its random generators and ``counters`` to ``folder``.

    The run's other processes call `save_beside`, which writes their state to subfolders.

    Raises:
        OSError: this process or another could not write.
    """
    ranks.broadcast(str(folder))
    # Tensors only: reading the library's own files, which are pickles, may execute code.
    _, variables = model._get_torch_save_params()
    torch_file.save(
        {
            "parameters": model.get_parameters(),
            "variables": {name: attrgetter(name)(model).detach() for name in variables},
            "torch": torch.get_rng_state(),
        },
        folder / "model.pt",
    )
    algorithm.write(model, folder)
    episodes.save(model, folder)
    state = {
        **counters,
        "steps": model.num_timesteps,
        "updates": getattr(model, "_n_updates", 0),
        "numpy": _numpy_state(),
    }
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    for error in ranks.gather(None) or []:
        if error is not None:
            raise error


def save_beside(ranks: Ranks, model: BaseAlgorithm, counters: Mapping[str, Any]) -> None:
    """Write this process's own state beneath the folder that the first process passes to `save`."""
    folder = _beneath(Path(ranks.broadcast(None)), ranks.rank)
    try:
        folder.mkdir()
        episodes.save(model, folder)
        state = {**counters, "numpy": _numpy_state(), "torch": torch.get_rng_state().tolist()}
        (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
        sync_folder(folder)
    except OSError as error:  # such as a full disk; the first process reports it
        ranks.gather(error)
    else:
        ranks.gather(None)


def load(
    algorithm: Algorithm, folder: Path, settings: Sb3Settings, ranks: Ranks = ALONE
) -> tuple[BaseAlgorithm, dict[str, Any]]:
    """Read the model, in the middle of its episodes, and the counters, or raise `InputError`."""
    try:
        keys = {"steps": int, "updates": int, "wall_s": float, "episodes": int, "since_row": dict}
        state = state_file.read(folder / "state.json", keys)
        tensors = torch.load(folder / "model.pt", weights_only=True)
        environment = make_environment(settings, state["steps"], ranks.size)
        model = algorithm.make(settings, environment)
        model.set_parameters(tensors["parameters"], exact_match=True)
        for name, value in tensors["variables"].items():
            attrgetter(name)(model).data.copy_(value)
        algorithm.read(model, folder)
        model.num_timesteps, model._n_updates = state["steps"], state["updates"]  # type: ignore[attr-defined]
        generator = tensors["torch"]
        if ranks.rank:
            folder = _beneath(folder, ranks.rank)
            # If the file is missing, the run had fewer processes, and this one is new.
            written = (folder / "state.json").exists()
            own = json.loads((folder / "state.json").read_text(encoding="utf-8")) if written else {}
            generator = torch.tensor(own.get("torch", []), dtype=torch.uint8)
            state = {**state, "since_row": {}, "numpy": None, **own}
        if not episodes.restore(model, folder):
            seed = seed_episodes(environment, settings, state["steps"], ranks.rank)
            if state["numpy"] is None:
                set_random_seed(seed)
        if state["numpy"] is not None:
            kind, key, *position = state["numpy"]
            np.random.set_state((kind, np.array(key, np.uint32), *position))  # noqa: NPY002
            torch.set_rng_state(generator)
    except InputError:
        raise
    except Exception as error:  # the library raises exceptions of any type
        reason, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{folder}: cannot be read: {reason}") from None
    return model, state


def _beneath(folder: Path, rank: int) -> Path:
    return folder / f"process-{rank + 1}"


def _numpy_state() -> list[Any]:
    kind, key, *position = np.random.get_state()  # noqa: NPY002 (Stable-Baselines3 shuffles with it)
    return [kind, np.asarray(key).tolist(), *position]
