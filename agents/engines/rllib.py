"""PPO with parameters shared by all flows, on RLlib's new API stack: ``train.py --agent ppo --engine rllib``.

All learning flows of a scenario act through one policy. ``workers`` above 1 sample in as many Ray processes,
else this process does. A resumed run continues with RLlib's own checkpoint of learner, modules and metrics,
on new episodes.
"""

from __future__ import annotations

import json
import logging
import math
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import torch

# Ray asks a server for usage statistics by default; a training run talks to nobody unasked.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from agents.engines.actor import dense_layers, export, layers
from agents.engines.schedule import Every
from agents.ppo.settings import PpoSettings
from agents.reporter import Reporter
from agents.run_folder import RunFolder
from agents.settings import TrainSettings
from configs.errors import InputError
from envs.rllib import MultiFlowEnv

SHARED = "shared"
"""Name of the module that all flows act through."""

OBJECT_STORE_BYTES = 256 << 20
"""Of a Ray that is started here: rollouts are small, and containers have little shared memory."""

CONNECT_S = 10.0
"""How long a cluster may take to answer."""


class FlowModule(TorchRLModule, ValueFunctionAPI):
    """Actor and critic with separate perceptrons and a free standard deviation."""

    def setup(self) -> None:
        """Build the networks from the spaces and ``model_config``."""
        observation, action = self.observation_space.shape[0], self.action_space.shape[0]
        hidden = self.model_config["hidden"]
        activation = self.model_config["activation"]
        self.actor = layers(observation, hidden, action, activation)
        self.critic = layers(observation, hidden, 1, activation)
        self.log_std = torch.nn.Parameter(torch.zeros(action))

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        mean = torch.tanh(self.actor(batch[Columns.OBS]))
        return {Columns.ACTION_DIST_INPUTS: torch.cat([mean, self.log_std.expand_as(mean)], dim=-1)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return the value of each observation of ``batch``, of shape (batch,)."""
        return self.critic(batch[Columns.OBS]).squeeze(-1)


def to_shared(agent_id: Any, episode: Any, **kwargs: Any) -> str:
    """Return the module that flow ``agent_id`` acts through: every flow the same."""
    return SHARED


def make_config(settings: PpoSettings, steps: int) -> PPOConfig:
    """Return RLlib's configuration for ``settings``; episodes are seeded by seed and ``steps``."""
    runners = settings.workers if settings.workers > 1 else 0
    environment = {
        "scenario": settings.scenarios.model_dump(),
        "agent": settings.spec,
        "backend": settings.backend,
        "reward": settings.reward,
        "interval_ms": settings.interval_ms,
    }
    module = RLModuleSpec(
        module_class=FlowModule,
        model_config={"hidden": list(settings.hidden), "activation": settings.activation},
    )
    return (
        PPOConfig()
        .environment(MultiFlowEnv, env_config=environment)
        .framework("torch")
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=settings.num_envs)
        .training(
            lr=settings.learning_rate,
            gamma=settings.gamma,
            lambda_=settings.gae_lambda,
            clip_param=settings.clip_range,
            entropy_coeff=settings.entropy_coefficient,
            grad_clip=settings.max_gradient_norm,
            grad_clip_by="global_norm",
            train_batch_size_per_learner=settings.rollout_steps * settings.num_envs * max(1, runners),
            minibatch_size=settings.minibatch_size,
            num_epochs=settings.epochs,
            use_kl_loss=False,  # clipping alone, as with the other engine
            vf_clip_param=math.inf,
            vf_loss_coeff=0.5,
        )
        .multi_agent(policies={SHARED}, policy_mapping_fn=to_shared)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={SHARED: module}))
        .debugging(
            # A resumed run must not see the episodes of the run's beginning again.
            seed=int(np.random.SeedSequence([settings.seed, steps]).generate_state(1)[0] >> 1),
            log_level="ERROR",
        )
    )


def start_ray(settings: TrainSettings) -> None:
    """Connect to the cluster that ``settings`` name, or start Ray on this machine, unless Ray runs already.

    Raises:
        InputError: the cluster does not answer.
    """
    if ray.is_initialized():
        return
    # Ray's advice to its developers, such as which of its interfaces is new.
    for name in ("ray", "ray.rllib"):
        logging.getLogger(name).setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if settings.ray_address is None:
        ray.init("local", include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES, **quiet)
        return
    _require_listener(settings.ray_address)
    try:
        ray.init(settings.ray_address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"--ray: {settings.ray_address}: no cluster there: {error}") from None


