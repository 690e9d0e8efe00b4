"""Checkpoints of a Stable-Baselines3 run: weights, optimisers, generators; nothing that is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv

from agents.engines.data_parallel import ALONE, Ranks
from agents.engines.sb3_algorithm import Algorithm, make_environment
from agents.engines.settings import Sb3Settings
from configs.errors import InputError


def random_state() -> dict[str, Any]:
    """Return the state of the random generators that Stable-Baselines3 draws from."""
    kind, key, *rest = np.random.get_state()  # noqa: NPY002 (Stable-Baselines3 shuffles with it)
    return {"numpy": [kind, np.asarray(key).tolist(), *rest], "torch": torch.get_rng_state()}


def set_random_state(state: Mapping[str, Any]) -> None:
    """Take up what `random_state` returned."""
    kind, key, *rest = state["numpy"]
    np.random.set_state((kind, np.array(key, np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(state["torch"])


def seed_episodes(environment: VecEnv, settings: Sb3Settings, steps: int, rank: int) -> int:
    """Seed the episodes that process ``rank`` begins after ``steps``; return the seed.

    A resumed run must not see the episodes of the run's beginning again, nor one process another's.
    """
    entropy = [settings.seed, steps, rank] if rank else [settings.seed, steps]
    seed = int(np.random.SeedSequence(entropy).generate_state(1)[0] >> 1)
    environment.seed(seed)
    return seed


def save(
    algorithm: Algorithm,
    model: BaseAlgorithm,
    folder: Path,
    wall_s: float,
    episodes: int,
    randoms: Sequence[Mapping[str, Any]],
) -> None:
    """Write ``model`` to ``folder``, and the states of every process's random generators."""
    # Tensors only: the library's own files are pickles, which may run anything when they are read.
    _, variables = model._get_torch_save_params()
    own, *others = randoms
    torch.save(
        {
            "parameters": model.get_parameters(),
            "variables": {name: attrgetter(name)(model).detach() for name in variables},
            "torch": own["torch"],
            "torch_of_others": [random["torch"] for random in others],
        },
        folder / "model.pt",
    )
    algorithm.write(model, folder)
    state = {
        "steps": model.num_timesteps,
        "wall_s": wall_s,
        "episodes": episodes,
        "updates": getattr(model, "_n_updates", 0),
        "numpy": own["numpy"],
        "numpy_of_others": [random["numpy"] for random in others],
    }
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")


def load(
    algorithm: Algorithm, folder: Path, settings: Sb3Settings, ranks: Ranks = ALONE
) -> tuple[BaseAlgorithm, dict[str, Any]]:
    """Return what `save` wrote to ``folder``: the model, on new episodes, and its counters.

    Raises:
        InputError: the checkpoint cannot be read.
    """
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        tensors = torch.load(folder / "model.pt", weights_only=True)
        environment = make_environment(settings, state["steps"], ranks.size)
        model = algorithm.make(settings, environment)
        model.set_parameters(tensors["parameters"], exact_match=True)
        for name, value in tensors["variables"].items():
            attrgetter(name)(model).data.copy_(value)
        algorithm.read(model, folder)
        seed = seed_episodes(environment, settings, state["steps"], ranks.rank)
        model.num_timesteps, model._n_updates = state["steps"], state["updates"]  # type: ignore[attr-defined]
        numpys = [state["numpy"], *state.get("numpy_of_others", [])]
        torches = [tensors["torch"], *tensors.get("torch_of_others", [])]
        if ranks.rank < len(numpys):
            set_random_state({"numpy": numpys[ranks.rank], "torch": torches[ranks.rank]})
        else:  # the run had fewer processes
            set_random_seed(seed)
    except InputError:
        raise
    except Exception as error:  # whatever the library stumbles on
        reason, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{folder}: cannot be read: {reason}") from None
    return model, state
