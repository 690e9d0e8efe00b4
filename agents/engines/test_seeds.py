"""Runs, processes and resumed runs of the engines play different episodes."""

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.engines.rllib import algorithms
from leogym.agents.engines.sb3.checkpoint import seed_episodes
from leogym.agents.training.episode_batch import Episodes


def test_runs_with_consecutive_seeds_share_no_episode_in_any_engine():
    episodes = 64  # more simulations than a process has
    native: list[int] = []
    ranges: list[int] = []
    for seed in range(40):
        settings = PpoSettings(agent="ppo", seed=seed, num_envs=1)
        draw = Episodes(settings.model_copy(update={"engine": "native"})).scenario
        native += [draw(episode).seed for episode in range(8)]
        rllib = algorithms.make_config(settings.model_copy(update={"engine": "rllib"}), 0).seed
        assert isinstance(rllib, int)
        ranges += [rllib + index for index in range(episodes)]
    assert len(set(native)) == len(native)
    assert len(set(ranges)) == len(ranges)


def test_processes_of_sb3_and_resumed_runs_share_no_episode():
    seeded: list[int] = []

    class Environment:
        def seed(self, seed: int) -> None:
            seeded.extend(seed + index for index in range(64))

    for seed in (1, 2, 3):
        for steps in (0, 100, 200):
            for rank in range(8):
                seed_episodes(Environment(), PpoSettings(agent="ppo", seed=seed), steps, rank)  # type: ignore[arg-type]
    assert len(set(seeded)) == len(seeded) == 3 * 3 * 8 * 64
