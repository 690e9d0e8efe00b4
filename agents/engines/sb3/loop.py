"""The training loop around an algorithm of Stable-Baselines3: rows, checkpoints, resume.

Every simulation has one learning flow; its scenario's other flows run the background schemes of the ranges. A
resumed run gives the same bytes as an uninterrupted one; on real TCP it begins new episodes.

On-policy algorithms train in ``workers`` processes (`agents.engines.data_parallel`): each has its own
``num_envs`` simulations, rollout and minibatches, and all apply the mean of their gradients. W processes are
equivalent to one with W times the simulations and W times larger minibatches, except that each normalises
advantages within its own part of a minibatch. The first process reports and writes.
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import TrainFreq
from stable_baselines3.common.utils import set_random_seed

from leogym.agents.engines import data_parallel
from leogym.agents.engines.actor import export
from leogym.agents.engines.data_parallel import MeanGradients, Ranks
from leogym.agents.engines.sb3.algorithm import Algorithm, make_environment
from leogym.agents.engines.sb3.checkpoint import load, save, save_beside, seed_episodes
from leogym.agents.engines.schedule import Every
from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.stopping import Stopped

SCALARS = (int, float, np.integer, np.floating)
"""What the library logs as numbers."""


@dataclass
class Seen:
    """Statistics of one process since the last row."""

    rewards: list[float] = field(default_factory=list)
    """Mean over simulations of each interval."""
    goodput_mbps: list[float] = field(default_factory=list)
    episodes: int = 0


class Chores(BaseCallback):
    """Writes rows of progress.csv, checkpoints and exports between updates, and ends the run.

    Every process has its own; only the first has ``run`` and ``reporter``, and the others send it their
    statistics for each row.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        settings: Sb3Settings,
        state: dict[str, Any],
        ranks: Ranks,
        run: RunFolder | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        super().__init__()
        self._algorithm, self._settings, self._ranks = algorithm, settings, ranks
        self._run, self._reporter = run, reporter
        self._row_due = Every(settings.progress_steps, state["steps"])
        self._checkpoint_due = Every(settings.checkpoint_steps, state["steps"])
        self.episodes: int = state["episodes"]
        """Finished episodes of all processes up to the last row."""
        self._seen = Seen(**state["since_row"])
        self._over = False

    def _on_step(self) -> bool:
        """Count one interval of all simulations; return whether time is left."""
        since_row = self._seen
        since_row.rewards.append(float(np.mean(self.training_env.get_attr("unwrapped_rewards", [0])[0])))
        since_row.goodput_mbps.append(float(np.mean([info["goodput_mbps"] for info in self.locals["infos"]])))
        since_row.episodes += int(np.count_nonzero(self.locals["dones"]))
        # The model counts only its own simulations; add those of the other processes.
        self.model.num_timesteps += (self._ranks.size - 1) * self.training_env.num_envs
        if self._ranks.size == 1:
            self._over = self._time_is_up()
        return not self._over

    def _time_is_up(self) -> bool:
        # A run limited by steps ends only after it has learned from the rollout.
        minutes, reporter = self._settings.minutes, self._reporter
        return minutes is not None and reporter is not None and reporter.done(self.num_timesteps) >= 1

    def _on_rollout_start(self) -> None:
        """Write due files: here the last rollout has been learned from, so weights match the step count."""
        steps = self.model.num_timesteps
        if self._row_due.due(steps):
            self.row()
        if self._checkpoint_due.due(steps):
            self.checkpoint()
        # Processes must agree on the end, or some would wait for the others' gradients.
        asked = self._run is not None and self._run.stop.asked
        self._over, asked = self._ranks.broadcast((self._time_is_up(), asked))
        if asked:
            self.save(scheduled=False)
            raise Stopped

    def row(self) -> None:
        """Add a row of means since the last one to progress.csv; losses are the first process's."""
        latest = [(float(episode["r"]), float(episode["l"])) for episode in self.model.ep_info_buffer or []]
        gathered = self._ranks.gather((self._seen, latest))
        self._seen = Seen()
        if gathered is None or self._reporter is None:
            return
        parts = [part for part, _ in gathered]
        ended = [episode for _, episodes in gathered for episode in episodes]
        self.episodes += sum(part.episodes for part in parts)
        learned = self.model.logger.name_to_value
        columns = self._algorithm.columns.items()
        rewards, lengths = _mean([reward for reward, _ in ended]), _mean([length for _, length in ended])
        self._reporter.row(
            {
                "steps": self.model.num_timesteps,
                "wall_s": round(self._reporter.wall_s, 3),
                "episodes": self.episodes,
                "reward": _mean([reward for part in parts for reward in part.rewards]),
                "episode_reward_mean": rewards,
                "episode_length_mean": lengths,
                "goodput_mbps": _mean([goodput for part in parts for goodput in part.goodput_mbps]),
                **{column: float(learned.get(name, float("nan"))) for column, name in columns},
            },
            {
                "rollout/ep_rew_mean": rewards,
                "rollout/ep_len_mean": lengths,
                "time/fps": self._steps_per_second(),
                **{name: float(value) for name, value in learned.items() if isinstance(value, SCALARS)},
            },
        )

    def _steps_per_second(self) -> float:
        """Return environment steps per second since the run began or was resumed."""
        elapsed_s = (time.time_ns() - self.model.start_time) / 1e9
        return (self.model.num_timesteps - self.model._num_timesteps_at_start) / elapsed_s

    def checkpoint(self) -> None:
        """Write a scheduled checkpoint with the current policy, which the reporter evaluates."""
        self.save()
        if self._reporter is not None:
            self._reporter.checkpointed(self.model.num_timesteps)

    def save(self, *, scheduled: bool = True) -> None:
        """Write a checkpoint with the current policy."""
        model, run, reporter = self.model, self._run, self._reporter
        own = {"since_row": asdict(self._seen)}
        if run is None or reporter is None:
            save_beside(self._ranks, model, own)
            return

        def write(folder: Path) -> None:
            counters = {"wall_s": reporter.wall_s, "episodes": self.episodes, **own}
            save(self._algorithm, model, folder, counters, self._ranks)
            export_policy(self._algorithm, model, self._settings, run)

        run.save_checkpoint(model.num_timesteps, write, scheduled=scheduled)
        run.publish()


