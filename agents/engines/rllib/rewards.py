"""Logs rewards before episodes end; RLlib's own means need whole episodes, which may outlast a row."""

import math
from collections.abc import Mapping
from typing import Any

from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

SUM, COUNT = "flow_reward_sum", "flow_reward_count"


class FlowRewards(RLlibCallback):
    """Logs the rewards of every sampled fragment over its flows and intervals."""

    def on_sample_end(self, *, metrics_logger: Any = None, samples: Any, **kwargs: Any) -> None:
        """Log the sum and number of the rewards in ``samples``, a list of episodes."""
        records = [
            record
            for episode in samples
            for record in (
                episode.agent_episodes.values() if isinstance(episode, MultiAgentEpisode) else [episode]
            )
        ]
        rewards = [float(reward) for record in records for reward in record.get_rewards()]
        metrics_logger.log_value(SUM, math.fsum(rewards), reduce="sum")
        metrics_logger.log_value(COUNT, len(rewards), reduce="sum")


class Rewards:
    """The mean reward per flow and interval since the last row."""

    def __init__(self, total: float = 0.0, count: float = 0.0) -> None:
        self._sum, self._count = total, count

    def state(self) -> list[float]:
        """Return the arguments of another that goes on from here."""
        return [self._sum, self._count]

    def add(self, sampled: Mapping[str, Any]) -> None:
        """Add the results of an iteration's env runners."""
        total, count = (float(sampled.get(name, math.nan)) for name in (SUM, COUNT))
        if math.isfinite(total) and math.isfinite(count):
            self._sum, self._count = self._sum + total, self._count + count

    def flush(self) -> float:
        """Return and reset the mean, nan if nothing was sampled."""
        mean = self._sum / self._count if self._count else math.nan
        self._sum, self._count = 0.0, 0.0
        return mean
