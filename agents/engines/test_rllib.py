import gc
import importlib
import json
import os
import signal
import socket
import sys
from functools import partial
from types import SimpleNamespace

import leosim
import numpy as np
import pytest
import ray
import torch
from ray.rllib.core.learner.learner_group import LearnerGroup
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

from leogym.agents.baselines.ppo import PpoSettings
from leogym.agents.engines import ray_cluster
from leogym.agents.engines.rllib import algorithms, learner_checkpoint, online
from leogym.agents.engines.rllib.algorithms import FlowReplayBuffer
from leogym.agents.engines.rllib.rewards import FlowRewards, Rewards
from leogym.agents.engines.settings import ReplaySettings
from leogym.agents.engines.test_engines import TINY, exported, observations, rows
from leogym.agents.export import save_policy
from leogym.agents.training import registry
from leogym.agents.training.reporter import Reporter
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import build
from leogym.agents.training.stopping import Stop, Stopped
from leogym.agents.training.test_stopping import Looks
from leogym.common import digests
from leogym.common.cluster import head, joining
from leogym.common.errors import InputError
from leogym.envs import seeding
from leogym.envs.rllib import MultiFlowEnv, SingleFlowEnv

pytestmark = pytest.mark.xdist_group("ray")

COMMON = {key: TINY[key] for key in ("num_envs", "track", "progress_steps", "checkpoint_steps")}
COME_AND_GO = {**TINY["scenarios"], "leave_probability": 0.5, "minimum_life_s": 0.2}
OF = {
    "ppo": {key: TINY[key] for key in ("rollout_steps", "minibatch_size", "epochs", "hidden")},
    "appo": {"rollout_steps": 16, "hidden": [16, 8]},
    "sac": {"learning_starts": 16, "batch_size": 16, "hidden": [16, 8]},
    "dreamerv3": {
        "model_size": "nano", "batch_size": 2, "sequence": 8, "training_ratio": 4.0, "num_envs": 1
    },
}  # fmt: skip


def trained(
    agent: str, path, steps: int, resume: bool = False, stop: Stop | None = None, **changes
) -> RunFolder:
    scheme = registry.get(agent)
    data = {**COMMON, **OF[agent], "agent": agent, "engine": "rllib", "steps": steps}
    settings = build(scheme.settings, "test", {**data, "scenarios": COME_AND_GO, **changes})
    run = RunFolder.open(path, {}) if resume else RunFolder.create(path, settings.to_yaml(), {})
    run.stop = stop or run.stop
    scheme.trainer("rllib")(settings, run)
    return run


@pytest.fixture(autouse=True)
def _no_learner_outlives_its_run():
    """Check that no learner survives: its garbage collection would start another Ray."""
    yield
    # Not isinstance, which reads `__class__`: some libraries' objects raise on it.
    left = [thing for thing in gc.get_objects() if type(thing) is LearnerGroup]
    assert all(group._is_shut_down for group in left)


def means(learner, names) -> dict[str, torch.Tensor]:
    seen = {"obs": torch.from_numpy(observations())}
    with torch.no_grad():
        outputs = {name: learner.module[name].unwrapped().forward_inference(seen) for name in names}
    return {name: output["action_dist_inputs"][:, :1] for name, output in outputs.items()}


@pytest.fixture
def weights(monkeypatch):
    """Collect the mean actions of every exported policy as RLlib's module computes them."""
    seen: list[dict[str, np.ndarray]] = []
    export = online.export_policy

    def remember(algorithm, settings, *rest):
        raw = learner_checkpoint.ask(algorithm, partial(means, names=algorithms.builder(settings).modules))
        # SAC's module returns the mean before tanh.
        squashed = "sac" in settings.agent
        seen.append({name: (torch.tanh(mean) if squashed else mean).numpy() for name, mean in raw.items()})
        export(algorithm, settings, *rest)

    monkeypatch.setattr(online, "export_policy", remember)
    return seen


@pytest.mark.local_ray
@pytest.mark.parametrize("agent", ["ppo", "appo", "sac"])
def test_rllib_trains_checkpoints_exports_and_resumes(agent, tmp_path, weights):
    run = trained(agent, tmp_path / "run", 64)
    steps = [int(row["steps"]) for row in rows(run)]
    assert steps[-1] >= 64
    latest = run.latest_checkpoint()
    assert latest is not None
    assert latest.name == f"{steps[-1]:012d}"
    assert np.isfinite([float(row["policy_loss"]) for row in rows(run)][-1])
    assert np.isfinite([float(row["reward"]) for row in rows(run)]).all()
    np.testing.assert_allclose(exported(run), weights[-1]["shared"], atol=1e-5)

    before = exported(run)
    run = trained(agent, tmp_path / "run", steps[-1] + 32, resume=True)
    more = [int(row["steps"]) for row in rows(run)]
    assert more[: len(steps)] == steps
    assert len(more) > len(steps)
    after = exported(run)
    assert not np.array_equal(after, before)
    # Small updates, the more of them the more steps were sampled: the weights were restored, not redrawn.
    assert np.abs(after - before).max() < 0.1 * (more[-1] - steps[-1]) / 32


