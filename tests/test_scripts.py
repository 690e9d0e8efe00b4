"""The scripts that install packages."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get")
def test_packages_are_looked_up_while_another_program_updates_the_package_lists(tmp_path: Path) -> None:
    # apt fails at once where the lists are locked, as by another part of a parallel make or by a new
    # machine's own update. There are no sources here, so that nothing is downloaded.
    (tmp_path / "lists/partial").mkdir(parents=True)
    settings = tmp_path / "apt.conf"
    settings.write_text(
        f'Dir::State::lists "{tmp_path}/lists";\n'
        'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "/dev/null";\nAPT::Sandbox::User "root";\n'
    )
    environment = {**os.environ, "APT_CONFIG": str(settings)}

    def update(command: str) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "-euo", "pipefail", "-c", command]
        return subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=60, check=False)

    with (tmp_path / "lists/lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        assert "lock" in update("apt-get update -qq").stderr
        done = update(f". {SCRIPTS}/apt.sh; apt_update")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.name)
def test_a_script_calls_apt_with_package_lists_of_its_own(script: Path) -> None:
    lines = [line for line in script.read_text().splitlines() if "apt-get" in line]
    assert all("apt_options" in line or "command -v apt-get" in line for line in lines), lines
