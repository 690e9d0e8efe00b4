"""A saved policy acts as the model does in its library."""

import io
import json

import gymnasium
import leosim
import numpy as np
import pytest
import torch
from gymnasium import wrappers
from gymnasium.vector import SyncVectorEnv
from sb3_contrib import TQC, RecurrentPPO
from stable_baselines3 import DQN, PPO, SAC, TD3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from leogym.agents.export import save_policy
from leogym.common.errors import InputError
from leogym.envs.flow import FlowEnv
from leogym.envs.sb3 import LeoVecEnv
from leogym.evaluation.runs import schemes

SHORT = {
    "duration_s": 3.0,
    "links": {"b": {"rate_mbps": 10.0, "delay_ms": 15.0, "queue": {"bdp": 2.0}}},
    "flows": [{"scheme": "agent", "route": ["b"]}],
}
ROWS = 40


def observations(dim=50, seed=1):
    return np.random.default_rng(seed).uniform(0, 2, (ROWS, dim)).astype(np.float32)


def saved(*arguments, **options):
    """Save a policy as `save_policy` does, and load it."""
    return leosim.Policy.load(str(save_policy(*arguments, **options)))


def outputs(module, seen):
    with torch.no_grad():
        return module(torch.as_tensor(seen))


def close(actions, expected):
    np.testing.assert_allclose(actions, np.asarray(expected).reshape(actions.shape), atol=1e-5)


def predicted(model, seen):
    """Return what the model would do, behind its normalisation, clipped as the simulator does."""
    normal = model.get_vec_normalize_env()
    return model.predict(seen if normal is None else normal.normalize_obs(seen), deterministic=True)[0]


def perturb(module, scale=0.1):
    """Move the weights, so that a fresh network differs from its initialisation."""
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * scale)


@pytest.mark.parametrize("algorithm", [PPO, SAC, TD3, TQC])
def test_a_model_of_stable_baselines3_keeps_its_actions(algorithm, tmp_path):
    model = algorithm("MlpPolicy", LeoVecEnv(1, scenario=SHORT), seed=1, device="cpu")
    perturb(model.policy)
    policy = saved(model, tmp_path / "policy")
    assert (policy.spec, policy.interval_ms) == ("astraea", 30.0)
    seen = observations()
    actions = policy.act(seen)
    close(actions, predicted(model, seen))
    assert np.ptp(actions) > 0.05


def test_statistics_of_vec_normalize_are_part_of_the_policy(tmp_path):
    env = VecNormalize(LeoVecEnv(2, scenario=SHORT, interval_ms=20.0), clip_obs=3.0)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=1, device="cpu").learn(128)
    perturb(model.policy)
    policy = saved(model, tmp_path)
    assert policy.interval_ms == 20.0
    close(policy.act(observations()), predicted(model, observations()))
    plain = PPO("MlpPolicy", LeoVecEnv(1, scenario=SHORT), device="cpu")
    plain.policy.load_state_dict(model.policy.state_dict())
    assert np.abs(policy.act(observations()) - predicted(plain, observations())).max() > 0.01


def test_a_recurrent_model_keeps_its_memory(tmp_path):
    model = RecurrentPPO("MlpLstmPolicy", LeoVecEnv(1, scenario=SHORT), seed=1, device="cpu")
    perturb(model.policy)
    policy = saved(model, tmp_path)
    memories = np.zeros((ROWS, policy.memory_dim), np.float32)
    state = None
    for step in range(4):
        seen = observations(seed=step)
        action, state = model.predict(
            seen, state=state, episode_start=np.full(ROWS, step == 0), deterministic=True
        )
        close(policy.act(seen, memories), action)


@pytest.mark.parametrize("algorithm", [DQN, PPO])
def test_discrete_actions_become_their_levels(algorithm, tmp_path):
    env = DummyVecEnv([lambda: FlowEnv(scenario=SHORT, actions=11)])
    model = algorithm("MlpPolicy", env, seed=1, device="cpu")
    perturb(model.policy, 0.5)
    actions = saved(model, tmp_path).act(observations())
    close(actions, np.linspace(-1, 1, 11)[predicted(model, observations())])
    assert len(np.unique(actions)) > 1