def export_policy(algorithm: Algorithm, model: BaseAlgorithm, settings: Sb3Settings, run: RunFolder) -> None:
    """Write the actor of ``model`` as the run's policy."""
    dense, lstm = algorithm.dense(model), algorithm.lstm(model)
    export(dense, settings, run, model.num_timesteps, settings.activation, lstm)


def train(algorithm: Algorithm, settings: Sb3Settings, run: RunFolder) -> None:
    """Train as long as ``settings`` say, from the latest checkpoint of ``run`` if there is one.

    A run ends with the rollout that completes its steps. If the checkpoint cannot be read or one of the run's
    processes ends, raise `InputError`.
    """
    torch.set_num_threads(1)  # the networks are too small to gain from a second thread
    latest = run.latest_checkpoint()
    with data_parallel.started(
        algorithm.processes(settings), _train_beside, algorithm, settings, latest
    ) as ranks:
        _train_first(algorithm, settings, run, latest, ranks)


def _train_first(
    algorithm: Algorithm, settings: Sb3Settings, run: RunFolder, latest: Path | None, ranks: Ranks
) -> None:
    model, state = _begin(algorithm, settings, latest, ranks)
    columns = ("reward", "goodput_mbps")
    with Reporter(settings, run, steps=state["steps"], wall_s=state["wall_s"], columns=columns) as reporter:
        if (line := _rounded(model, settings, state["steps"], ranks.size)) is not None:
            reporter.say(line)
        chores = Chores(algorithm, settings, state, ranks, run, reporter)
        _learn(model, settings, state, chores)
        run.write_summary(
            {
                "agent": settings.agent,
                "engine": settings.engine,
                "steps": model.num_timesteps,
                "wall_s": round(reporter.wall_s, 1),
                "episodes": chores.episodes,
            }
        )


def _rounded(model: BaseAlgorithm, settings: Sb3Settings, steps: int, processes: int) -> str | None:
    """Return a line if the run's length is not a multiple of what the model samples at a time, else None."""
    if settings.steps is None or settings.steps <= steps:
        return None
    if isinstance(model, OnPolicyAlgorithm):
        intervals, unit = model.n_steps, "a rollout"
    else:
        assert isinstance(model, OffPolicyAlgorithm)
        assert isinstance(model.train_freq, TrainFreq)
        intervals, unit = model.train_freq.frequency, "a collection"
    size = intervals * model.n_envs * processes
    rounds = -((steps - settings.steps) // size)
    if steps + rounds * size == settings.steps:
        return None
    return (
        f"steps: {settings.steps:,} rounds up to {steps + rounds * size:,}: {unit} has {size:,} steps "
        f"({intervals} intervals of {model.n_envs * processes} simulations)"
    )


def _train_beside(ranks: Ranks, algorithm: Algorithm, settings: Sb3Settings, latest: Path | None) -> None:
    model, state = _begin(algorithm, settings, latest, ranks)
    _learn(model, settings, state, Chores(algorithm, settings, state, ranks))


def _begin(
    algorithm: Algorithm, settings: Sb3Settings, latest: Path | None, ranks: Ranks
) -> tuple[BaseAlgorithm, dict[str, Any]]:
    """Return a process's initial model and counters, from ``latest`` if given."""
    if latest is not None:
        model, state = load(algorithm, latest, settings, ranks)
    else:
        environment = make_environment(settings, 0, ranks.size)
        # Every process draws the same weights before it seeds its own generators.
        model = algorithm.make(settings, environment)
        if ranks.rank:
            set_random_seed(seed_episodes(environment, settings, 0, ranks.rank))
        state = {"steps": 0, "wall_s": 0.0, "episodes": 0, "since_row": {}}
    model.set_logger(Logger(folder=None, output_formats=[]))  # progress.csv has everything
    if ranks.size > 1:
        policy = model.policy
        assert isinstance(policy, BasePolicy)
        MeanGradients(ranks, policy.parameters(), policy.optimizer)
    return model, state


def _learn(model: BaseAlgorithm, settings: Sb3Settings, state: Mapping[str, Any], chores: Chores) -> None:
    model.learn(
        (settings.steps or sys.maxsize) - state["steps"],
        chores,
        log_interval=None,  # type: ignore[arg-type] (no log of its own)
        reset_num_timesteps=False,
    )
    if model.num_timesteps > state["steps"]:
        chores.row()
        chores.checkpoint()


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
