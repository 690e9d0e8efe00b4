"""A policy contains what each wrapper does, or the wrapper is refused by name.

The oracle is the simulator: what it observed and what arrived there while a network steered the environment.
"""

import inspect

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import wrappers as single
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import vector
from stable_baselines3.common import atari_wrappers, monitor, vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnvWrapper, VecNormalize
from torch import nn

from leogym.agents.export import comparison, models, probing, save_policy
from leogym.agents.export.layers import Copies
from leogym.agents.export.network import Actor, Network
from leogym.common.errors import InputError
from leogym.envs.flow import FlowEnv, FlowVectorEnv
from leogym.envs.interface import simulations
from leogym.envs.parallel import FlowsParallelEnv, parallel_env
from leogym.envs.rllib import MultiFlowEnv
from leogym.envs.sb3 import LeoVecEnv
from leogym.envs.stepped_batch import SteppedBatch
from tests.support import custom_wrappers as own
from tests.support.custom_wrappers import HALF, TENTH, Doubled, HalfOf, Halved, StepOnly, TenthOf

SHORT = {
    "duration_s": 0.5,
    "links": {"b": {"rate_mbps": 5.0, "delay_ms": 15.0, "queue": {"bdp": 2.0}}},
    "flows": [{"scheme": "agent", "route": ["b"]}],
}
STEPS = 40  # more than two episodes


def flow() -> FlowEnv:
    return FlowEnv(scenario=SHORT, render_mode="rgb_array")


def batch() -> FlowVectorEnv:
    return FlowVectorEnv(2, SHORT, render_mode="rgb_array")


def sb3() -> LeoVecEnv:
    return LeoVecEnv(2, SHORT, render_mode="rgb_array")


def network() -> Network:
    torch.manual_seed(3)
    linear = nn.Linear(50, 1)
    return Network(linear, lambda x: (linear(x),))


def freeze(env) -> None:
    while env is not None:
        for name in ("update_running_mean", "training"):
            if isinstance(getattr(type(env), name, vars(env).get(name)), bool | property):
                setattr(env, name, False)
        env = getattr(env, "env", None) or vars(env).get("venv")


def base(env):
    """Return our environment behind wrappers and vectors."""
    while simulations(env) is None:
        env = env.envs[0] if "envs" in vars(env) else vars(env).get("venv") or env.env
    return env


