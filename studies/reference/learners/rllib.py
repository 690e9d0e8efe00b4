"""PPO of RLlib, which samples and learns in this process.

A checkpoint has weights and optimisers; a training that continues from it begins new episodes.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import leosim
import numpy as np
import ray
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig

from leogym.agents.export import save_policy
from leogym.envs.rllib import MultiFlowEnv
from leogym.envs.seeding import mixed
from studies.reference.learners.tasks import Policy, Task


class RllibLearner:
    """The algorithm and its checkpoints."""

    def __init__(
        self, algorithm: str, of: Task, hyperparameters: Mapping[str, Any], seed: int, steps: int = 0
    ) -> None:
        _start()
        arguments = dict(hyperparameters)
        num_envs = arguments.pop("n_envs", 1)
        config: Any = PPOConfig().env_runners(num_env_runners=0).debugging(log_level="ERROR")
        if of.flows > 1:
            config.environment(MultiFlowEnv, env_config=of.arguments)
            config.multi_agent(policies={"flow"}, policy_mapping_fn=_only_module)
        else:
            config.environment(f"leogym:{of.id}")
            config.env_runners(num_envs_per_env_runner=num_envs)
        # Consecutive seeds would share episodes; after a resume, episodes are new ones.
        config.debugging(seed=mixed([seed, steps], bits=31))
        config.training(**arguments)
        self._task, self.steps = of, steps
        self.algorithm = config.build_algo()

    def learn_until(self, steps: int) -> None:
        """Train to the first end of an iteration at or after ``steps``."""
        before = self._sampled()
        first = self.steps
        while self.steps < steps:
            self.algorithm.train()
            self.steps = first + self._sampled() - before

    def _sampled(self) -> int:
        metrics = self.algorithm.metrics.peek(("env_runners", "num_env_steps_sampled_lifetime"), default=0)
        return int(metrics)

    def policy(self, rows: int) -> Policy:
        """Return the exported policy."""
        with tempfile.TemporaryDirectory() as folder:
            if self._task.flows > 1:
                save_policy(self.algorithm, folder, agent="astraea", interval_ms=30)
            else:
                save_policy(self.algorithm, folder, f"leogym:{self._task.id}")
            exported = leosim.Policy.load(folder)

        def act(observations: NDArray[np.float32], begins: NDArray[np.bool_]) -> NDArray[Any]:
            return exported.act(observations)

        return act

    def save(self, file: Path) -> None:
        """Write a checkpoint next to ``file``, whose name it then gets."""
        draft = file.with_name(f"{file.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        self.algorithm.save_to_path(draft.absolute())
        (draft / "steps.json").write_text(json.dumps(self.steps), encoding="utf-8")
        shutil.rmtree(file, ignore_errors=True)
        draft.rename(file)

    @classmethod
    def load(cls, file: Path, *arguments: Any) -> Self:
        """Return the learner of the checkpoint ``file``; ``arguments`` are the constructor's."""
        learner = cls(*arguments, steps=json.loads((file / "steps.json").read_text(encoding="utf-8")))
        learner.algorithm.restore_from_path(file.absolute())
        return learner


def _start() -> None:
    if not ray.is_initialized():
        # "local": never the cluster of another program.
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")  # pyright: ignore


def _only_module(agent: Any, *arguments: Any, **named: Any) -> str:
    return "flow"
