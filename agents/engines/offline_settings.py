"""Hyperparameters of algorithms that learn from Sage's pool."""

from leogym.agents.engines.settings import Sb3Settings
from leogym.agents.sage.settings import PoolRanges, SageSettings
from leogym.agents.training.settings import Count, Engine, Fraction, Size
from leogym.common.strict import NonNegative, Positive


class OfflineSettings(Sb3Settings):
    """Settings of behavioural cloning, which CQL extends.

    There is no environment: all step counts are updates, and ``scenarios`` is not used.
    """

    engine: Engine = "rllib"
    spec: str = "sage"
    reward: str = "sage"
    interval_ms: Positive = 10.0

    pool: PoolRanges = PoolRanges()
    pool_folder: str | None = None
    """The pool's folder; by default the same as for Sage's training."""
    resident: Size = 512
    """Runs in memory at a time; if the pool has more, each update replaces one."""
    batch_size: Size = 256

    progress_steps: Count = 500
    checkpoint_steps: Count = 5_000

    def collector(self) -> SageSettings:
        """Return the settings with which Sage collects the pool."""
        shared = {name: getattr(self, name) for name in ("pool", "pool_folder", "seed", "workers")}
        return SageSettings(
            agent="sage", spec=self.spec, reward=self.reward, interval_ms=self.interval_ms, **shared
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
