"""The example in docs/new-agent: one folder and one YAML add an agent."""

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest

from leogym import agents
from leogym.agents import train_cli
from leogym.agents.judging import held_out
from leogym.agents.training import registry
from leogym.evaluation import cli
from tests.support import scenarios

DOCUMENTED = Path(agents.__file__).resolve().parents[1] / "docs" / "new-agent"


@pytest.fixture
def hillclimb(tmp_path, monkeypatch):
    """Install the example's folder as if it were copied under agents/."""
    home = tmp_path / "agents"
    shutil.copytree(
        DOCUMENTED / "hillclimb", home / "hillclimb", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(home)])
    yield
    for name in [name for name in sys.modules if name.startswith("leogym.agents.hillclimb")]:
        del sys.modules[name]
    vars(agents).pop("hillclimb", None)


def train(out, *arguments):
    config = [] if "--resume" in arguments else ["--config", str(DOCUMENTED / "hillclimb.yaml")]
    return train_cli.run(["--agent", "hillclimb", *config, "--out", str(out), "--track", "none", *arguments])


@pytest.mark.usefixtures("hillclimb")
def test_one_folder_and_one_yaml_are_all_that_an_agent_takes(tmp_path):
    assert "hillclimb" in registry.schemes()
    run = tmp_path / "run"
    assert train(run, "--steps", "20000") == 0
    assert train(run, "--resume", "--steps", "40000") == 0
    assert train(tmp_path / "whole", "--steps", "40000") == 0
    # A resumed run gives the bytes of an uninterrupted one.
    assert (run / "policy" / "policy.onnx").read_bytes() == (
        tmp_path / "whole" / "policy" / "policy.onnx"
    ).read_bytes()
    with (run / "progress.csv").open(newline="") as file:
        rewards = [float(row["reward"]) for row in csv.DictReader(file)]
    assert rewards == sorted(rewards)
    assert rewards[-1] > rewards[0]
    assert json.loads((run / "summary.json").read_text())["held_out"]["best"]["steps"] >= 20_000
    assert held_out(run, 4)["normalized_goodput"] > 0

    evaluated = ["--schemes", f"cubic,hillclimb={run / 'policy'}", "--repeats", "1", "--jobs", "1"]
    assert cli.run([scenarios.written(tmp_path), *evaluated, "--out", str(tmp_path / "report")]) == 0
    with (tmp_path / "report" / "summary.csv").open(newline="") as file:
        schemes = {row["scheme"] for row in csv.DictReader(file)}
    assert schemes == {"cubic", "hillclimb"}
