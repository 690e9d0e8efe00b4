"""The training loop around an algorithm of Stable-Baselines3: environments, rows, checkpoints, resume.

Every simulation has one learning flow; the other flows of its scenario run the background schemes of the
ranges. A resumed run does what one that was never interrupted would have done, byte for byte; on real TCP it
goes on with new episodes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn
from torch import nn

from agents.curriculum import Curriculum
from agents.engines import sb3_episodes
from agents.engines.actor import export
from agents.engines.schedule import Every
from agents.engines.settings import Sb3Settings
from agents.reporter import Reporter
from agents.run_folder import RunFolder
from configs.errors import InputError
from envs.sb3 import LeoVecEnv


@dataclass(frozen=True)
class Algorithm:
    """What the loop must know of an algorithm."""

    make: Callable[[Any, VecEnv], BaseAlgorithm]
    """``make(settings, environment)``: untrained."""
    dense: Callable[[Any], list[nn.Linear]]
    """The actor's dense layers, in order; the action is the tanh of the last."""
    columns: Mapping[str, str]
    """Columns of progress.csv, with the names under which the model logs them."""
    lstm: Callable[[Any], nn.LSTM | None] = lambda model: None
    """The actor's LSTM before its dense layers; None without one."""
    write: Callable[[Any, Path], None] = lambda model, folder: None
    """``write(model, folder)``: what there is besides weights, optimisers and counters."""
    read: Callable[[Any, Path], None] = lambda model, folder: None
    """``read(model, folder)``: the same, into an untrained model."""


class ScaledRewards(VecEnvWrapper):
    """Multiplies rewards by a factor, and tells the curriculum of steps."""

    def __init__(self, environment: VecEnv, factor: float, curriculum: Curriculum) -> None:
        super().__init__(environment)
        self._factor, self.curriculum = np.float32(factor), curriculum

    def reset(self) -> VecEnvObs:
        """Reset as the environment does."""
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step as the environment does, the rewards scaled."""
        self.curriculum.steps += self.num_envs
        observations, rewards, dones, infos = self.venv.step_wait()
        return observations, rewards * self._factor, dones, infos


def make_environment(settings: Sb3Settings, steps: int) -> ScaledRewards:
    """Return ``settings.num_envs`` simulations of one learning flow each, after ``steps`` of the run."""
    curriculum = Curriculum(settings, learning_flows=1)
    curriculum.steps = steps
    environment = LeoVecEnv(
        settings.num_envs,
        curriculum,
        settings.spec,
        settings.backend,
        reward=settings.reward,
        interval_ms=settings.interval_ms,
        threads=settings.workers,
    )
    return ScaledRewards(settings.wrap(VecMonitor(environment)), settings.reward_scale, curriculum)


def save(algorithm: Algorithm, model: BaseAlgorithm, folder: Path, counters: Mapping[str, Any]) -> None:
    """Write ``model``, its episodes, the state of its random generators and ``counters`` to ``folder``."""
    # Tensors only: the library's own files are pickles, which may run anything when they are read.
    _, variables = model._get_torch_save_params()
    torch.save(
        {
            "parameters": model.get_parameters(),
            "variables": {name: attrgetter(name)(model).detach() for name in variables},
            "torch": torch.get_rng_state(),
        },
        folder / "model.pt",
    )
    algorithm.write(model, folder)
    sb3_episodes.save(model, folder)
    kind, key, *rest = np.random.get_state()  # noqa: NPY002 (Stable-Baselines3 shuffles with it)
    state = {
        **counters,
        "steps": model.num_timesteps,
        "updates": getattr(model, "_n_updates", 0),
        "numpy": [kind, np.asarray(key).tolist(), *rest],
    }
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")


def load(algorithm: Algorithm, folder: Path, settings: Sb3Settings) -> tuple[BaseAlgorithm, dict[str, Any]]:
    """Return what `save` wrote to ``folder``: the model, in the middle of its episodes, and its counters.

    Raises:
        InputError: the checkpoint cannot be read.
    """
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        tensors = torch.load(folder / "model.pt", weights_only=True)
        environment = make_environment(settings, state["steps"])
        model = algorithm.make(settings, environment)
        model.set_parameters(tensors["parameters"], exact_match=True)
        for name, value in tensors["variables"].items():
            attrgetter(name)(model).data.copy_(value)
        algorithm.read(model, folder)
        if not sb3_episodes.restore(model, folder):
            # New ones: a resumed run must not see the episodes of the run's beginning again.
            environment.seed(
                int(np.random.SeedSequence([settings.seed, state["steps"]]).generate_state(1)[0] >> 1)
            )
        model.num_timesteps, model._n_updates = state["steps"], state["updates"]  # type: ignore[attr-defined]
        kind, key, *rest = state["numpy"]
        np.random.set_state((kind, np.array(key, np.uint32), *rest))  # noqa: NPY002
        torch.set_rng_state(tensors["torch"])
    except InputError:
        raise
    except Exception as error:  # whatever the library stumbles on
        reason, *_ = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{folder}: cannot be read: {reason}") from None
    return model, state


class Chores(BaseCallback):
    """Between updates: rows of progress.csv, checkpoints, exports, and the end of the run."""

    def __init__(
        self,
        algorithm: Algorithm,
        settings: Sb3Settings,
        run: RunFolder,
        reporter: Reporter,
        state: dict[str, Any],
    ) -> None:
        super().__init__()
        self._algorithm, self._settings, self._run, self._reporter = algorithm, settings, run, reporter
        self._row_due = Every(settings.progress_steps, state["steps"])
        self._checkpoint_due = Every(settings.checkpoint_steps, state["steps"])
        self.episodes: int = state["episodes"]
        since_row = state.get("since_row", {})
        self._rewards: list[float] = since_row.get("rewards", [])
        self._goodput_mbps: list[float] = since_row.get("goodput_mbps", [])

    def _on_step(self) -> bool:
        """Count one interval of all simulations; return whether there is time to go on."""
        self._rewards.append(float(np.mean(self.training_env.get_attr("rewards_as_given", [0])[0])))
        self._goodput_mbps.append(float(np.mean([info["goodput_mbps"] for info in self.locals["infos"]])))
        self.episodes += int(np.count_nonzero(self.locals["dones"]))
        # A run of a number of steps ends after the rollout is learned from, and not here.
        return self._settings.minutes is None or self._reporter.done(self.num_timesteps) < 1

    def _on_rollout_start(self) -> None:
        """Here the last rollout has been learned from, so that steps and weights belong together."""
        steps = self.model.num_timesteps
        if self._row_due.due(steps):
            self.row()
        if self._checkpoint_due.due(steps):
            self.checkpoint()

    def row(self) -> None:
        """Add a row to progress.csv: means since the last one."""
        episodes = list(self.model.ep_info_buffer or [])
        learned = self.model.logger.name_to_value
        columns = self._algorithm.columns.items()
        self._reporter.row(
            {
                "steps": self.model.num_timesteps,
                "wall_s": round(self._reporter.wall_s, 3),
                "episodes": self.episodes,
                "reward": _mean(self._rewards),
                "episode_reward_mean": _mean([float(episode["r"]) for episode in episodes]),
                "episode_length_mean": _mean([float(episode["l"]) for episode in episodes]),
                "goodput_mbps": _mean(self._goodput_mbps),
                **{column: float(learned.get(name, float("nan"))) for column, name in columns},
            }
        )
        self._rewards.clear()
        self._goodput_mbps.clear()

    def checkpoint(self) -> None:
        """Write a checkpoint and the policy as of now."""
        model, steps = self.model, self.model.num_timesteps
        counters = {
            "wall_s": self._reporter.wall_s,
            "episodes": self.episodes,
            "since_row": {"rewards": self._rewards, "goodput_mbps": self._goodput_mbps},
        }
        self._run.save_checkpoint(steps, lambda folder: save(self._algorithm, model, folder, counters))
        export_policy(self._algorithm, model, self._settings, self._run)
        self._reporter.checkpointed(steps)


def export_policy(algorithm: Algorithm, model: BaseAlgorithm, settings: Sb3Settings, run: RunFolder) -> None:
    """Write the actor of ``model`` as the run's policy."""
    dense, lstm = algorithm.dense(model), algorithm.lstm(model)
    export(dense, settings, run, model.num_timesteps, settings.activation, lstm)


