"""Step SuperSuit's wrappers around both faces; print how many worked."""

import gymnasium
import numpy as np
import supersuit

import leogym  # noqa: F401 (registers the ids)
from leogym.envs.parallel import parallel_env

LINK = {"sampler": "leo", "flows": 2, "duration_s": 3.0}


def flows():
    return parallel_env(scenario=LINK, constant_agents=True)


def single():
    return gymnasium.make("leo/SingleFlow-v0")


def step_parallel(env):
    env.reset(seed=1)
    for _ in range(20):
        env.step({name: env.action_space(name).sample() for name in env.agents})


def step_single(env):
    env.reset(seed=1)
    for _ in range(20):
        env.step(env.action_space.sample())


def step_vector(env):
    env.reset(seed=1)
    space = getattr(env, "single_action_space", env.action_space)
    for _ in range(20):
        env.step(np.array([space.sample() for _ in range(env.num_envs)]))


def vector():
    return supersuit.pettingzoo_env_to_vec_env_v1(flows())


WORKING = [
    (step_parallel, lambda: supersuit.normalize_obs_v0(flows())),
    (step_parallel, lambda: supersuit.frame_stack_v1(flows(), 3)),
    (step_parallel, lambda: supersuit.clip_actions_v0(flows())),
    (step_parallel, lambda: supersuit.black_death_v3(flows())),
    (step_parallel, lambda: supersuit.max_observation_v0(flows(), 2)),
    (step_parallel, lambda: supersuit.dtype_v0(flows(), "float64")),
    (step_vector, vector),
    (step_vector, lambda: supersuit.concat_vec_envs_v1(vector(), 2, base_class="gymnasium")),
    (step_vector, lambda: supersuit.concat_vec_envs_v1(vector(), 2, num_cpus=2, base_class="gymnasium")),
    (step_vector, lambda: supersuit.gym_vec_env_v0(single(), 2)),
    (step_single, lambda: supersuit.normalize_obs_v0(single())),
    (step_single, lambda: supersuit.frame_stack_v1(single(), 3)),
]

if __name__ == "__main__":
    for step, make in WORKING:
        step(make())
    print(f"{len(WORKING)} wrappers")