def play(env, module: nn.Module) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what the simulator observed, and the action that arrived there, in each step."""
    freeze(env)
    simulated = simulations(base(env)).batch
    stable, rows = hasattr(env, "step_wait"), getattr(env, "num_envs", 0)
    out = env.reset()
    seen = out if stable else out[0]
    pairs = []
    for _ in range(STEPS):
        before = simulated.observations[0, 0].copy()
        given = torch.as_tensor(np.asarray(seen, np.float32).reshape(max(1, rows), -1))
        with torch.no_grad():
            action = module(given).numpy()
        space = getattr(env, "single_action_space", env.action_space)
        action = action.astype(space.dtype) if isinstance(space, gymnasium.spaces.Box) else action
        seen, _, *ends, _ = env.step(action if rows else action[0])
        if len(taken := simulated.actions(0)):
            pairs.append((before, np.clip(taken[-1, 0], -1, 1)))
        if not rows and any(ends):
            seen, _ = env.reset()
    assert len(pairs) > STEPS // 2
    return pairs


def outcome(env, name: str) -> str:
    """Return whether the wrapper ``name`` is exported or refused; fail if it is passed over."""
    made = network()
    try:
        before, after = models.wrapper_steps(env, Copies())
    except InputError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        assert refusal.startswith(f"env: {name}: ")
        assert "\n" not in refusal
        return "refused"
    actor = Actor(made, before, after, {})
    for observed, arrived in play(env, made.module):
        with torch.no_grad():
            (action,) = actor(torch.from_numpy(observed[None]))
        np.testing.assert_allclose(action[0].numpy(), arrived, atol=2e-5)
    return "exported"


def classes(module, base_class) -> list[type]:
    names = getattr(module, "__all__", None) or dir(module)
    made = {}
    for name in names:
        try:
            value = getattr(module, name)
        except ImportError:  # needs a package that is not installed
            continue
        if inspect.isclass(value) and issubclass(value, base_class) and value is not base_class:
            made[name] = value
    return list(made.values())


PICTURES = {
    *("AtariPreprocessing", "GrayscaleObservation", "ResizeObservation", "VecTransposeImage", "WarpFrame"),
    *("AtariWrapper", "EpisodicLifeEnv", "FireResetEnv", "NoopResetEnv", "StickyActionEnv"),
}
"""Of picture observations or games."""
DICTIONARIES = {"FilterObservation", "VecExtractDictObs"}
"""Of dictionaries, which our environments do not have."""
DRAWING = {
    *("AddWhiteNoise", "HumanRendering", "ObstructView", "RecordVideo", "RenderCollection"),
    "VecVideoRecorder",
}
"""Of frames only."""
LOW, HIGH = np.full(50, -1, np.float32), np.full(50, 1, np.float32)
MADE = {
    "AddWhiteNoise": lambda kind, env, folder: kind(env, 0.5),
    "ClipReward": lambda kind, env, folder: kind(env, -1.0, 1.0),
    "DelayObservation": lambda kind, env, folder: kind(env, 2),
    "DiscretizeAction": lambda kind, env, folder: kind(env, 5),
    "DiscretizeObservation": lambda kind, env, folder: kind(env, 5, multidiscrete=True),
    "DtypeObservation": lambda kind, env, folder: kind(env, np.float64),
    "FrameStackObservation": lambda kind, env, folder: kind(env, 2),
    "MaxAndSkipEnv": lambda kind, env, folder: kind(env, 2),
    "MaxAndSkipObservation": lambda kind, env, folder: kind(env, 2),
    "ObstructView": lambda kind, env, folder: kind(env, 0.5, 4),
    "RecordVideo": lambda kind, env, folder: kind(env, folder),
    "RescaleAction": lambda kind, env, folder: kind(env, np.float32(0), np.float32(1)),
    "RescaleObservation": lambda kind, env, folder: kind(env, LOW, HIGH),
    "ReshapeObservation": lambda kind, env, folder: kind(env, (5, 10)),
    "StickyAction": lambda kind, env, folder: kind(env, 0.25),
    "TimeAwareObservation": lambda kind, env, folder: kind(single.TimeLimit(env, 7)),
    "TimeLimit": lambda kind, env, folder: kind(env, 7),
    "TransformReward": lambda kind, env, folder: kind(env, lambda reward: 2 * reward),
    "VecFrameStack": lambda kind, env, folder: kind(env, 2),
    "VecVideoRecorder": lambda kind, env, folder: kind(env, folder, lambda step: False),
    "VectorizeTransformAction": lambda kind, env, folder: kind(env, single.TransformAction, **HALVES),
    "VectorizeTransformObservation": lambda kind, env, folder: kind(
        env, single.TransformObservation, **TENTHS
    ),
    "VectorizeTransformReward": lambda kind, env, folder: kind(
        env, single.TransformReward, func=lambda reward: 2 * reward
    ),
}
"""How a wrapper that needs arguments is made."""
HALVES = {"func": lambda action: action * HALF, "action_space": None}
TENTHS = {"func": lambda seen: seen * TENTH, "observation_space": None}
REFUSED = {
    *("AddRenderObservation", "DelayObservation", "DiscretizeAction", "DiscretizeObservation"),
    *("FrameStackObservation", "MaxAndSkipEnv", "MaxAndSkipObservation", "ReshapeObservation"),
    *("StickyAction", "TimeAwareObservation", "VecFrameStack"),
}
WRAPPERS = [
    *((flow, kind) for kind in classes(single, gymnasium.Wrapper)),
    *((flow, kind) for kind in (*classes(atari_wrappers, gymnasium.Wrapper), monitor.Monitor)),
    *((batch, kind) for kind in classes(vector, gymnasium.vector.VectorWrapper)),
    *((sb3, kind) for kind in classes(vec_env, VecEnvWrapper)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "kind"),
    WRAPPERS,
    ids=lambda value: value.__name__ if inspect.isfunction(value) else value.__qualname__,
)
def test_every_wrapper_of_gymnasium_and_stable_baselines3_is_in_the_policy_or_refused(make, kind, tmp_path):
    name = kind.__name__
    if name in PICTURES | DICTIONARIES:
        pytest.skip("wraps no flow")
    if name == "TransformAction":
        env = kind(make(), **HALVES)
    elif name == "TransformObservation":
        env = kind(make(), **TENTHS)
    else:
        env = MADE.get(name, lambda kind, env, folder: kind(env))(kind, make(), str(tmp_path))
    if name in DRAWING:
        assert models.wrapper_steps(env, Copies()) == ([], [])
        return
    if vars(env).get("obs_rms") is not None:
        # Statistics of some steps, which a policy keeps as they are.
        env.reset()
        for _ in range(12):
            env.step(np.full(env.action_space.shape if make is not sb3 else (2, 1), 0.5, np.float32))
    assert outcome(env, name) == ("refused" if name in REFUSED else "exported")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "kind", "expected"),
    [
        *((flow, kind, "exported") for kind in (StepOnly, own.Shaped, Halved)),
        *((flow, kind, "refused") for kind in (own.NotAtReset, own.Squared, own.Twice, own.Averaged)),
        *((flow, kind, "refused") for kind in (own.Cautious, own.Echo, own.Root, own.Mixed)),
        *((flow, kind, "refused") for kind in (own.Noise, own.Locked, own.Choosy)),
        *((sb3, kind, "exported") for kind in (TenthOf, HalfOf)),
        (batch, own.Centred, "refused"),
        (batch, Doubled, "exported"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_wrapper_of_ones_own_is_in_the_policy_or_refused(make, kind, expected):
    assert outcome(kind(make()), kind.__name__) == expected


def test_wrappers_in_and_around_vectors_act_in_their_order():
    stacked = SyncVectorEnv([lambda: StepOnly(single.ClipAction(flow()))] * 2)
    assert outcome(vector.TransformAction(Doubled(stacked), lambda a: a * HALF), "") == "exported"
    inside = DummyVecEnv([lambda: Halved(StepOnly(flow()))] * 2)
    normal = VecNormalize(TenthOf(inside), clip_obs=0.5)
    normal.reset()
    for _ in range(30):
        normal.step(np.full((2, 1), 0.5, np.float32))
    assert outcome(HalfOf(normal), "") == "exported"


def test_statistics_of_numbers_that_never_vary_do_not_hinder():
    env = VecNormalize(sb3())
    env.obs_rms.mean, env.obs_rms.var = np.full(50, 1.0 / 3), np.full(50, 1e-12)
    assert outcome_of_rounding(env) < 1e-2
    wrapped = single.NormalizeObservation(flow())
    wrapped.obs_rms.mean, wrapped.obs_rms.var = np.full(50, 5 / 3), np.full(50, 1e-12)
    assert outcome_of_rounding(wrapped) < 1e-2


def outcome_of_rounding(env) -> float:
    """Return how far a policy's inputs are from what ``env`` shows, relative to their size or 1."""
    before, _ = models.wrapper_steps(env, Copies())
    freeze(env)
    out = env.reset()
    seen = np.reshape(out if hasattr(env, "step_wait") else out[0], (-1, 50))[0]
    observed = simulations(base(env)).batch.observations[0, :1]
    inputs = nn.Sequential(*before)(torch.from_numpy(observed)).numpy()[0]
    return float(np.max(np.abs(inputs - seen) / np.maximum(1, np.abs(seen))))