def shared_weights(learner) -> torch.Tensor:
    module = learner.module["shared"].unwrapped()
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


@pytest.mark.local_ray
def test_ppo_learns_in_as_many_processes_as_sample_until_one_is_killed(tmp_path, weights, monkeypatch):
    learned, updated, restored = [], [], []
    save, iterate = online.save, online.iterate
    path = tmp_path / "run"

    def remember(algorithm, *rest):
        learned.append(learner_checkpoint.tell(algorithm, shared_weights))
        save(algorithm, *rest)

    def restore_and_kill_one(algorithm):
        result = iterate(algorithm)
        checkpoint = RunFolder(path, {}).checkpoint_path(128)
        if checkpoint.exists():
            updated.extend(learner_checkpoint.tell(algorithm, shared_weights))
            learner_checkpoint.restore(algorithm, checkpoint)
            restored.extend(learner_checkpoint.tell(algorithm, shared_weights))
            _, second = learner_checkpoint.tell(algorithm, lambda learner: os.getpid())
            os.kill(second, signal.SIGKILL)
        return result

    monkeypatch.setattr(online, "save", remember)
    monkeypatch.setattr(online, "iterate", restore_and_kill_one)
    # Each of the four processes imports RLlib, so there is a single run: it restores its checkpoint itself.
    with pytest.raises(InputError, match=r"^--workers: a Ray learner process ended$"):
        trained("ppo", path, 1_000, workers=2)
    run = RunFolder(path, {})
    # A rollout is 16 intervals of 2 simulations in each process.
    assert [row["steps"] for row in rows(run)][:2] == ["64", "128"]
    np.testing.assert_allclose(exported(run), weights[-1]["shared"], atol=1e-5)
    first, last = learned[:2]
    assert torch.equal(*first)
    assert torch.equal(*last)
    assert torch.equal(*updated)
    assert not torch.equal(first[0], last[0])
    assert not torch.equal(last[0], updated[0])
    assert all(torch.equal(last[0], weights_of_learner) for weights_of_learner in restored)
    latest = run.latest_checkpoint()
    assert latest is not None
    assert int(latest.name) >= 128


@pytest.mark.local_ray
def test_each_flow_may_have_a_policy_of_its_own(tmp_path, weights, monkeypatch):
    said, save = [], online.save

    def saved(algorithm, *rest):
        env = MultiFlowEnv({"scenario": COME_AND_GO})
        with pytest.raises(InputError) as caught:
            save_policy(algorithm, tmp_path / "none", env)
        said.append(str(caught.value))
        save_policy(algorithm.get_module("flow_1"), tmp_path / "second", env)
        save(algorithm, *rest)

    monkeypatch.setattr(online, "save", saved)
    run = trained("ppo", tmp_path / "run", 64, policies="separate")
    call = 'save_policy(algorithm.get_module("flow_0"), folder, env)'
    assert said[-1] == f"model: has the modules flow_0, flow_1: pass one of them, as in {call}"
    first, second = (leosim.Policy.load(str(run.path / "policies" / f"flow_{slot}")) for slot in (0, 1))
    for slot, policy in enumerate((first, second)):
        np.testing.assert_allclose(policy.act(observations()), weights[-1][f"flow_{slot}"], atol=1e-5)
    assert np.abs(first.act(observations()) - second.act(observations())).max() > 1e-3
    np.testing.assert_allclose(exported(run), first.act(observations()), atol=1e-6)
    by_hand = leosim.Policy.load(str(tmp_path / "second"))
    np.testing.assert_allclose(by_hand.act(observations()), second.act(observations()), atol=1e-5)


class Killed(BaseException):
    """Ends a run at once, as a kill does."""


@pytest.mark.local_ray
@pytest.mark.parametrize("policies", ["shared", "separate"])
def test_a_run_of_ppo_that_was_killed_and_resumed_has_the_bytes_of_one_that_was_not(
    tmp_path, monkeypatch, policies
):
    changes = {"policies": policies, "progress_steps": 96, "checkpoint_steps": 64, "held_out_episodes": 1}
    monkeypatch.setattr(Reporter, "wall_s", property(lambda self: 0.0))
    whole = trained("ppo", tmp_path / "whole", 224, **changes)
    iterate, iterations = online.iterate, iter(range(1_000))

    def until_killed(algorithm):
        if next(iterations) in (3, 6):  # 32 steps after a checkpoint, and directly after the next
            raise Killed
        return iterate(algorithm)

    monkeypatch.setattr(online, "iterate", until_killed)
    for resume in (False, True):
        with pytest.raises(Killed):
            trained("ppo", tmp_path / "parts", 224, resume=resume, **changes)
    parts = trained("ppo", tmp_path / "parts", 224, resume=True, **changes)
    assert [row["steps"] for row in rows(parts)] == ["96", "193", "225"]  # flows join between two steps
    assert files_of(parts) == files_of(whole)


