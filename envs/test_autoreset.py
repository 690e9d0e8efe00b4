"""Ends of episodes of the native vector environment, beside Gymnasium's over single environments."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, VectorEnv

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.flow import FlowVectorEnv
from leogym.envs.test_flow import SHORT, static

SIZE, STEPS = 4, 150
LIMITS = [None, 17]


def pair(mode: AutoresetMode, limit: int | None) -> tuple[VectorEnv, VectorEnv]:
    """Return the native vector environment and Gymnasium's over the single one."""
    arguments: dict[str, Any] = {"num_envs": SIZE, "scenario": SHORT}
    if limit is not None:
        arguments["max_episode_steps"] = limit
    native = gymnasium.make_vec(envs.FLOW_ID, autoreset_mode=mode, **arguments)
    oracle = gymnasium.make_vec(
        envs.FLOW_ID, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **arguments
    )
    return native, oracle


def same(first: tuple, second: tuple) -> bool:
    return all(data_equivalence(value, other, exact=True) for value, other in zip(first, second, strict=True))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("mode", AutoresetMode)
def test_every_mode_equals_gymnasiums_step_for_step(mode, limit):
    native, oracle = pair(mode, limit)
    assert native.metadata["autoreset_mode"] is mode
    assert FlowVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert same(native.reset(seed=7), oracle.reset(seed=7))
    native.action_space.seed(1)
    ends = np.zeros(2, dtype=int)
    for _ in range(STEPS):
        actions = native.action_space.sample()
        native_step, oracle_step = native.step(actions), oracle.step(actions)
        assert same(native_step, oracle_step)
        ended = native_step[2] | native_step[3]
        ends += [native_step[2].sum(), native_step[3].sum()]
        if mode is AutoresetMode.DISABLED and ended.any():
            assert same(*(env.reset(options={"reset_mask": ended.copy()}) for env in (native, oracle)))
    assert (ends > 3).all(), "too few episodes ended to compare how they end"


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_mask_resets_only_its_environments_at_any_time(mode):
    native, oracle = pair(mode, None)
    assert same(native.reset(seed=7), oracle.reset(seed=7))
    rng = np.random.default_rng(1)
    ended = np.zeros(SIZE, dtype=bool)
    for at in range(STEPS):
        if at % 5 == 0 or (mode is AutoresetMode.DISABLED and ended.any()):
            mask = rng.random(SIZE) < 0.4
            if mode is AutoresetMode.DISABLED:
                mask |= ended
            if mask.any():
                seed = [int(number) if number > 50 else None for number in rng.integers(0, 100, SIZE)]
                resets = [
                    env.reset(seed=seed, options={"reset_mask": mask.copy()}) for env in (native, oracle)
                ]
                assert same(*resets)
        actions = rng.uniform(-1, 1, (SIZE, 1)).astype(np.float32)
        native_step, oracle_step = native.step(actions), oracle.step(actions)
        assert same(native_step, oracle_step)
        ended = native_step[2] | native_step[3]


@pytest.mark.parametrize(
    ("mask", "description"),
    [
        ([True, False], "list"),
        (np.array([True]), r"an array \(1,\) of bool, 1 of them true"),
        (np.array([1, 0]), r"an array \(2,\) of int64, 1 of them true"),
        (np.zeros(2, dtype=bool), r"an array \(2,\) of bool, 0 of them true"),
    ],
)
def test_a_wrong_mask_is_named_in_one_line(mask, description):
    env = FlowVectorEnv(2)
    env.reset(seed=1)
    rule = r"must be an array \(2,\) of booleans, at least one of them true$"
    with pytest.raises(InputError, match=f"^options: reset_mask: {description}: {rule}"):
        env.reset(options={"reset_mask": mask})


def test_environments_that_were_never_reset_cannot_be_left_out():
    with pytest.raises(ResetNeeded, match=r"environments \[1\] were never reset"):
        FlowVectorEnv(2).reset(options={"reset_mask": np.array([True, False])})


def test_without_autoreset_a_step_after_the_end_is_refused():
    env = FlowVectorEnv(2, static({}, duration_s=0.3), autoreset_mode="Disabled")
    env.reset(seed=[1, 2])
    actions = np.zeros((2, 1), np.float32)
    truncated = np.zeros(2, dtype=bool)
    while not truncated.any():
        _, _, _, truncated, _ = env.step(actions)
    with pytest.raises(ResetNeeded, match=r"episodes \[0, 1\] are over: reset them by options reset_mask"):
        env.step(actions)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (
            {"autoreset_mode": "later"},
            "autoreset_mode: 'later': unknown .there are: NextStep, SameStep, Disabled",
        ),
        ({"max_episode_steps": 0}, "max_episode_steps: 0: must be an integer of at least 1 .-1: no limit"),
    ],
)
def test_bad_arguments_are_named_in_one_line(arguments, rule):
    with pytest.raises(InputError, match=rule):
        FlowVectorEnv(2, **arguments)


def test_a_wrong_number_of_seeds_is_named_in_one_line():
    with pytest.raises(InputError, match=r"^seed: 3 seeds: must be 2, one per environment$"):
        FlowVectorEnv(2).reset(seed=[1, 2, 3])
