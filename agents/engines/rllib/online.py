"""PPO, APPO, SAC and DreamerV3 on RLlib's new API stack: ``train.py --agent ppo --engine rllib``.

Flows share one policy or have one each. With ``workers`` above 1, as many Ray processes sample, and RLlib
replaces those that die; otherwise this process samples. PPO with a shared policy also learns in as many
processes: each takes its part of a batch in minibatches, and all apply the mean of their gradients.

A resumed run continues with the checkpoint's weights and optimisers on new episodes; algorithms with a replay
buffer refill it before they learn. PPO in one process begins new episodes at every scheduled checkpoint, also
if nobody resumes it, so a run that was killed and resumed has the same bytes as one that was not.
"""

import copy
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from ray.exceptions import RayError
from ray.rllib.algorithms.algorithm import Algorithm
from torch import nn

from leogym.agents.engines.actor import export
from leogym.agents.engines.ray_cluster import how_to_resume, running
from leogym.agents.engines.rllib import learner_checkpoint
from leogym.agents.engines.rllib.algorithms import build, builder
from leogym.agents.engines.rllib.modules import actor_layers
from leogym.agents.engines.rllib.rewards import Rewards
from leogym.agents.engines.schedule import Every
from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.training import state_file
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common.cluster import joining
from leogym.envs.seeding import mixed


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one.

    A run ends with the iteration that completes its steps.
    """
    torch.set_num_threads(1)  # the networks are too small to gain from a second thread
    with running(settings.ray_address, resume=partial(how_to_resume, run)):
        _train(settings, run)


def _train(settings: TrainSettings, run: RunFolder) -> None:
    algorithm_builder = builder(settings)
    if algorithm_builder.runners:
        joining.current().require_cpus(algorithm_builder.runners, f"--workers {settings.workers}")
        joining.current().start_waiting(algorithm_builder.runners, f"--workers {settings.workers}")
    latest = run.latest_checkpoint()
    state: dict[str, Any] = {"steps": 0, "wall_s": 0.0, "episodes": 0, "since_row": {}}
    if latest is not None:
        state = read_state(latest)
    with ExitStack() as closing:
        loop: Loop | None = None
        while loop is None or not loop.over:
            with stopped_after(begin(settings, state["steps"], run.latest_checkpoint())) as algorithm:
                if loop is None:
                    joining.current().end_waiting()
                    loop = closing.enter_context(Loop(settings, run, state))
                seed_generators(settings, state["steps"])
                loop.learn(algorithm)
        run.write_summary({"agent": settings.agent, "engine": settings.engine, **loop.summary})


def begin(settings: TrainSettings, steps: int, checkpoint: Path | None) -> Algorithm:
    """Build the algorithm with what ``checkpoint`` holds, for the episodes after ``steps``."""
    algorithm = build(settings, steps)
    if checkpoint is not None:
        try:
            learner_checkpoint.restore(algorithm, checkpoint)
        except BaseException:
            algorithm.stop()
            raise
    return algorithm


def seed_generators(settings: TrainSettings, steps: int) -> None:
    """Seed the generators with which RLlib draws actions and shuffles in this process after ``steps``."""
    seed = mixed([settings.seed, steps], bits=31)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (RLlib shuffles with it)
    torch.manual_seed(seed)


class Loop:
    """The training loop; use it as a context. `learn` may go on with another algorithm of the same state.

    ``state`` has the run's counters: ``steps``, ``wall_s``, ``episodes`` and what was sampled ``since_row``.
    """

    def __init__(self, settings: TrainSettings, run: RunFolder, state: dict[str, Any]) -> None:
        self._settings, self._run, self._state = settings, run, state
        self._reporter = Reporter(settings, run, steps=state["steps"], wall_s=state["wall_s"])
        self._row_due = Every(settings.progress_steps, state["steps"])
        self._checkpoint_due = Every(settings.checkpoint_steps, state["steps"])
        self._since_row = SinceRow(state["since_row"])

    def __enter__(self) -> Self:
        self._reporter.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._reporter.__exit__(*error)

    @property
    def over(self) -> bool:
        """Whether the run has its whole length."""
        return self._reporter.done(self._state["steps"]) >= 1

    @property
    def summary(self) -> dict[str, Any]:
        """The counters of the run."""
        return {name: self._state[name] for name in ("steps", "wall_s", "episodes")}

    def learn(self, algorithm: Algorithm) -> None:
        """Train to the end, or to the next checkpoint if a run continues from its checkpoints exactly.

        Then the caller begins from the checkpoint, as a run that was killed does.
        """
        state, reporter, settings = self._state, self._reporter, self._settings

        def write(folder: Path) -> None:
            # APPO learns in a thread of its own: the policy must have the weights of the checkpoint.
            with learner_checkpoint.at_rest(learner_checkpoint.learner_of(algorithm)):
                save(algorithm, folder, state)
                export_policy(algorithm, settings, self._run, state["steps"])

        while not self.over:
            result = iterate(algorithm)
            sampled = result["env_runners"]
            state["steps"] += count(sampled, "num_env_steps_sampled")
            state["episodes"] += count(sampled, "num_episodes")
            state["wall_s"] = reporter.wall_s
            self._since_row.add(sampled)
            over = self.over
            if self._row_due.due(state["steps"]) or over:
                learned = result.get("learners", {}).get(builder(settings).modules[0], {})
                reporter.row(make_row(state, self._since_row.flush(), learned))
            state["since_row"] = self._since_row.state()
            checkpoint_due = self._checkpoint_due.due(state["steps"])
            if checkpoint_due or over:
                reporter.checkpoint(state["steps"], write)
            reporter.leave_if_asked(state["steps"], write)
            if checkpoint_due and builder(settings).repeats:
                return


@contextmanager
def stopped_after(algorithm: Algorithm) -> Iterator[Algorithm]:
    """Stop ``algorithm`` when the block ends.

    Otherwise garbage collection stops its learners, and starts a new Ray for that if none runs any more.
    """
    try:
        yield algorithm
    except BaseException:
        with suppress(RayError):  # report the first error
            algorithm.stop()
        raise
    algorithm.stop()


def iterate(algorithm: Algorithm) -> Mapping[str, Any]:
    """Sample and learn once; return RLlib's results, or raise `InputError` if a learner process ended."""
    try:
        return algorithm.train()
    except RayError:
        learner_checkpoint.require_learners(algorithm)
        raise