def files_of(run: RunFolder) -> dict[str, bytes]:
    paths = [path for path in run.path.rglob("*") if path.is_file()]
    return {str(path.relative_to(run.path)): path.read_bytes() for path in paths}


@pytest.mark.local_ray
def test_dreamerv3_learns_a_world_model_of_one_flow_and_resumes(tmp_path):
    run = trained("dreamerv3", tmp_path / "run", 32)
    trained("dreamerv3", tmp_path / "run", 64, resume=True)
    assert [int(row["steps"]) for row in rows(run)] == [32, 64]
    assert np.isfinite([float(rows(run)[-1][name]) for name in ("policy_loss", "value_loss")]).all()
    assert not (run.policy / "policy.onnx").exists()


@pytest.mark.local_ray
def test_a_run_that_is_stopped_has_a_checkpoint_and_one_that_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(Stopped):
        trained("ppo", tmp_path / "run", 64, stop=Looks(1))
    run = RunFolder.open(tmp_path / "run", {})
    assert (run.policy / "policy.onnx").exists()
    (run.latest_checkpoint() / "learner.pt").write_bytes(b"not a checkpoint")
    # As if it had been written so.
    digests.write(run.latest_checkpoint(), digests.read(run.latest_checkpoint()))
    with pytest.raises(InputError, match=r"learner\.pt: cannot be read: ") as caught:
        trained("ppo", tmp_path / "run", 64, resume=True)
    assert "\n" not in str(caught.value)


@pytest.mark.local_ray
def test_ray_gives_a_runner_that_it_restarts_another_rank():
    @ray.remote(max_restarts=1, max_task_retries=-1)
    class Runner:
        def rank(self):
            return os.getpid(), seeding.rank_of(SimpleNamespace(worker_index=2))

    runner = Runner.remote()
    process, rank = ray.get(runner.rank.remote())
    assert rank == (2,)
    os.kill(process, signal.SIGKILL)
    _, (worker, *random) = ray.get(runner.rank.remote())
    assert worker == 2
    assert len(random) == 4


def test_a_replay_buffer_takes_agents_that_join_with_the_last_step_of_a_fragment():
    def fragments():
        episode = MultiAgentEpisode(agent_to_module_mapping_fn=lambda agent, episode: "shared")
        zero = np.zeros(1, np.float32)
        episode.add_env_reset(observations={"a": zero}, infos={})
        seen = {"a": zero, "b": zero}
        episode.add_env_step(seen, {"a": zero}, {"a": 1.0, "b": 0.0}, {})
        after = episode.cut()
        after.add_env_step(seen, dict(seen), {"a": 1.0, "b": 2.0}, {})
        return episode, after

    buffer = FlowReplayBuffer(capacity=100)
    for fragment in fragments():
        buffer.add([fragment])
    (whole,) = buffer.episodes
    assert {name: list(record.get_rewards()) for name, record in whole.agent_episodes.items()} == {
        "a": [1.0, 1.0],
        "b": [2.0],
    }


def test_episodes_list_their_agents_by_name():
    algorithms.list_agents_by_name()
    names = [f"flow_{number}" for number in range(12)]
    seen = {name: np.zeros(1, np.float32) for name in reversed(names)}
    episode = MultiAgentEpisode(agent_to_module_mapping_fn=lambda agent, episode: "shared")
    episode.add_env_reset(observations=seen, infos={})
    assert list(episode.agent_ids) == names
    assert list(episode.get_agents_that_stepped()) == names
    episode.add_env_step(seen, seen, dict.fromkeys(seen, 1.0), {})
    assert list(episode.cut().agent_ids) == names


def test_the_environment_of_one_agent_has_one_learner_whatever_the_ranges():
    env = SingleFlowEnv({"scenario": {"sampler": "astraea", "flows": [2, 5], "duration_s": 1.0}})
    observation, _ = env.reset(seed=1)
    assert observation.shape == (50,)


@pytest.fixture
def no_ray(monkeypatch):
    """Forget a cluster that other tests of this process have joined."""
    monkeypatch.setattr(joining, "_joined", None)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)


def ppo(address: str | None, **changes: object) -> PpoSettings:
    return PpoSettings.model_validate(
        {**TINY, "engine": "rllib", "steps": 1, "ray_address": address, **changes}
    )


