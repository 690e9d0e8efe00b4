"""Every command refuses to write to a folder that holds the output of another command."""

from pathlib import Path

import pytest

from leogym.agents import train_cli
from leogym.commands import agents
from leogym.common import output_folder
from leogym.common.errors import InputError
from leogym.evaluation import cli
from leogym.evaluation.leobench import __main__ as leobench
from leogym.kernel_bridge import __main__ as kernel_bridge
from leogym.kernel_bridge.lab import lab_command
from studies.detection import __main__ as detection
from tests.kills import contents

REPOSITORY = Path(__file__).resolve().parents[1]
PROGRAM_OPTIONS = ("--rate-mbps", "1", "--delay-ms", "1", "--server", "true", "true")
SWEEP, PROGRAM = "configs/sweeps/ppo-leo.yaml", "agents/search/programs/queue-target.yaml"


def lab(arguments):
    lab_command.run(kernel_bridge.parser().parse_args(arguments))


COMMANDS = {
    "train": ("a training run", train_cli.run, ["--agent", "astraea", "--steps", "10"]),
    "sweep": ("a sweep", train_cli.run, ["--sweep", SWEEP]),
    "search": ("a training run", agents.run, ["search", PROGRAM, "--generations", "0"]),
    "worst-cases": ("a search for worst cases", agents.run, ["worst-cases", "cubic"]),
    "curves": ("learning curves", agents.run, ["curves", "RUN", "--metric", "reward"]),
    "ship": ("a shipped policy", agents.run, ["ship", "RUN"]),
    "evaluate": ("an evaluation", cli.run, ["static-100-cubic"]),
    "leobench": ("LeoBench's results", cli.run, ["leobench", "cubic"]),
    "leobench seeds": ("LeoBench's results", leobench.run, ["seeds", "cubic", "reno"]),
    "detection": ("a comparison of detectors", detection.main, []),
    "lab": ("a lab run", lab, ["lab", "run", "static-100-cubic"]),
    "programs": ("a run of programs", lab, ["lab", "exec", *PROGRAM_OPTIONS]),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_of_something_else_is_refused_in_one_line_and_stays_as_it_is(
    command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(REPOSITORY)
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text("agent: astraea\nseed: 1\n")
    (run / "progress.csv").write_text("steps,reward\n10,0.5\n")
    content, entry, arguments = COMMANDS[command]
    other = "an evaluation" if content != "an evaluation" else "a training run"
    out = tmp_path / "out"
    (out / output_folder.MARKS[other][0]).mkdir(parents=True)
    before = contents(out)
    words = [str(run) if word == "RUN" else word for word in arguments]
    with pytest.raises((InputError, SystemExit)) as caught:
        entry([*words, "--out", str(out)])
    message = str(caught.value) if isinstance(caught.value, InputError) else capsys.readouterr().err.strip()
    assert message == f"{out}: (folder): holds {other}: {content} needs a separate folder: name another"
    assert contents(out) == before
