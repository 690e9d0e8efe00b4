import os
import signal
from contextlib import nullcontext

import pytest

from leogym.agents import train_cli
from leogym.agents.astraea.train import Training
from leogym.agents.training.run_folder import RunFolder
from leogym.agents.training.stopping import Note, Signals, Stop
from leogym.common import lock
from leogym.common.errors import InputError

TINY = """
agent: astraea
num_envs: 2
scenarios: {sampler: astraea, duration_s: 1, rate_mbps: 10, base_rtt_ms: 20, flows: 1}
hidden: [8, 8]
batch_size: 8
learning_starts: 20
train_every: 2
progress_steps: 20
checkpoint_steps: 100000
"""


class Looks(Stop):
    """Asks a run to stop at its ``count``-th check."""

    def __init__(self, count: int) -> None:
        self.left = count

    @property
    def asked(self) -> bool:
        self.left -= 1
        return self.left == 0


@pytest.fixture
def train(tmp_path):
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY)

    def run(*arguments: str, out: str = "run") -> int:
        given = ["--agent", "astraea", "--out", str(tmp_path / out), "--track", "none", *arguments]
        return train_cli.run(given if "--resume" in arguments else [*given, "--config", str(config)])

    return run


@pytest.fixture
def send_at(monkeypatch):
    # Ignored in a background job of a script, where a test would wait for nothing.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def at_interval(number: int, *signals: int) -> None:
        interval, seen = Training.interval, []

        def counted(self: Training) -> None:
            interval(self)
            seen.append(None)
            if len(seen) == number:
                for one in signals:
                    os.kill(os.getpid(), one)

        monkeypatch.setattr(Training, "interval", counted)

    yield at_interval
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_gets_a_checkpoint_a_line_and_its_status(
    number, status, train, send_at, tmp_path, capfd, monkeypatch
):
    with monkeypatch.context() as only_here:
        send_at(37, number)
        assert train("--steps", "200") == status
        only_here.undo()
    run = tmp_path / "run"
    assert (run / "checkpoints" / "latest").read_text() == "000000000074\n"
    told = capfd.readouterr().err.splitlines()
    assert told[-1] == f"{run}: stopped at 74 steps: continue with --resume"
    assert len(told) == 2
    assert not (run / "summary.json").exists()
    assert not (run / lock.NAME).exists()

    assert train("--resume") == 0
    assert train("--steps", "200", out="whole") == 0
    for name in ("policy/policy.onnx", "progress.csv"):
        files = [(tmp_path / folder / name).read_text(errors="replace") for folder in ("run", "whole")]
        if name == "progress.csv":  # wall time differs
            files = [[line.split(",")[0:1] + line.split(",")[2:] for line in text.split()] for text in files]
        assert files[0] == files[1]


def test_a_second_signal_leaves_at_once(train, send_at, tmp_path, capfd):
    send_at(37, signal.SIGINT, signal.SIGINT)
    assert train("--steps", "200") == 130
    assert (tmp_path / "run" / "checkpoints" / "latest").read_text() == "000000000000\n"
    assert capfd.readouterr().err.splitlines()[-1].endswith("stopped at 0 steps: continue with --resume")


def test_a_signal_before_the_first_checkpoint_leaves_nothing(train, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(RunFolder, "save_checkpoint", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    monkeypatch.setattr(Signals, "deferred", lambda self: nullcontext())
    assert train("--steps", "200") == 143
    assert not (tmp_path / "run").exists()
    assert "stopped before its first checkpoint" in capfd.readouterr().err


def test_a_run_in_a_folder_that_another_writes_to_is_refused(train, tmp_path):
    with (
        lock.held(tmp_path / "run"),
        pytest.raises(InputError, match=r"run: --out: another process .* is writing to it"),
    ):
        train("--steps", "200")


def test_a_note_asks_whoever_knows_where_it_is(tmp_path):
    note = Note(tmp_path / "stop")
    assert not note.asked
    Note(tmp_path / "stop").write()
    assert note.asked
    note.remove()
    assert not note.asked
