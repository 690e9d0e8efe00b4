import csv
import json
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from leogym.agents.astraea import td3
from leogym.agents.astraea.rounds import Rounds
from leogym.agents.astraea.settings import AstraeaSettings
from leogym.agents.astraea.td3 import Td3
from leogym.agents.astraea.train import read_checkpoint, train
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.settings import CONFIGS, build, read_config
from leogym.common.errors import InputError

pytestmark = pytest.mark.xdist_group("astraea")  # one worker: they share a run that takes seconds

REPOSITORY = Path(__file__).resolve().parents[2]
TINY = {
    "agent": "astraea",
    "num_envs": 3,
    "scenarios": {
        "sampler": "astraea",
        "duration_s": 1.5,
        "rate_mbps": 40,
        "base_rtt_ms": [20, 40],
        "flows": [1, 2],
    },
    "learning_starts": 20,
    "train_every": 3,
    "updates_per_training": 1,
    "policy_delay": 2,
    "batch_size": 8,
    "memory": 150,
    "exploration_intervals": 200,
    "exploration_hold": 3,
    "progress_steps": 50,
    "checkpoint_steps": 90,
    "track": "none",
}


def settings(steps, **changes):
    return build(AstraeaSettings, "test", {**TINY, "steps": steps, **changes})


def start(path, steps, **changes):
    chosen = settings(steps, **changes)
    run = RunFolder.create(path, chosen.to_yaml(), {"seed": chosen.seed})
    train(chosen, run)
    return run


def resume(path, steps, **changes):
    run = RunFolder.open(path, {"seed": 1})
    train(settings(steps, **changes), run)
    return run


def policy(run):
    model = onnx.load(str(run.policy / "policy.onnx"))
    return b"".join(tensor.raw_data for tensor in model.graph.initializer)


def progress(run):
    with (run.path / "progress.csv").open() as file:
        return [{key: row[key] for key in row if key != "wall_s"} for row in csv.DictReader(file)]


def everything(run):
    """Return the latest checkpoint as comparable values, without wall time."""
    latest = run.latest_checkpoint()
    assert latest is not None
    state = read_checkpoint(latest)
    del state["wall_s"]
    return flatten(state)