def test_what_is_no_wrapper_that_is_known_is_refused_by_name():
    from pettingzoo.utils.wrappers import BaseParallelWrapper

    for env in (BaseParallelWrapper(parallel_env(SHORT)), SubprocVecEnv([flow], start_method="fork")):
        with pytest.raises(
            InputError, match=rf"^env: {type(env).__name__}: is not an environment of this pack"
        ):
            models.wrapper_steps(env, Copies())
        env.close()


def test_the_environment_and_its_wrappers_stay_as_they_are():
    env = single.NormalizeObservation(StepOnly(flow()))
    env.reset(seed=1)
    for _ in range(10):
        env.step(np.ones(1, np.float32))
    simulated, count = simulations(base(env)).batch, env.obs_rms.count
    actions, mean = simulated.actions(0).copy(), env.obs_rms.mean.copy()
    outcome_of = models.wrapper_steps(env, Copies())
    assert len(outcome_of[0]) == 2
    assert (env.obs_rms.count, env.update_running_mean) == (count, True)
    np.testing.assert_array_equal(env.obs_rms.mean, mean)
    np.testing.assert_array_equal(simulated.actions(0), actions)


@pytest.mark.parametrize("constant", [False, True])
def test_flows_that_come_and_go_are_compared_while_they_run(constant, tmp_path, monkeypatch):
    flows = [{"stop_s": 0.4}, {"start_s": 0.2}, {"start_s": 0.3, "stop_s": 0.6}]
    scenario = {
        **SHORT,
        "duration_s": 1.0,
        "flows": [{"scheme": "agent", "route": ["b"], **changes} for changes in flows],
    }
    arguments = {"scenario": scenario, "constant_agents": constant}
    linear, compared = network().module, []
    monkeypatch.setattr(
        comparison, "within", lambda *values: compared.append(probing.within(*values)) or compared[-1]
    )
    for number, env in enumerate((parallel_env(**arguments), MultiFlowEnv(arguments))):
        save_policy(linear, tmp_path / str(number), env)
    assert len(compared) == 2 * comparison.STEPS
    step = FlowsParallelEnv.step
    monkeypatch.setattr(
        FlowsParallelEnv, "step", lambda self, actions: step(self, {n: -a for n, a in actions.items()})
    )
    with pytest.raises(InputError, match=r"^env: \w+: the network's actions differ by"):
        save_policy(linear, tmp_path / "wrong", parallel_env(**arguments))


