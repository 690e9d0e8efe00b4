"""The documented commit: a file, a row and tests make a classic scheme."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_file_a_row_and_its_tests_are_all_that_a_classic_scheme_takes(tmp_path):
    documented = (ROOT / "docs" / "add-a-scheme.md").read_text(encoding="utf-8")
    [commit] = re.findall(r"```diff\n(.*?)```", documented, re.DOTALL)
    for folder in ("core/cc", "core/sim/tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    workspace = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    alone = re.sub(r"members = \[.*?\]", 'members = ["core/cc"]', workspace, flags=re.DOTALL)
    (tmp_path / "Cargo.toml").write_text(alone, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", tmp_path)
    shutil.copy(ROOT / "rustfmt.toml", tmp_path)

    subprocess.run(["git", "apply"], cwd=tmp_path, input=commit, text=True, check=True)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(tmp_path / "target")}

    def cargo(*arguments):
        done = subprocess.run(
            ["cargo", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    cargo("fmt", "--check")
    ran = cargo("test", "--quiet", "--offline", "--", "gaimd", "names", "variants", "no_scheme_breaks")
    assert re.findall(r"(\d+) passed", ran)[:2] == ["3", "1"], ran
