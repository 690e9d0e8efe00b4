"""Rounds of updates in a separate thread: the actor lags by one round, so results are deterministic.

Astraea's actors and learner are processes that do not wait for each other, so actions come from older weights
(Liao et al., EuroSys 2024). Here each new round makes the weights of the previous one act, however long a
round takes.
"""

import copy
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from leogym.agents.astraea.actor_critic import Actor
from leogym.agents.astraea.replay import Transitions
from leogym.agents.astraea.td3 import Td3, act


@dataclass(frozen=True)
class Round:
    """The result of a round."""

    actor: Actor  # a copy of the learner's actor at the end of the round
    updates: int  # updates since the start of the run
    measured: list[dict[str, float]]  # the measurements of each update of the round


class Rounds:
    """The rounds of updates of ``learner``, which no other code may use between `begin` and `wait`."""

    def __init__(self, learner: Td3) -> None:
        self._learner = learner
        # Torch sets its number of threads per thread.
        self._thread = ThreadPoolExecutor(1, "learner", initializer=torch.set_num_threads, initargs=(1,))
        self._adopted = Round(_frozen(learner.actor), learner.updates, [])
        self._spare = _frozen(learner.actor)
        self._last: Future[Round] | None = None

    @property
    def updates(self) -> int:
        """Updates behind the acting weights."""
        return self._adopted.updates

    def act(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map observations (n, observation_dim) to actions (n, action_dim) with the adopted weights."""
        return act(self._adopted.actor, observations)

    def begin(self, batches: Sequence[Transitions]) -> list[dict[str, float]]:
        """Begin a round of an update per batch; adopt the previous round and return its measurements."""
        before = self._last
        # Submitted before the wait, so the learner never idles. The round writes its weights to the actor
        # that acts now, which is free once the previous round is adopted.
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
        """Wait for the round that runs, without adopting it; raise the error of a failed update."""
        if self._last is not None:
            self._last.result()

    def close(self) -> None:
        """End the thread after the round that runs."""
        self._thread.shutdown(cancel_futures=True)

    def start(self) -> None:
        """Adopt the learner's current weights."""
        self._adopted = Round(_frozen(self._learner.actor), self._learner.updates, [])

    def state(self) -> dict[str, Any]:
        """Return the state for `restore` without the learner's; no round may run."""
        return {
            "acting": self._adopted.actor.state_dict(),
            "updates": self._adopted.updates,
            "measured": None if self._last is None else self._last.result().measured,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned; restore the learner first."""
        self._adopted = Round(_frozen(self._learner.actor), state["updates"], [])
        actor = self._adopted.actor
        actor.load_state_dict(state["acting"])
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
