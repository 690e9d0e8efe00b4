import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """
duration_s: 1
links: {l: {rate_mbps: 10, delay_ms: 5}}
flows: [{scheme: $scheme, route: [l]}]
"""
EVALUATE = "evaluate /FOLDER/x.yaml --schemes reno --repeats 1"
TRAIN = "train --agent astraea --steps 40 --track none --set num_envs=2 scenarios=/FOLDER/x.yaml"


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("traces build sd-ny-bp --duration 2", "runs/traces/sd-ny-bp.csv"),
        ("traces synth geo --duration 2", "runs/traces/geo.csv"),
        (EVALUATE, "runs/*/report.html"),
        (f"{EVALUATE} --out mine", "mine/report.html"),
        (TRAIN, "runs/astraea/policy/policy.onnx"),
    ],
)
def test_git_takes_no_output_of_a_command_in_another_repository(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, line: str, made: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "x.yaml").write_text(SCENARIO)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    words = line.replace("/FOLDER", str(elsewhere)).split()
    command = [sys.executable, "-m", "leogym", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob(made)), list(tmp_path.rglob("*"))
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, cwd=tmp_path, capture_output=True, check=True).stdout == b""