class PpoAgent(nn.Module):
    """The networks of CleanRL's ppo_continuous_action.py."""

    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(50, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor_mean = nn.Sequential(nn.Linear(50, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))


class SacActor(nn.Module):
    """The actor of CleanRL's sac_continuous_action.py."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc_mean, self.fc_logstd = nn.Linear(50, 32), nn.Linear(32, 1), nn.Linear(32, 1)
        self.register_buffer("action_scale", torch.full((1,), 0.8))
        self.register_buffer("action_bias", torch.full((1,), 0.1))

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return self.fc_mean(x), torch.tanh(self.fc_logstd(x))


def cleanrl_env():
    """Return the wrappers of ppo_continuous_action.py."""
    env = FlowEnv(scenario=SHORT)
    env = wrappers.FlattenObservation(env)
    env = wrappers.RecordEpisodeStatistics(env)
    env = wrappers.ClipAction(env)
    env = wrappers.NormalizeObservation(env)
    env = wrappers.TransformObservation(env, lambda seen: np.clip(seen, -2, 2), env.observation_space)
    env = wrappers.NormalizeReward(env)
    return wrappers.TransformReward(env, lambda reward: np.clip(reward, -10, 10))


def test_a_cleanrl_agent_keeps_the_statistics_and_clips_of_its_wrappers(tmp_path):
    envs = SyncVectorEnv([cleanrl_env])
    envs.reset(seed=1)
    for _ in range(60):
        envs.step(envs.action_space.sample())
    agent = PpoAgent()
    policy = saved(agent, tmp_path, envs)
    normal = envs.envs[0].env.env.env
    assert isinstance(normal, wrappers.NormalizeObservation)
    seen = (observations() - normal.obs_rms.mean) / np.sqrt(normal.obs_rms.var + normal.epsilon)
    expected = outputs(agent.actor_mean, np.clip(seen, -2, 2).astype(np.float32))
    close(policy.act(observations()), expected.clamp(-1, 1))


def test_a_cleanrl_actor_squashes_its_mean(tmp_path):
    actor = SacActor()
    policy = saved(actor, tmp_path, FlowEnv(scenario=SHORT))
    mean = torch.tanh(outputs(actor, observations())[0])
    close(policy.act(observations()), mean * 0.8 + 0.1)


def test_a_module_of_rllib_keeps_its_actions(tmp_path):
    from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

    for lstm in (False, True):
        env = FlowEnv(scenario=SHORT)
        module = DefaultPPOTorchRLModule(
            observation_space=env.observation_space,
            action_space=env.action_space,
            model_config=DefaultModelConfig(fcnet_hiddens=[16], use_lstm=lstm, lstm_cell_size=8),
            catalog_class=_catalog(),
        )
        perturb(module)
        policy = saved(module, tmp_path, env)
        memories = np.zeros((ROWS, policy.memory_dim), np.float32)
        state = {name: torch.zeros(ROWS, 1, 8) for name in module.get_initial_state() or {}}
        for step in range(3):
            seen = torch.as_tensor(observations(seed=step))
            batch = {"obs": seen[:, None], "state_in": state} if lstm else {"obs": seen}
            with torch.no_grad():
                out = module.forward_inference(batch)
            inputs, state = out["action_dist_inputs"].reshape(ROWS, 2), out.get("state_out", {})
            close(policy.act(seen.numpy(), memories), inputs[:, :1].clamp(-1, 1))
    module.save_to_path(str(tmp_path / "checkpoint"))
    restored = saved(tmp_path / "checkpoint", tmp_path / "again", env)
    close(restored.act(observations()), policy.act(observations()))


def _catalog():
    from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog

    return PPOCatalog


class Cell(nn.Module):
    """A recurrent module with a state of its own."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(50, 6), nn.Linear(6, 1)

    def forward(self, observation, hidden):
        hidden = self.cell(observation, hidden)
        return self.out(hidden), hidden


def test_a_plain_module_needs_only_specification_and_interval(tmp_path):
    network = nn.Sequential(nn.Linear(50, 8), nn.GELU(), nn.Linear(8, 1))
    policy = saved(network, tmp_path, agent="astraea", interval_ms=40)
    close(policy.act(observations()), outputs(network, observations()).clamp(-1, 1))
    assert "provenance" not in json.loads((tmp_path / "policy.json").read_text())
    assert "No provenance given." in schemes.about("mine", schemes.load_policy(tmp_path))


def test_a_recurrent_module_names_its_states(tmp_path):
    cell = Cell()
    policy = saved(cell, tmp_path, FlowEnv(scenario=SHORT), states={"hidden": (1, 6)})
    memories, hidden = np.zeros((ROWS, 6), np.float32), torch.zeros(ROWS, 6)
    for step in range(3):
        seen = observations(seed=step)
        with torch.no_grad():
            action, hidden = cell(torch.as_tensor(seen), hidden)
        close(policy.act(seen, memories), action.clamp(-1, 1))


def test_normalised_observations_are_part_of_the_policy(tmp_path):
    network = nn.Linear(50, 1)
    env = FlowEnv(scenario=SHORT, normalize_observations=True)
    policy = saved(network, tmp_path, env)
    seen = observations()
    close(policy.act(seen), outputs(network, seen / (1 + np.abs(seen))).clamp(-1, 1))
    plain, _ = FlowEnv(scenario=SHORT).reset(seed=3)
    scaled, _ = env.reset(seed=3)
    close(policy.act(plain[None]), outputs(network, scaled[None]).clamp(-1, 1))


def test_rescaled_actions_and_observations_are_part_of_the_policy(tmp_path):
    env = wrappers.RescaleAction(FlowEnv(scenario=SHORT), np.float32(-0.5), np.float32(1.5))
    network = nn.Linear(50, 1)
    policy = saved(network, tmp_path, env)
    close(policy.act(observations()), (outputs(network, observations()) - 0.5).clamp(-1, 1))


def test_what_cannot_be_exported_is_named_and_nothing_is_written(tmp_path):
    env, network = FlowEnv(scenario=SHORT), nn.Linear(50, 1)

    def error(*arguments, **options):
        with pytest.raises(InputError) as caught:
            save_policy(*arguments, **options)
        assert not (tmp_path / "policy").exists()
        return str(caught.value)

    out = tmp_path / "policy"
    assert error(network, out) == "agent: missing: pass it, or the environment of the training as env"
    assert error("nowhere", out, env).startswith("model: nowhere: is not the folder of a checkpoint")
    assert error(object(), out, env) == "model: object: is of no library that is known here"
    root = wrappers.TransformObservation(env, np.sqrt, env.observation_space)
    said = "env: TransformObservation: changes observations in a way that cannot be exported"
    assert error(network, out, root) == f"{said}: make it the first layer of the network"
    assert error(nn.Linear(9, 1), out, env).startswith(
        "model: Linear: cannot be run on a batch of observations of 50 "
    )
    assert "FrameStackObservation: changes observations" in error(
        network, out, wrappers.FrameStackObservation(env, 2)
    )
    assert error(nn.Linear(50, 2), out, env).startswith("policy.onnx: action: must have 1 numbers, not 2")
    assert error(Noisy(), out, env).startswith("policy.onnx: actions differ by")
    assert error(network, out, gymnasium.make("CartPole-v1")).startswith("env: CartPoleEnv: is not")


class Noisy(nn.Module):
    """Counts its calls, which no file can."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, observation):
        self.calls += 1
        return observation[:, :1] * 0.01 * self.calls


class Recipe(nn.Module):
    """The module that the documentation of Stable-Baselines3 exports for PPO."""

    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, observation):
        return self.policy(observation, deterministic=True)


def recipes():
    """Return each module of the documentation's recipes, and whether torch's second exporter takes it."""
    env = LeoVecEnv(1, scenario=SHORT)
    ppo, sac = (algorithm("MlpPolicy", env, seed=1, device="cpu") for algorithm in (PPO, SAC))
    # The second exporter knows no operator for the checks of torch's distributions.
    yield Recipe(ppo.policy), False
    yield nn.Sequential(sac.actor.latent_pi, sac.actor.mu, nn.Tanh()), True


@pytest.mark.filterwarnings("ignore")
def test_the_recipes_of_stable_baselines3_themselves_make_policies(tmp_path):
    for module, second in recipes():
        perturb(module.eval())
        for dynamo in (False, True) if second else (False,):
            file = io.BytesIO()
            program = torch.onnx.export(
                module,
                (torch.randn(1, 50),),
                None if dynamo else file,
                dynamo=dynamo,
                opset_version=18,
                input_names=["input"],
            )
            content = program.model_proto.SerializeToString() if dynamo else file.getvalue()
            (tmp_path / "policy.onnx").write_bytes(content)
            described = {"agent": "astraea", "observation_dim": 50, "action_dim": 1, "interval_ms": 30}
            (tmp_path / "policy.json").write_text(json.dumps(described))
            out = outputs(module, observations())
            expected = out[0] if isinstance(out, tuple) else out
            close(leosim.Policy.load(str(tmp_path)).act(observations()), expected)