def test_a_rollout_smaller_than_a_minibatch_is_one_minibatch():
    builder = algorithms.PpoBuilder(ppo(None, num_envs=2, rollout_steps=16, minibatch_size=64))
    assert builder.hyperparameters().minibatch_size == 32


@pytest.mark.parametrize(
    ("lengths", "steps"), [({}, 1_000), ({"steps": 300}, 300), ({"progress_steps": 50}, 50)]
)
def test_an_iteration_of_sac_ends_with_the_run_and_before_a_signal_waits_long(lengths, steps):
    settings = build(ReplaySettings, "x", {"agent": "sac", "engine": "rllib", "steps": 20_000, **lengths})
    assert algorithms.make_config(settings, 0).min_sample_timesteps_per_iteration == steps


@pytest.mark.usefixtures("no_ray")
@pytest.mark.parametrize("listens", [False, True])
def test_a_cluster_that_does_not_answer_is_bad_input(listens, tmp_path, monkeypatch):
    monkeypatch.setattr(head, "REPLY_TIMEOUT_S", 0.5)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        if listens:
            mute.listen()
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        settings = ppo(address)
        run = RunFolder.create(tmp_path / "run", settings.to_yaml(), {})
        with pytest.raises(InputError, match=rf"^--ray: {address}: no cluster answers"):
            online.train(settings, run)


@pytest.mark.usefixtures("no_ray")
def test_an_address_without_a_host_or_port_is_bad_input():
    for address in (":6379", "localhost:99999"):
        refused = pytest.raises(InputError, match=f"^--ray: {address}: must be HOST:PORT")
        with refused, ray_cluster.running(address, resume=""):
            pass


@pytest.mark.usefixtures("no_ray")
def test_a_ray_that_does_not_start_gets_a_line_that_says_what_to_do(monkeypatch):
    def late(*arguments, **options):
        raise Exception("The current node timed out during startup.\nGCS has become overloaded.")

    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", late)
    with pytest.raises(InputError) as told, ray_cluster.running(None, resume=""):
        pass
    line = str(told.value)
    assert line.startswith("Ray did not start on this machine: The current node timed out during startup; ")
    assert "--ray" in line
    assert "\n" not in line


def test_what_rllib_has_no_number_for_counts_as_none():
    said = {"num_episodes": float("nan"), "num_env_steps_sampled": 32.0}
    assert [online.count(said, name) for name in ("num_episodes", "num_env_steps_sampled", "x")] == [0, 32, 0]


def test_only_dreamerv3_is_told_to_import_its_environments_and_what_they_warn_of_is_not_ours(
    monkeypatch, recwarn
):
    package = "ray.rllib.algorithms.dreamerv3"
    for name in [name for name in sys.modules if name.startswith(package)]:
        monkeypatch.delitem(sys.modules, name)
    importlib.reload(algorithms)
    assert not any(name.startswith(package) for name in sys.modules)
    algorithms.dreamerv3_config()
    assert any(name.startswith(package) for name in sys.modules)
    assert not [warning for warning in recwarn.list if "observation space" in str(warning.message)]


def test_rewards_are_told_before_any_episode_ends():
    logged: dict[str, float] = {}

    class Logger:
        def log_value(self, name: str, value: float, reduce: str) -> None:
            assert reduce == "sum"
            logged[name] = value

    episode = MultiAgentEpisode(agent_to_module_mapping_fn=lambda agent, episode: "shared")
    zero = np.zeros(1, np.float32)
    seen = {"a": zero, "b": zero}
    episode.add_env_reset(observations=seen, infos={})
    for reward in (1.0, 2.0):
        episode.add_env_step(seen, seen, {"a": reward, "b": 0.0}, {})
    FlowRewards().on_sample_end(metrics_logger=Logger(), samples=[episode])
    rewards = Rewards()
    for said in (logged, {}, {name: float("nan") for name in logged}):
        rewards.add(said)
    assert rewards.flush() == (1.0 + 2.0) / 4
    assert np.isnan(rewards.flush())


def test_what_was_sampled_is_kept_until_the_next_row_and_over_a_resume():
    since_row = online.SinceRow({})
    since_row.add({"episode_return_mean": 1.0, "flow_reward_sum": 3.0, "flow_reward_count": 2.0})
    for said in ({"episode_return_mean": float("nan")}, {}):
        since_row.add(said)
    resumed = online.SinceRow(json.loads(json.dumps(since_row.state())))
    for either in (since_row, resumed):
        flushed = either.flush()
        assert (flushed["episode_return_mean"], flushed["reward"]) == (1.0, 1.5)
        assert np.isnan(list(either.flush().values())).all()


def test_settings_of_another_algorithm_are_unknown_keys():
    with pytest.raises(InputError, match="epochs: unknown key"):
        build(registry.get("sac").settings, "--set", {"agent": "sac", "epochs": 3})