def flatten(value):
    if isinstance(value, dict):
        return {str(key): flatten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [flatten(item) for item in value]
    if isinstance(value, torch.Tensor):
        return value.numpy().tobytes()
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run of 480 steps."""
    return start(tmp_path_factory.mktemp("whole") / "run", 480)


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A run of 240 steps, of which tests resume copies."""
    return start(tmp_path_factory.mktemp("half") / "run", 240)


def test_a_run_leaves_what_it_promises(whole):
    names = {path.name for path in whole.path.iterdir()}
    assert names == {
        "config.yaml", "progress.csv", "checkpoints", "policy", "summary.json", "SHA256SUMS",
    }  # fmt: skip
    description = json.loads((whole.policy / "policy.json").read_text())
    assert (description["agent"], description["spec_version"]) == ("astraea", 1)
    assert (description["observation_dim"], description["action_dim"]) == (50, 1)
    assert description["interval_ms"] == 30.0
    assert description["provenance"] == {"seed": 1, "steps": 480}
    summary = json.loads((whole.path / "summary.json").read_text())
    assert summary["steps"] == 480
    assert summary["updates"] > 30
    # 3 simulations: rows at the first multiple of 3 from each multiple of 50, and at the end.
    steps = [51, 102, 150, 201, 252, 300, 351, 402, 450, 480]
    assert [int(row["steps"]) for row in progress(whole)] == steps


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(whole, tmp_path):
    again = start(tmp_path / "again", 480)
    assert everything(again) == everything(whole)
    assert policy(start(tmp_path / "other", 120, seed=2)) != policy(start(tmp_path / "same", 120))


def test_a_resumed_run_ends_with_the_bytes_of_one_that_never_stopped(whole, half, tmp_path):
    shutil.copytree(half.path, tmp_path / "run")
    run = resume(tmp_path / "run", 480)
    assert everything(run) == everything(whole)
    assert policy(run) == policy(whole)
    assert progress(run) == progress(whole)


def test_resuming_a_finished_run_changes_nothing(half, tmp_path):
    shutil.copytree(half.path, tmp_path / "run")
    run = resume(tmp_path / "run", 240)
    assert everything(run) == everything(half)
    assert progress(run) == progress(half)


def test_a_run_that_starts_from_another_has_its_networks_and_counts_its_own_updates(tmp_path):
    before = start(tmp_path / "before", 150)
    latest = before.latest_checkpoint()
    assert latest is not None
    updates = read_checkpoint(latest)["learner"]["updates"]
    assert updates > 10
    # If the run counted the other run's updates as well, its actor would learn from the start.
    waiting = start(tmp_path / "waiting", 150, start_from=str(before.path), actor_starts=updates)
    assert policy(waiting) == policy(before)
    assert policy(start(tmp_path / "after", 150, start_from=str(before.path))) != policy(before)


def test_a_run_cannot_start_from_networks_of_another_shape(half, tmp_path):
    with pytest.raises(InputError, match=r"start_from: .*: its networks have another shape: .* hidden$"):
        start(tmp_path / "other", 10, start_from=str(half.path), hidden=[9])


def test_a_checkpoint_does_not_disturb_the_run(whole, tmp_path):
    run = start(tmp_path / "often", 480, checkpoint_steps=30)
    assert policy(run) == policy(whole)


def test_it_does_not_matter_when_updates_are_done(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        begin = Rounds.begin

        def at_once(self, batches):
            measured = begin(self, batches)
            self.wait()
            return measured

        patched.setattr(Rounds, "begin", at_once)
        early = start(tmp_path / "early", 480)
    # Updates run only once someone waits for them: the next round, a checkpoint or the end of the run.
    due, waited_for = threading.Semaphore(0), []
    with monkeypatch.context() as patched:
        begin, wait, update = Rounds.begin, Rounds.wait, Td3.update

        def opening(method):
            def opened(self, *arguments):
                if self._last is not None and self._last not in waited_for:
                    waited_for.append(self._last)
                    due.release()
                return method(self, *arguments)

            return opened

        def held_back(self, batch):
            assert due.acquire(timeout=60)
            return update(self, batch)

        patched.setattr(Rounds, "begin", opening(begin))
        patched.setattr(Rounds, "wait", opening(wait))
        patched.setattr(Td3, "update", held_back)
        late = start(tmp_path / "late", 480)
    assert len(waited_for) > 30
    for run in (early, late):
        assert everything(run) == everything(whole)
        assert progress(run) == progress(whole)


def test_threads_of_simulator_and_learner_change_no_byte(whole, tmp_path):
    run = start(tmp_path / "threads", 480, workers=2)
    assert everything(run) == everything(whole)
    assert progress(run) == progress(whole)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_stops_an_update_stops_the_run_in_its_own_words(tmp_path, monkeypatch, workers):
    before = threading.active_count()

    def fails(*arguments, **options):
        raise ArithmeticError("nothing adds up")

    monkeypatch.setattr(td3.functional, "huber_loss", fails)
    with pytest.raises(ArithmeticError, match="nothing adds up"):
        start(tmp_path / "run", 480, workers=workers)
    assert read_checkpoint_steps(tmp_path / "run") == 0
    assert threading.active_count() == before


def read_checkpoint_steps(path):
    latest = RunFolder(path, {}).latest_checkpoint()
    assert latest is not None
    return read_checkpoint(latest)["steps"]


class Trap:
    """Creates a file if it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_checkpoint_that_would_execute_something_is_refused_and_does_not(whole, tmp_path):
    trapped = tmp_path / "checkpoint"
    shutil.copytree(whole.latest_checkpoint(), trapped)
    state = {**read_checkpoint(trapped), "replay": Trap(tmp_path / "executed")}
    torch.save(state, trapped / "training.pt")
    with pytest.raises(InputError, match="cannot be read"):
        read_checkpoint(trapped)
    assert not (tmp_path / "executed").exists()


def test_make_train_counts_steps_unless_minutes_are_asked_for():
    def command(*asked):
        made = subprocess.run(
            ["make", "--dry-run", "train", *asked], cwd=REPOSITORY, capture_output=True, text=True
        )
        (line,) = [line for line in made.stdout.replace("\\\n", "").splitlines() if "leogym train" in line]
        return line

    assert "--minutes" not in command()
    assert "--minutes 7 " in command("MINUTES=7")
    preset = read_config(CONFIGS / "astraea.yaml")
    assert preset["steps"] > 0
    assert "minutes" not in preset
