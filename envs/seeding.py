"""Seeds of parallel sampling processes, mixed so that no two processes play the same episodes.

Libraries add numbers: runner w gets the seed s + w, and its simulation i gets s + w + i. So simulation 1 of a
runner and simulation 0 of the next runner would play the same episodes throughout a run.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

Rank = tuple[int, ...]
"""Numbers that distinguish a process from the other processes of its run; empty for a single process."""


def mixed(numbers: Sequence[int], bits: int = 128) -> int:
    """Return a seed of ``bits`` (up to 128) from ``numbers``, each at least 0, and their order."""
    words = np.random.SeedSequence(list(numbers)).generate_state(4)
    return int.from_bytes(words.astype(">u4").tobytes(), "big") >> (128 - bits)


def seed_of_rank(seed: int | None, rank: Rank) -> int | None:
    """Return the seed of a process of this ``rank`` whose library gave it ``seed``; None remains None."""
    return seed if seed is None or not rank else mixed([seed, *rank])


def rank_of_caller() -> Rank:
    """Return the rank of the RLlib runner that makes an environment; empty for any other caller.

    RLlib passes no context to environments of Gymnasium's registry, so this looks for the runner among the
    callers.
    """
    module = sys.modules.get("ray.rllib.env.env_runner")
    frame = None if module is None else sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        if issubclass(type(caller), module.EnvRunner):  # type: ignore[union-attr]
            return rank_of(caller)
        frame = frame.f_back
    return ()


def rank_of(context: Any) -> Rank:
    """Return the rank of an RLlib process from its runner or the ``EnvContext`` of its environment.

    The algorithm's own process, and a context that is a plain mapping, have none. RLlib restarts a runner
    that failed with the seed that it had; random numbers in the rank keep it from playing its episodes again.
    """
    worker = getattr(context, "worker_index", None) or 0
    if getattr(context, "recreated_worker", False) or _restarted():
        return (worker, *np.random.SeedSequence().generate_state(4).tolist())
    return (worker,) if worker else ()


def _restarted() -> bool:
    """Return whether Ray runs this process to replace an actor that failed."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return False
    context = ray.get_runtime_context()
    return context.get_actor_id() is not None and context.was_current_actor_reconstructed