def count(sampled: Mapping[str, Any], name: str) -> int:
    """Return an iteration's count ``name``; RLlib's nan means 0."""
    value = float(sampled.get(name, 0))
    return int(value) if math.isfinite(value) else 0


class SinceRow:
    """Rewards and episodes sampled since the last row, from the ``state`` that another left.

    RLlib reports episodes only in iterations in which one ended.
    """

    EPISODES = ("episode_return_mean", "episode_len_mean")

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._episodes = {name: [*state.get(name, [])] for name in self.EPISODES}
        self._rewards = Rewards(*state.get("rewards", ()))

    def add(self, sampled: Mapping[str, Any]) -> None:
        """Add the results of an iteration's env runners."""
        self._rewards.add(sampled)
        for name, values in self._episodes.items():
            value = float(sampled.get(name, math.nan))
            if math.isfinite(value):
                values.append(value)

    def state(self) -> dict[str, Any]:
        """Return the numbers so far as JSON has them."""
        return {
            **{name: [*values] for name, values in self._episodes.items()},
            "rewards": self._rewards.state(),
        }

    def flush(self) -> dict[str, float]:
        """Return and reset the mean reward and the means over episodes, nan where there was none."""
        means = {
            name: sum(values) / len(values) if values else math.nan for name, values in self._episodes.items()
        }
        for values in self._episodes.values():
            values.clear()
        return {"reward": self._rewards.flush(), **means}


LOSSES = {
    "policy_loss": ("policy_loss", "ACTOR_L_total"),
    "value_loss": ("vf_loss", "qf_loss", "CRITIC_L_total"),
    "entropy": ("entropy", "ACTOR_action_entropy"),
}
"""Columns of progress.csv and the names that RLlib's algorithms have for them."""


def make_row(
    state: Mapping[str, Any], sampled: Mapping[str, float], learned: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a row of progress.csv, with nan for values that RLlib does not have yet."""
    losses = {
        column: next((float(learned[name]) for name in names if name in learned), math.nan)
        for column, names in LOSSES.items()
    }
    return {
        "steps": state["steps"],
        "wall_s": round(state["wall_s"], 3),
        "episodes": state["episodes"],
        "reward": sampled["reward"],
        # Summed over an episode's flows and intervals.
        "episode_reward_mean": sampled["episode_return_mean"],
        "episode_length_mean": sampled["episode_len_mean"],
        **losses,
    }


def save(algorithm: Algorithm, folder: Path, state: dict[str, Any]) -> None:
    """Write ``algorithm`` and the run's counters to ``folder``."""
    learner_checkpoint.save(algorithm, folder)
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")


def read_state(folder: Path) -> dict[str, Any]:
    """Read the counters that `save` wrote to ``folder``, or raise `InputError`."""
    return state_file.read(
        folder / "state.json", {"steps": int, "wall_s": float, "episodes": int, "since_row": dict}
    )


def export_policy(algorithm: Algorithm, settings: TrainSettings, run: RunFolder, steps: int) -> None:
    """Write the actors as the run's policies, except DreamerV3's, which the native runner cannot run."""
    if not isinstance(settings, Sb3Settings):
        return
    names = builder(settings).modules
    actors = learner_checkpoint.ask(algorithm, partial(actors_of, names=names))
    for number, (name, dense) in enumerate(actors.items()):
        if number == 0:
            export(dense, settings, run, steps, settings.activation)
        if len(names) > 1:
            export(dense, settings, run, steps, settings.activation, policy=name)


def actors_of(learner: Any, names: Sequence[str]) -> dict[str, list[nn.Linear]]:
    """Return copies of the actor's dense layers for each of the modules ``names``."""
    # With several learners, modules are wrapped to average gradients.
    return {name: copy.deepcopy(actor_layers(learner.module[name].unwrapped())) for name in names}