def test_real_tcp_which_cannot_be_copied_has_a_twin_on_simulations(monkeypatch):
    env = FlowEnv(scenario=SHORT, agent="orca", interval_ms=20.0, actions=5, normalize_observations=True)
    monkeypatch.setattr(SteppedBatch, "repeatable", property(lambda self: False))
    twin = Copies().of(env)
    assert twin is not env
    assert (type(twin), twin.action_space) == (FlowEnv, env.action_space)
    kept = ("agent", "interval_ms", "normalize_observations")
    given, made = simulations(env).arguments, simulations(twin).arguments
    assert [made[name] for name in kept] == [given[name] for name in kept]


class Overridden(FlowEnv):
    """An environment of one's own, whose observations are not the simulator's."""

    def step(self, action):
        seen, *rest = super().step(action)
        return seen * TENTH, *rest


class Flipped(FlowEnv):
    def step(self, action):
        return super().step(-action)


class Rewarded(FlowEnv):
    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, 2 * reward, *rest


def test_the_comparison_sees_what_no_wrapper_explains(tmp_path, monkeypatch):
    linear = network().module
    for kind, what in ((Overridden, "inputs"), (Flipped, "actions")):
        with pytest.raises(InputError, match=rf"^env: {kind.__name__}: the network's {what} differ by "):
            save_policy(linear, tmp_path / "policy", kind(scenario=SHORT))
        assert not (tmp_path / "policy").exists()
    save_policy(linear, tmp_path / "harmless", Rewarded(scenario=SHORT))
    # A wrapper that the export would leave out.
    monkeypatch.setattr(models, "steps_of", lambda *_: ([], []))
    for env, name, what in (
        (StepOnly(flow()), "StepOnly", "inputs"),
        (Halved(flow()), "Halved", "actions"),
        (TenthOf(sb3()), "TenthOf", "inputs"),
        (HalfOf(sb3()), "HalfOf", "actions"),
        (Doubled(batch()), "Doubled", "inputs"),
        (SyncVectorEnv([lambda: Halved(flow())]), "SyncVectorEnv of Halved", "actions"),
    ):
        with pytest.raises(InputError, match=rf"^env: {name} of \w+: the network's {what} differ by "):
            save_policy(linear, tmp_path / "policy", env)
        assert not (tmp_path / "policy").exists()
