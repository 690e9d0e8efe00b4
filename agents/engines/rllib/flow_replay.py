"""A replay buffer of RLlib for episodes whose agents come and go."""

from __future__ import annotations

from typing import Any

from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.replay_buffers.multi_agent_episode_buffer import MultiAgentEpisodeReplayBuffer


class FlowReplayBuffer(MultiAgentEpisodeReplayBuffer):
    """RLlib 2.60's buffer, which fails on an agent that joins with the last step of a sampled fragment.

    The next fragment then has a reward of 0 for the agent and no action that it would be of, and the buffer
    looks for that action when it puts both fragments together. That reward is none, and is left out.
    """

    def add(self, episodes: Any) -> None:
        """Take fragments of episodes, and put them together with those that are here."""
        for episode in episodes if isinstance(episodes, list) else [episodes]:
            if isinstance(episode, MultiAgentEpisode):
                leave_out_rewards_of_nothing(episode)
        super().add(episodes)


def leave_out_rewards_of_nothing(episode: MultiAgentEpisode) -> None:
    """Remove rewards of 0 that wait for the observation after an action which was never taken."""
    rewards, actions = episode._hanging_rewards_end, episode._hanging_actions_end
    for agent in [agent for agent in rewards if agent not in actions and not rewards[agent]]:
        del rewards[agent]