def train(algorithm: Algorithm, settings: Sb3Settings, run: RunFolder) -> None:
    """Train until ``settings`` say stop; continue from the latest checkpoint if ``run`` has one.

    A run ends with the rollout in which its steps are complete.
    """
    torch.set_num_threads(1)  # networks too small for a second thread to help
    latest = run.latest_checkpoint()
    if latest is None:
        model = algorithm.make(settings, make_environment(settings, 0))
        state: dict[str, Any] = {"steps": 0, "wall_s": 0.0, "episodes": 0}
    else:
        model, state = load(algorithm, latest, settings)
    model.set_logger(Logger(folder=None, output_formats=[]))  # rows of progress.csv say it all
    shown = ("reward", "goodput_mbps")
    with Reporter(settings, run, steps=state["steps"], wall_s=state["wall_s"], shown=shown) as reporter:
        chores = Chores(algorithm, settings, run, reporter, state)
        model.learn(
            (settings.steps or sys.maxsize) - state["steps"],
            chores,
            log_interval=None,  # type: ignore[arg-type] (no log of its own)
            reset_num_timesteps=False,
        )
        if model.num_timesteps > state["steps"]:
            chores.row()
            chores.checkpoint()
        # Again, for a run that was killed after its last checkpoint and before its export.
        export_policy(algorithm, model, settings, run)
        run.write_summary(
            {
                "agent": settings.agent,
                "engine": settings.engine,
                "steps": model.num_timesteps,
                "wall_s": round(reporter.wall_s, 1),
                "episodes": chores.episodes,
            }
        )


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
