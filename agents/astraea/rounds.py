"""Rounds of updates beside acting: in a thread of their own, with a lag that is counted and not timed.

Astraea's actors and its learner are processes that do not wait for one another, so that actions come from
weights of some time ago (Liao et al., EuroSys 2024). Here actions come from the weights that the last round
left, and it ends for them where the next one begins: the numbers are the same however long a round takes.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.astraea.actor_critic import Actor
from agents.astraea.replay import Transitions
from agents.astraea.td3 import Td3, act
from agents.astraea.whitening import with_whitening


def one_thread(name: str) -> ThreadPoolExecutor:
    """Return a thread in which torch has no threads of its own: how many it takes is told to each."""
    return ThreadPoolExecutor(1, name, initializer=torch.set_num_threads, initargs=(1,))


@dataclass(frozen=True)
class Round:
    """What a round left."""

    actor: Actor
    """Acts with the weights that the learner then had."""
    updates: int
    """All updates until then."""
    measured: list[dict[str, float]]
    """What each of the round's own measured."""


class Rounds:
    """The rounds of updates of one learner, which nobody else may touch from `begin` to `wait`.

    Args:
        learner: what learns.
    """

    def __init__(self, learner: Td3) -> None:
        self._learner = learner
        self._thread = one_thread("learner")
        self._adopted = Round(_frozen(learner.actor), learner.updates, [])
        self._spare = _frozen(learner.actor)
        self._last: Future[Round] | None = None

    @property
    def updates(self) -> int:
        """Updates that the acting weights have had."""
        return self._adopted.updates

    def act(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map observations (n, observation_dim) to actions (n, action_dim) of the round last adopted."""
        return act(self._adopted.actor, observations)

    def begin(self, batches: Sequence[Transitions]) -> list[dict[str, float]]:
        """Begin a round with an update for each of ``batches``; wait for the one before it and adopt that.

        Returns:
            What the updates of the round before measured.
        """
        before = self._last
        # Begun first, so that the learner goes from round to round without waiting for this thread. It leaves
        # its weights in the actor that does not act: once the round before is adopted, that is today's.
        free = self._spare if before is None else self._adopted.actor
        self._last = self._thread.submit(self._round, batches, free)
        if before is None:
            return []
        self._adopted = before.result()
        return self._adopted.measured

    def _round(self, batches: Sequence[Transitions], actor: Actor) -> Round:
        measured = [self._learner.update(batch) for batch in batches]
        _copy(self._learner.actor, actor)
        return Round(actor, self._learner.updates, measured)

    def wait(self) -> None:
        """Wait until nothing runs, and go on acting with the weights of before.

        Raises:
            Exception: what the round ended with.
        """
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        """End the thread, after the round that runs."""
        self._thread.shutdown(cancel_futures=True)

    def start(self) -> None:
        """Act with the weights that the learner has been given."""
        self._adopted = Round(_frozen(self._learner.actor), self._learner.updates, [])

    def state(self) -> dict[str, Any]:
        """Return all that `restore` needs besides the learner; nothing may run."""
        return {
            "acting": self._adopted.actor.state_dict(),
            "updates": self._adopted.updates,
            "measured": None if self._last is None else self._last.result().measured,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned, the learner being restored already."""
        self._adopted = Round(_frozen(self._learner.actor), state["updates"], [])
        actor = self._adopted.actor
        actor.load_state_dict(with_whitening(state["acting"], len(actor.whitening.mean)))
        self._last = None
        if state["measured"] is not None:
            _copy(self._learner.actor, self._spare)
            self._last = Future()
            self._last.set_result(Round(self._spare, self._learner.updates, state["measured"]))


def _frozen(actor: Actor) -> Actor:
    return copy.deepcopy(actor).requires_grad_(False).eval()


def _copy(actor: Actor, to: Actor) -> None:
    with torch.no_grad():
        for ours, theirs in zip(_tensors(to), _tensors(actor), strict=True):
            ours.copy_(theirs)


def _tensors(actor: Actor) -> Iterator[torch.Tensor]:
    return itertools.chain(actor.parameters(), actor.buffers())
