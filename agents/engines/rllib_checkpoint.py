"""What a checkpoint of an RLlib run holds: weights and the state of optimisers, and nothing that is executed.

RLlib's own checkpoints are pickles, which may run anything when they are read. Here one file has the tensors,
and `torch.load` reads tensors only.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm

from configs.errors import InputError

FILE = "learner.pt"


def save(algorithm: Algorithm, folder: Path) -> None:
    """Write what ``algorithm`` has learned to ``folder``."""
    learner = learner_of(algorithm)
    with at_rest(learner):
        write(learner, folder)


def restore(algorithm: Algorithm, folder: Path) -> None:
    """Give ``algorithm`` what `save` wrote to ``folder``.

    Raises:
        InputError: it cannot be read, or is of another algorithm or other networks.
    """
    read(learner_of(algorithm), folder)
    group = algorithm.env_runner_group
    assert group is not None
    group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)


def write(learner: Any, folder: Path) -> None:
    """Write what ``learner`` has learned to ``folder``."""
    state = {
        "modules": learner.module.get_state(),
        "optimizers": learner._get_optimizer_state(),
        # SAC's weight of the entropy, which RLlib keeps outside its modules.
        "entropy": {name: value.detach() for name, value in _entropy(learner).items()},
    }
    torch.save(_to_tensors(state), folder / FILE)


def read(learner: Any, folder: Path) -> None:
    """Give ``learner`` what `write` wrote to ``folder``.

    Raises:
        InputError: it cannot be read, or is of another algorithm or other networks.
    """
    path = folder / FILE
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True)
        _require_same_shapes(learner.module.get_state(), state["modules"])
        learner.module.set_state(_to_arrays(state["modules"]))
        learner._set_optimizer_state(state["optimizers"])
        with torch.no_grad():
            for name, value in _entropy(learner).items():
                value.copy_(state["entropy"][name])
    except Exception as error:  # whatever torch and RLlib stumble on
        reason, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path}: cannot be read: {reason}") from None


def _require_same_shapes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Check that two states are of the same networks, which RLlib takes for granted.

    Raises:
        ValueError: they are not.
    """
    for name in sorted(ours.keys() | theirs.keys()):
        weights = [
            {key: np.shape(value) for key, value in state.get(name, {}).items()} for state in (ours, theirs)
        ]
        if weights[0] != weights[1]:
            odd = sorted(set(weights[0].items()) ^ set(weights[1].items()))
            raise ValueError(f"is of other networks than these settings make: {name}: {odd[0][0]}")


def learner_of(algorithm: Algorithm) -> Any:
    """Return the learner of ``algorithm``, which is in this process."""
    group = algorithm.learner_group
    assert group is not None
    learner = group._learner
    assert learner is not None
    return learner


def lock_updates(learner: Any) -> None:
    """Let `at_rest` work on a ``learner`` that learns in a thread of its own, as APPO's does."""
    thread = getattr(learner, "_learner_thread", None)
    if thread is None:
        return
    learner.between_updates = threading.Lock()
    update = thread._update_method

    def locked(*arguments: Any, **named: Any) -> Any:
        with learner.between_updates:
            return update(*arguments, **named)

    thread._update_method = locked


def at_rest(learner: Any) -> AbstractContextManager[Any]:
    """Return a context in which ``learner`` does not change."""
    return getattr(learner, "between_updates", None) or nullcontext()


def _entropy(learner: Any) -> Mapping[str, torch.Tensor]:
    return getattr(learner, "curr_log_alpha", {})


def _to_tensors(value: Any) -> Any:
    """Turn arrays within ``value`` into tensors, and numbers of NumPy into Python's."""
    if isinstance(value, Mapping):
        return {key: _to_tensors(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_tensors(item) for item in value]
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    return value.item() if isinstance(value, np.generic) else value


def _to_arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _to_arrays(item) for key, item in value.items()}
    return value.numpy() if isinstance(value, torch.Tensor) else value
