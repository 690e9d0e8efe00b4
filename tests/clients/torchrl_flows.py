"""Roll out TorchRL's wrappers of PettingZoo and Gymnasium; print the number of agents."""

from torchrl.envs.libs.gym import GymEnv
from torchrl.envs.libs.pettingzoo import PettingZooWrapper

import leogym  # noqa: F401 (registers the ids)
from leogym.envs.parallel import parallel_env

if __name__ == "__main__":
    assert GymEnv("leo/SingleFlow-v0").rollout(20).batch_size[0] == 20
    link = {"sampler": "leo", "flows": 2, "duration_s": 3.0}
    env = PettingZooWrapper(parallel_env(scenario=link, constant_agents=True))
    data = env.rollout(20)
    (group,) = env.group_map
    print(f"{data[group, 'observation'].shape[1]} agents")