def _require_listener(address: str) -> None:
    """Check that something listens at ``address``, ``[ray://]host:port``: Ray itself would try for minutes.

    Raises:
        InputError: nothing does.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # "auto" and the like, which Ray knows how to look up
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"--ray: {address}: no cluster there: {error}") from None


def train(settings: TrainSettings, run: RunFolder) -> None:
    """Train until ``settings`` say stop; continue from the latest checkpoint if ``run`` has one.

    A run ends with the iteration in which its steps are complete.
    """
    assert isinstance(settings, PpoSettings)
    torch.set_num_threads(1)  # networks too small for a second thread to help
    ours = not ray.is_initialized()
    start_ray(settings)
    try:
        _train(settings, run)
    finally:
        if ours:
            ray.shutdown()


def _train(settings: PpoSettings, run: RunFolder) -> None:
    latest = run.latest_checkpoint()
    state: dict[str, Any] = {"steps": 0, "wall_s": 0.0, "episodes": 0}
    if latest is not None:
        state = read_state(latest)
    algorithm = make_config(settings, state["steps"]).build_algo()
    assert isinstance(algorithm, PPO)
    if latest is not None:
        algorithm.restore_from_path(str((latest / "rllib").absolute()))

    def checkpoint() -> None:
        run.save_checkpoint(state["steps"], lambda folder: save(algorithm, folder, state))
        export_policy(algorithm, settings, run, state["steps"])
        reporter.checkpointed(state["steps"])

    reporter = Reporter(
        settings, run, steps=state["steps"], wall_s=state["wall_s"], shown=("episode_reward_mean",)
    )
    with reporter:
        row_due = Every(settings.progress_steps, state["steps"])
        checkpoint_due = Every(settings.checkpoint_steps, state["steps"])
        while reporter.done(state["steps"]) < 1:
            result = algorithm.train()
            sampled = result["env_runners"]
            state["steps"] += int(sampled["num_env_steps_sampled"])
            state["episodes"] += int(sampled.get("num_episodes", 0))
            state["wall_s"] = reporter.wall_s
            over = reporter.done(state["steps"]) >= 1
            if row_due.due(state["steps"]) or over:
                reporter.row(make_row(state, result))
            if checkpoint_due.due(state["steps"]) or over:
                checkpoint()
        # Again, for a run that was killed after its last checkpoint and before its export.
        export_policy(algorithm, settings, run, state["steps"])
        run.write_summary({"agent": settings.agent, "engine": settings.engine, **state})
    algorithm.stop()


def make_row(state: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Return a row of progress.csv from RLlib's ``result``; nan for what it does not have yet."""
    sampled = result["env_runners"]
    learned = result.get("learners", {}).get(SHARED, {})
    missing = float("nan")
    return {
        "steps": state["steps"],
        "wall_s": round(state["wall_s"], 3),
        "episodes": state["episodes"],
        # The sum over all flows of an episode, and over its intervals.
        "episode_reward_mean": float(sampled.get("episode_return_mean", missing)),
        "episode_length_mean": float(sampled.get("episode_len_mean", missing)),
        "policy_loss": float(learned.get("policy_loss", missing)),
        "value_loss": float(learned.get("vf_loss", missing)),
        "entropy": float(learned.get("entropy", missing)),
    }


def save(algorithm: PPO, folder: Path, state: dict[str, Any]) -> None:
    """Write ``algorithm`` and the run's counters to ``folder``."""
    algorithm.save_to_path(str((folder / "rllib").absolute()))
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")


def read_state(folder: Path) -> dict[str, Any]:
    """Return the counters that `save` wrote to ``folder``.

    Raises:
        InputError: they cannot be read.
    """
    path = folder / "state.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def export_policy(algorithm: PPO, settings: PpoSettings, run: RunFolder, steps: int) -> None:
    """Write the shared actor of ``algorithm`` as the run's policy."""
    module = algorithm.get_module(SHARED)
    assert isinstance(module, FlowModule)
    export(dense_layers(module.actor), settings, run, steps, settings.activation)
