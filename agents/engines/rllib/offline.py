"""Behavioural cloning and CQL on the clone's pool, with RLlib's learners: ``train.py --agent bc`` or ``cql``.

Learners take batches directly from the pool instead of Ray's data pipeline, so no Ray runs. Networks see each
signal standardised by its mean and deviation in the pool; export folds this into the policy's first layer.
"""

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.bc import BCConfig
from ray.rllib.algorithms.cql import CQLConfig
from ray.rllib.algorithms.cql.torch.cql_torch_learner import CQLTorchLearner
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from torch import nn

from leogym.agents.clone import pool
from leogym.agents.clone.pool import ACTION_MAX
from leogym.agents.clone.sequences import Sequences
from leogym.agents.engines.actor import dense_layer, export
from leogym.agents.engines.rllib import learner_checkpoint
from leogym.agents.engines.rllib.modules import actor_layers, flow_module, own_module
from leogym.agents.engines.settings import CqlSettings, OfflineSettings
from leogym.agents.training import state_file
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import TrainSettings
from leogym.common.cluster.joining import silence_ray
from leogym.common.errors import InputError
from leogym.envs.flow import action_space

LOSSES = {"policy_loss": "policy_loss", "value_loss": "qf_loss", "conservative_loss": "cql_loss"}
"""Columns of progress.csv and RLlib's names for them."""


class PhasedCqlLearner(CQLTorchLearner):
    """RLlib's learner with an external switch for cloning: RLlib 2.60 resets its update count every time."""

    clones: bool = True
    """Whether the actor imitates; otherwise it follows the critics."""

    def compute_loss_for_module(self, *, module_id: Any, config: Any, batch: Any, fwd_out: Any) -> Any:
        """Return RLlib's loss for the current phase."""
        if not hasattr(self, "_phases"):
            self._phases = {clones: config.copy(copy_frozen=False) for clones in (True, False)}
            self._phases[True].bc_iters, self._phases[False].bc_iters = sys.maxsize, 0
        phase = self._phases[self.clones]
        return super().compute_loss_for_module(
            module_id=module_id, config=phase, batch=batch, fwd_out=fwd_out
        )


@dataclass(frozen=True)
class Offline:
    """An offline algorithm as the training loop sees it."""

    config: Callable[[Any], AlgorithmConfig]
    """Returns RLlib's configuration for the settings."""
    before_update: Callable[[Any, Any, int], None] = lambda learner, settings, steps: None
    """``before_update(learner, settings, steps)`` sets the phase of training."""


