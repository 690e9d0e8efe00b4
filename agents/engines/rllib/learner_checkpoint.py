"""Checkpoints of RLlib runs: weights and optimiser states, without executable content.

Reading RLlib's own checkpoints, which are pickles, may execute code. Here one file has the tensors, and
`torch.load` reads only tensors.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from ray.rllib.algorithms.algorithm import Algorithm

from leogym.agents.training import torch_file
from leogym.common.errors import InputError

FILE = "learner.pt"

Answer = TypeVar("Answer")


def save(algorithm: Algorithm, folder: Path) -> None:
    """Write the learned state of ``algorithm`` to ``folder``."""
    torch_file.save(ask(algorithm, state_of), folder / FILE)


def restore(algorithm: Algorithm, folder: Path) -> None:
    """Restore into ``algorithm`` what `save` wrote to ``folder``.

    Raises:
        InputError: it cannot be read, or belongs to another algorithm or other networks.
    """
    with _reading(folder / FILE) as state:
        tell(algorithm, partial(_take, state=state))
    group = algorithm.env_runner_group
    assert group is not None
    group.sync_weights(from_worker_or_learner_group=algorithm.learner_group)


def write(learner: Any, folder: Path) -> None:
    """Write the learned state of ``learner`` to ``folder``."""
    torch_file.save(state_of(learner), folder / FILE)


def read(learner: Any, folder: Path) -> None:
    """Restore into ``learner`` what `write` wrote to ``folder``.

    Raises:
        InputError: it cannot be read, or belongs to another algorithm or other networks.
    """
    with _reading(folder / FILE) as state:
        _take(learner, state)


def state_of(learner: Any) -> dict[str, Any]:
    """Return the learned state of ``learner`` as tensors and built-in types."""
    state = {
        "modules": learner.module.get_state(),
        "optimizers": learner._get_optimizer_state(),
        # SAC's entropy weight, which RLlib stores outside its modules.
        "entropy": {name: value.detach() for name, value in _entropy(learner).items()},
    }
    return _to_tensors(state)


def _take(learner: Any, state: Mapping[str, Any]) -> None:
    _require_same_shapes(learner.module.get_state(), state["modules"])
    learner.module.set_state(_to_arrays(state["modules"]))
    learner._set_optimizer_state(state["optimizers"])
    # The learning rate is that of the settings, which a sweep may change between checkpoints.
    for optimizer, schedule in learner._optimizer_lr_schedules.items():
        learner._set_optimizer_lr(optimizer, lr=schedule.get_current_value())
    with torch.no_grad():
        for name, value in _entropy(learner).items():
            value.copy_(state["entropy"][name])


@contextmanager
def _reading(path: Path) -> Iterator[dict[str, Any]]:
    try:
        yield torch.load(path, weights_only=True)
    except Exception as error:  # torch and RLlib raise exceptions of any type
        reason, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path}: cannot be read: {reason}") from None


def _require_same_shapes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise `ValueError` unless two states have the same networks; RLlib does not check."""
    for name in sorted(ours.keys() | theirs.keys()):
        weights = [
            {key: np.shape(value) for key, value in state.get(name, {}).items()} for state in (ours, theirs)
        ]
        if weights[0] != weights[1]:
            odd = sorted(set(weights[0].items()) ^ set(weights[1].items()))
            raise ValueError(f"has other networks than these settings make: {name}: {odd[0][0]}")


def ask(algorithm: Algorithm, question: Callable[[Any], Answer]) -> Answer:
    """Return ``question(learner)``, computed in the learner's process while the learner does not change.

    Only the first learner is asked; all have the same weights. If its process ended, raise `InputError`.
    """
    (answer,) = tell(algorithm, partial(_at_rest, question), remote_actor_ids=[0])
    return answer


def tell(algorithm: Algorithm, order: Callable[[Any], Answer], **options: Any) -> list[Answer]:
    """Return ``order(learner)`` of every learner, run in its process; raise `InputError` if one ended."""
    group = algorithm.learner_group
    assert group is not None
    answers = []
    for result in group.foreach_learner(order, **options):  # type: ignore[arg-type] (without its options)
        answer = result.get()
        if not result.ok:
            require_learners(algorithm)
            raise getattr(answer, "cause", None) or answer
        answers.append(answer)
    return answers


def require_learners(algorithm: Algorithm) -> None:
    """Raise `InputError` unless all learner processes of ``algorithm`` are alive."""
    group = algorithm.learner_group
    assert group is not None
    manager = group._worker_manager
    if manager is not None and manager.num_healthy_actors() < manager.num_actors():
        raise InputError("--workers: a Ray learner process ended")


def learner_of(algorithm: Algorithm) -> Any | None:
    """Return the learner of ``algorithm`` if it runs in this process."""
    group = algorithm.learner_group
    assert group is not None
    return group._learner


def lock_updates(learner: Any) -> None:
    """Make `at_rest` work for a ``learner`` with its own learning thread, such as APPO's."""
    thread = getattr(learner, "_learner_thread", None)
    if thread is None:
        return
    learner.between_updates = threading.RLock()
    update = thread._update_method

    def locked(*arguments: Any, **named: Any) -> Any:
        with learner.between_updates:
            return update(*arguments, **named)

    thread._update_method = locked


def _at_rest(question: Callable[[Any], Answer], learner: Any) -> Answer:
    with at_rest(learner):
        return question(learner)


def at_rest(learner: Any) -> AbstractContextManager[Any]:
    """Return a context in which ``learner`` does not change; contexts of one thread may nest."""
    return getattr(learner, "between_updates", None) or nullcontext()


def _entropy(learner: Any) -> Mapping[str, torch.Tensor]:
    return getattr(learner, "curr_log_alpha", {})


def _to_tensors(value: Any) -> Any:
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
