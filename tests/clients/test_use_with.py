"""The scripts of docs/use-with, each in an environment of its client's own (``make clients``)."""

import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import leosim
import numpy as np
import pytest

from leogym.evaluation.runs import schemes
from tests.support.client_environment import IndexUnreachable, python

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "docs" / "use-with"
REQUIREMENTS = {
    "sb3": (),
    "rllib": (),
    "rllib_flows": (),
    "ray_tune": (),
    "supersuit": ("supersuit",),
    "torchrl": ("torchrl",),
    "tianshou": ("tianshou>=2",),
    "skrl": ("skrl>=2",),
}

pytestmark = pytest.mark.clients


@pytest.fixture
def client(tmp_path):
    """Return a function that makes an environment and returns one that runs Python there."""

    def make(*requirements):
        try:
            interpreter = python(tmp_path / "environment", *requirements)
        except IndexUnreachable as error:
            pytest.skip(f"the package index cannot be reached: {error}")

        def run(*arguments):
            # Results and logs go to the working folder.
            done = subprocess.run(
                [interpreter, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
            return done.stdout

        return run

    return make


def acts(folder: Path, *, varies: bool = True) -> None:
    """Check that evaluate.py takes the policy in ``folder``, and that it acts on what it sees if so asked."""
    loaded = schemes.load_policy(folder)
    assert (loaded.metadata["agent"], loaded.interval_ms) == ("astraea", 30.0)
    observations = np.random.default_rng(1).uniform(0, 1, (50, 50)).astype(np.float32)
    actions = leosim.Policy.load(str(folder)).act(observations)
    assert np.isfinite(actions).all()
    assert np.ptp(actions) > 0 or not varies


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_client_trains_on_the_environment_and_its_policy_is_a_contestant(name, client, tmp_path):
    run = client(*REQUIREMENTS[name])
    output = run(SCRIPTS / f"with_{name}.py", 1200, tmp_path / "policy")
    acts(Path(output.strip().splitlines()[-1]))


def test_rl_zoo3_trains_by_its_own_commands_and_its_policy_is_a_contestant(client, tmp_path):
    run = client("rl_zoo3")
    about = ("--algo", "ppo", "--env", "leo/SingleFlow-v0", "--gym-packages", "leogym")
    run("-m", "rl_zoo3.train", *about, "--conf-file", SCRIPTS / "ppo.yml", "--n-timesteps", 4096, "--seed", 1,
        "--device", "cpu", "-f", "logs")  # fmt: skip
    run("-m", "rl_zoo3.enjoy", *about, "-f", "logs", "--n-timesteps", 200, "--no-render", "--device", "cpu")
    run(SCRIPTS / "with_rl_zoo3.py", "ppo", tmp_path / "logs/ppo/leo-SingleFlow-v0_1", tmp_path / "policy")
    acts(tmp_path / "policy")


def test_wrappers_of_supersuit_take_the_environments(client):
    assert "12 wrappers" in client("supersuit")(ROOT / "tests/clients/supersuit_wrappers.py")


def test_torchrl_rolls_out_several_flows(client):
    assert "2 agents" in client("torchrl")(ROOT / "tests/clients/torchrl_flows.py")


@pytest.mark.parametrize("algorithm", ["ppo", "td3", "sac"])
def test_cleanrl_scripts_learn_with_the_id_as_the_only_change(algorithm, client, tmp_path):
    folder = os.environ.get("CLEANRL")
    if not folder:
        pytest.skip("CLEANRL names no clone of CleanRL")
    script = Path(folder).resolve() / "cleanrl" / f"{algorithm}_continuous_action.py"
    run = client("tyro")
    output = run(SCRIPTS / "with_cleanrl.py", tmp_path / "policy", script, "--env-id", "leo/SingleFlow-v0",
               "--total-timesteps", 60_000)  # fmt: skip
    episodes = re.findall(r"global_step=(\d+), episodic_return=\[([-\d.e]+)\]", output)
    returns = [(int(step), float(value)) for step, value in episodes]
    first = fmean(value for step, value in returns if step <= 2_000)
    last = fmean(value for step, value in returns if step > 54_000)
    sys.stdout.write(f"{algorithm}: {first:.1f} in the first 2,000 steps, {last:.1f} in the last 6,000\n")
    assert first > 0
    assert last > 3 * first
    # TD3 has no entropy bonus, and its actor saturates at +1: docs/environments.md.
    acts(tmp_path / "policy", varies=algorithm != "td3")