class Training:
    """A learner and its transitions."""

    def __init__(self, algorithm: Offline, settings: OfflineSettings, folder: Path) -> None:
        self.algorithm, self.settings = algorithm, settings
        self.transitions = Sequences(folder, 2, settings.resident, settings.seed)
        self.mean, self.deviation = self.transitions.moments()
        torch.manual_seed(settings.seed)
        # The learner reads only the shape.
        observations = Box(-np.inf, np.inf, (self.transitions.observation_dim,), np.float32)
        spaces = (observations, action_space(1))
        self.learner: Any = algorithm.config(settings).build_learner(spaces={DEFAULT_MODULE_ID: spaces})
        self.steps = 0
        self._seen: dict[str, list[float]] = {name: [] for name in LOSSES}

    def batch(self) -> SampleBatch:
        """Draw transitions; actions are scaled to the specification's [-1, 1]."""
        drawn = self.transitions.draw(self.settings.batch_size)
        observations = self._normal(drawn.observation)
        none = np.zeros(len(observations), bool)
        return SampleBatch(
            {
                Columns.OBS: observations[:, 0],
                Columns.NEXT_OBS: observations[:, 1],
                Columns.ACTIONS: drawn.action[:, :1] / np.float32(ACTION_MAX),
                Columns.REWARDS: drawn.reward[:, 0],
                # Runs end because they were stopped, so their last states are not terminal.
                Columns.TERMINATEDS: none,
                Columns.TRUNCATEDS: none,
            }
        )

    def update(self) -> None:
        """Make one update."""
        size = self.settings.batch_size
        batch = MultiAgentBatch({DEFAULT_MODULE_ID: self.batch()}, env_steps=size)
        self.algorithm.before_update(self.learner, self.settings, self.steps)
        self.steps += 1
        results = self.learner.update(
            training_data=TrainingData(batch=batch),
            timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: self.steps * size},
        )
        for column, name in LOSSES.items():
            value = results[DEFAULT_MODULE_ID].get(name)
            if value is not None:
                self._seen[column].append(float(getattr(value, "peek", lambda value=value: value)()))

    def flush(self) -> dict[str, float]:
        """Return and reset the mean losses since the last call; nan for losses the algorithm lacks."""
        means = {name: float(np.mean(losses)) if losses else math.nan for name, losses in self._seen.items()}
        for losses in self._seen.values():
            losses.clear()
        return means

    def dense(self) -> list[nn.Linear]:
        """Return the actor's dense layers, with the standardisation folded into the first."""
        first, *inner_layers = actor_layers(self.learner.module[DEFAULT_MODULE_ID])
        mean, deviation = (torch.from_numpy(array) for array in (self.mean, self.deviation))
        return [
            dense_layer(first.weight / deviation, first.bias - first.weight @ (mean / deviation)),
            *inner_layers,
        ]

    def save(self, folder: Path, wall_s: float) -> None:
        """Write everything to ``folder``."""
        learner_checkpoint.write(self.learner, folder)
        state = {
            "steps": self.steps,
            "wall_s": wall_s,
            "transitions": self.transitions.state(),
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "torch": torch.get_rng_state().tolist(),
            "since_row": self._seen,
        }
        (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def load(self, folder: Path) -> float:
        """Read what `save` wrote, or raise `InputError`; return the wall time spent until then in s."""
        learner_checkpoint.read(self.learner, folder)
        path = folder / "state.json"
        try:
            keys = {"steps": int, "wall_s": float, "transitions": dict, "torch": list, "since_row": dict}
            state = state_file.read(path, keys)
            self.steps = state["steps"]
            self.transitions.restore(state["transitions"])
            self.mean, self.deviation = (np.array(state[name], np.float32) for name in ("mean", "deviation"))
            torch.set_rng_state(torch.tensor(state["torch"], dtype=torch.uint8))
            self._seen |= state["since_row"]
            return float(state["wall_s"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None

    def _normal(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        return (observations - self.mean) / self.deviation


def _bc(settings: OfflineSettings) -> AlgorithmConfig:
    config = BCConfig().training(lr=settings.learning_rate, train_batch_size_per_learner=settings.batch_size)
    return _local(config, flow_module(settings))


def _cql(settings: CqlSettings) -> AlgorithmConfig:
    config = CQLConfig().training(
        gamma=settings.gamma,
        actor_lr=settings.learning_rate,
        critic_lr=settings.critic_learning_rate,
        alpha_lr=settings.learning_rate,
        lr=None,
        tau=settings.tau,
        target_network_update_freq=1,
        learner_class=PhasedCqlLearner,
        min_q_weight=settings.conservatism,
        train_batch_size_per_learner=settings.batch_size,
    )
    return _local(config, own_module(settings))


def _local(config: AlgorithmConfig, module: Any) -> AlgorithmConfig:
    return config.framework("torch").rl_module(rl_module_spec=module).learners(num_learners=0)


def _cql_phase(learner: PhasedCqlLearner, settings: CqlSettings, steps: int) -> None:
    learner.clones = steps < settings.cloning_steps


BC, CQL = Offline(_bc), Offline(_cql, _cql_phase)


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Clone the pool or train CQL from the latest checkpoint of ``run``, if there is one."""
    assert isinstance(settings, OfflineSettings)
    silence_ray()
    torch.set_num_threads(1)  # the networks are too small to gain from a second thread
    collector = settings.collector()
    folder = Path(settings.pool_folder) if settings.pool_folder else pool.default_folder(collector)
    pool.collect(collector, folder, lambda line: print(line, flush=True))
    training = Training(CQL if isinstance(settings, CqlSettings) else BC, settings, folder)
    latest = run.latest_checkpoint()
    wall_s = training.load(latest) if latest is not None else 0.0

    def save(folder: Path) -> None:
        training.save(folder, reporter.wall_s)
        export(training.dense(), settings, run, training.steps, settings.activation)

    reporter = Reporter(settings, run, steps=training.steps, wall_s=wall_s, columns=("policy_loss",))
    with reporter:
        while reporter.done(training.steps) < 1:
            training.update()
            over = reporter.done(training.steps) >= 1
            if training.steps % settings.progress_steps == 0 or over:
                wall = round(reporter.wall_s, 3)
                reporter.row({"steps": training.steps, "wall_s": wall, **training.flush()})
            if training.steps % settings.checkpoint_steps == 0 or over:
                reporter.checkpoint(training.steps, save)
            reporter.leave_if_asked(training.steps, save)
        run.write_summary(
            {
                "agent": settings.agent,
                "engine": settings.engine,
                "steps": training.steps,
                "wall_s": round(reporter.wall_s, 1),
                "pool": str(folder),
                "runs": len(training.transitions),
            }
        )
