"""An RLlib replay buffer for episodes whose agents join and leave."""

from typing import Any

from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.replay_buffers.multi_agent_episode_buffer import MultiAgentEpisodeReplayBuffer


class FlowReplayBuffer(MultiAgentEpisodeReplayBuffer):
    """RLlib 2.60's buffer, fixed for an agent that joins at the last step of a sampled fragment.

    The next fragment then has a reward of 0 for the agent without the action, and RLlib's buffer fails to
    find the action when it joins both fragments. This buffer drops that reward.
    """

    def add(self, episodes: Any) -> None:
        """Add fragments of episodes, joined with the stored ones."""
        for episode in episodes if isinstance(episodes, list) else [episodes]:
            if isinstance(episode, MultiAgentEpisode):
                leave_out_rewards_of_nothing(episode)
        super().add(episodes)


def leave_out_rewards_of_nothing(episode: MultiAgentEpisode) -> None:
    """Remove pending rewards of 0 that belong to no action."""
    rewards, actions = episode._hanging_rewards_end, episode._hanging_actions_end
    for agent in [agent for agent in rewards if agent not in actions and not rewards[agent]]:
        del rewards[agent]
