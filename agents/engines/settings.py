"""Settings shared by the algorithms of Stable-Baselines3 and RLlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from leogym.agents.clone.settings import CloneSettings, PoolRanges
from leogym.agents.training.settings import Count, Engine, Fraction, RewardText, Size, TrainSettings, Width
from leogym.common.strict import NonNegative, Positive

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class Sb3Settings(TrainSettings):
    """Settings that `agents.engines.sb3.loop` and `agents.engines.rllib.online` need."""

    engine: Engine = "sb3"

    learning_rate: Positive = 3e-4
    gamma: Fraction = 0.98
    hidden: list[Width] = Field(default=[64, 64], min_length=1)
    """Widths of the hidden layers of actor and critic, with ``activation`` between them."""
    activation: Literal["leaky_relu", "tanh"] = "leaky_relu"
    policies: Literal["shared", "separate"] = "shared"
    """With rllib, whether all flows share one policy or each has its own by its number. ``policy/`` and
    ``best/`` hold the first policy, ``policies/`` and ``best/policies/`` all of them."""
    reward_scale: Positive = 1.0
    """Factor on the rewards that sb3 learns from, for values in its critic's range; progress.csv has unscaled
    rewards."""

    @model_validator(mode="after")
    def _a_policy_for_each_flow(self) -> Sb3Settings:
        judged, trained = self.for_held_out().scenarios, self.scenarios
        if self.policies == "separate" and judged.max_learning_flows > trained.max_learning_flows:
            raise ValueError(
                f"held_out_scenarios: flows: up to {judged.max_learning_flows} learn, but policies: separate "
                f"trains {trained.max_learning_flows}"
            )
        return self

    def wrap(self, environment: VecEnv) -> VecEnv:
        """Return ``environment`` as the algorithm should see it; rewards are scaled afterwards."""
        return environment


class ReplaySettings(Sb3Settings):
    """Settings of SAC, which TD3 and TQC extend; defaults follow Haarnoja et al. (2018)."""

    tau: Fraction = 0.005
    """Share of the online weights in the target weights' moving average."""
    batch_size: Size = 256
    memory: Size = 100_000
    """Capacity of the replay buffer in transitions."""
    learning_starts: Count = 1_000
    """Environment steps before the first update; until then actions are random."""
    train_every: Count = 1
    """Monitor intervals between trainings."""
    updates_per_training: Count = 1


class TqcSettings(ReplaySettings):
    """Settings of TQC; defaults follow Kuznetsov et al. (2020)."""

    quantiles: Width = 25
    """Per critic."""
    dropped_quantiles: Width = 2
    """Highest quantiles of each critic to drop, against overestimation."""


class Td3Settings(ReplaySettings):
    """Settings of TD3; defaults follow Fujimoto et al. (2018)."""

    policy_delay: Count = 2
    """Critic updates per update of the actor and the targets."""
    target_noise: NonNegative = 0.2
    """Standard deviation of the target policy's smoothing noise, in actions."""
    target_noise_clip: NonNegative = 0.5
    exploration_noise: NonNegative = 0.1
    """Standard deviation, in actions."""


class OfflineSettings(Sb3Settings):
    """Settings of behavioural cloning, which CQL extends.

    There is no environment: all step counts are updates, and ``scenarios`` is not used.
    """

    engine: Engine = "rllib"
    spec: str = "sage"
    reward: RewardText = "sage"
    interval_ms: Positive = 10.0

    pool: PoolRanges = PoolRanges()
    pool_folder: str | None = None
    """The pool's folder; by default the same as for training a clone."""
    resident: Size = 512
    """Runs in memory at a time; if the pool has more, each update replaces one."""
    batch_size: Size = 256

    progress_steps: Count = 500
    checkpoint_steps: Count = 5_000

    def collector(self) -> CloneSettings:
        """Return the settings with which the pool is collected."""
        shared = {name: getattr(self, name) for name in ("pool", "pool_folder", "seed", "workers")}
        return CloneSettings(
            agent="clone", spec=self.spec, reward=self.reward, interval_ms=self.interval_ms, **shared
        )


class CqlSettings(OfflineSettings):
    """Settings of CQL; defaults follow Kumar et al. (2020)."""

    learning_rate: Positive = 1e-4
    critic_learning_rate: Positive = 3e-4
    tau: Fraction = 0.005
    """Share of the online weights in the target weights' moving average."""
    conservatism: NonNegative = 5.0
    """Weight of the term that lowers the values of actions outside the pool."""
    cloning_steps: Count = 1_000
    """Updates in which the actor imitates before it follows the critics."""
