import resource
import shutil

import pytest

from leogym.agents import train_cli
from leogym.agents.training import test_stopping as stopping
from leogym.common.errors import InputError

TINY = stopping.TINY.replace("checkpoint_steps: 100000", "checkpoint_steps: 40")
PPO = """
agent: ppo
num_envs: 2
scenarios: {sampler: astraea, duration_s: 1, rate_mbps: 10, base_rtt_ms: 20, flows: 1}
hidden: [8]
rollout_steps: 10
minibatch_size: 20
progress_steps: 20
checkpoint_steps: 40
"""


def train(path, agent: str, config, *arguments) -> int:
    given = ["--agent", agent, "--out", str(path), "--track", "none", *arguments]
    return train_cli.run(given if "--resume" in arguments else [*given, "--config", str(config)])


@pytest.mark.parametrize(("agent", "text"), [("astraea", TINY), ("ppo", PPO)])
def test_a_disk_that_fills_up_is_one_line_and_the_run_goes_on_where_it_was(agent, text, small_disk, tmp_path):
    config = tmp_path / "tiny.yaml"
    config.write_text(text)
    run, filler = small_disk / "run", small_disk / "filler"
    assert train(run, agent, config, "--steps", "40") == 0
    before = {path: path.read_bytes() for path in (run / "checkpoints").rglob("*") if path.is_file()}

    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - 8_192))
    with pytest.raises(
        InputError, match=r"run: cannot be written: No space left on device.*--resume"
    ) as caught:
        train(run, agent, config, "--resume", "--steps", "4000")
    assert "\n" not in str(caught.value)
    filler.unlink()
    latest = (run / "checkpoints" / "latest").read_text().strip()
    if latest == f"{40:012d}":
        assert {path: path.read_bytes() for path in before} == before

    assert train(run, agent, config, "--resume", "--steps", "120") == 0
    if agent == "astraea":  # its runs resume exactly
        assert train(tmp_path / "whole", agent, config, "--steps", "120") == 0
        whole = (tmp_path / "whole" / "policy" / "policy.onnx").read_bytes()
        assert (run / "policy" / "policy.onnx").read_bytes() == whole


def test_a_run_that_cannot_begin_for_want_of_room_leaves_nothing(small_disk, tmp_path):
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY)
    (small_disk / "filler").write_bytes(bytes(shutil.disk_usage(small_disk).free - 12_288))
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        train(small_disk / "run", "astraea", config, "--steps", "40")
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


@pytest.mark.parametrize(("agent", "text"), [("astraea", TINY), ("ppo", PPO)])
def test_a_limit_on_file_sizes_is_one_line_and_the_run_goes_on(agent, text, tmp_path):
    config, run = tmp_path / "tiny.yaml", tmp_path / "run"
    config.write_text(text)
    assert train(run, agent, config, "--steps", "40") == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, before[1]))
    try:
        with pytest.raises(
            InputError, match=r"run: cannot be written: File too large \(.*ulimit -f\).*--resume"
        ):
            train(run, agent, config, "--resume", "--steps", "120")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert train(run, agent, config, "--resume", "--steps", "120") == 0
