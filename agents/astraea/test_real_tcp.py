import json

import pytest

from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.astraea.test_train import REPOSITORY, policy, start
from leogym.agents.astraea.train import train
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import build, read_config
from leogym.common.errors import InputError
from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.bridge import process as bridge_process

pytestmark = pytest.mark.real_time

LACK = mahimahi.missing() or bridge_process.missing()
needs_bridge = pytest.mark.skipif(LACK is not None, reason=LACK or "")
SHORT = {
    "backend": "mahimahi",
    "scenarios": {"sampler": "astraea", "duration_s": 1.0, "rate_mbps": 12, "base_rtt_ms": 20, "flows": 1},
    "learning_starts": 10,
    "train_every": 5,
    "policy_delay": 2,
    "minutes": None,
    "track": "none",
}


def _settings(**changes):
    shipped = read_config(REPOSITORY / "configs/agents/astraea-real.yaml")
    return build(AstraeaSettings, "test", {**shipped, **SHORT, **changes})


@needs_bridge
def test_a_policy_is_fine_tuned_on_real_tcp_and_the_run_can_be_resumed(tmp_path):
    before = start(tmp_path / "simulated", 60)
    chosen = _settings(steps=70, start_from=str(before.path))
    run = RunFolder.create(tmp_path / "real", chosen.to_yaml(), {"seed": 1})
    train(chosen, run)
    summary = json.loads((run.path / "summary.json").read_text())
    assert summary["updates"] > 0
    # An episode's last step may have no active flow.
    assert 70 - summary["episodes"] - 1 <= summary["decisions"] <= 70
    assert summary["late_decisions"] >= 0
    assert summary["episodes"] >= 1
    assert policy(run) != policy(before)
    train(chosen.model_copy(update={"steps": 90}), RunFolder.open(run.path, {"seed": 1}))
    assert json.loads((run.path / "summary.json").read_text())["steps"] == 90


def test_a_run_that_is_not_there_is_one_line_before_anything_is_started(tmp_path):
    chosen = build(AstraeaSettings, "test", {"steps": 1, "start_from": str(tmp_path), "agent": "astraea"})
    run = RunFolder.create(tmp_path / "run", chosen.to_yaml(), {"seed": 1})
    with pytest.raises(InputError, match=r"start_from: .*no run with a checkpoint"):
        train(chosen, run)
