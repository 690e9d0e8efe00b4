"""Policies of RLlib's algorithms with several flows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import leosim
import pytest
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from leogym.agents.export import save_policy
from leogym.common.errors import InputError
from leogym.envs.flow import FlowEnv

PAGES = Path(__file__).resolve().parents[2] / "docs/use-with"
EXAMPLE = PAGES / "with_rllib_flows.py"


def test_of_several_modules_the_error_names_all_and_the_call_that_saves_one(tmp_path):
    from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog

    env = FlowEnv()
    spec = RLModuleSpec(
        module_class=DefaultPPOTorchRLModule,
        observation_space=env.observation_space,
        action_space=env.action_space,
        model_config=DefaultModelConfig(fcnet_hiddens=[16]),
        catalog_class=PPOCatalog,
    )
    modules = MultiRLModuleSpec(rl_module_specs={"early": spec, "late": spec}).build()
    with pytest.raises(InputError) as caught:
        save_policy(modules, tmp_path, env)
    assert "has the modules early, late" in str(caught.value)
    assert 'save_policy(algorithm.get_module("early"), folder, env)' in str(caught.value)
    assert leosim.Policy.load(str(save_policy(modules["late"], tmp_path, env))).spec == "astraea"


def test_the_result_of_get_module_without_a_name_is_refused_with_the_call_to_make(tmp_path):
    with pytest.raises(InputError, match=r'^model: None: .* algorithm\.get_module\("NAME"\)$'):
        save_policy(None, tmp_path, "leogym:leo/SingleFlow-v0")


def test_the_page_shows_lines_of_the_example_in_order():
    (shown,) = re.findall(r"```python\n(ray\.init.*?)```", (PAGES / "README.md").read_text(), re.DOTALL)
    lines = iter(EXAMPLE.read_text().splitlines())
    assert [line for line in shown.splitlines() if line not in lines] == []


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_the_example_with_three_flows_saves_their_policy(tmp_path):
    command = [sys.executable, str(EXAMPLE), "100", str(tmp_path / "policy")]
    patient = {**os.environ, "RAY_raylet_start_wait_time_s": "300"}  # other tests may hold the cores
    done = subprocess.run(command, cwd=tmp_path, env=patient, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    policy = leosim.Policy.load(done.stdout.splitlines()[-1])
    assert (policy.spec, policy.interval_ms) == ("astraea", 30.0)
