"""The scripts that install packages."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get")
def test_packages_are_looked_up_while_another_program_updates_the_package_lists(tmp_path):
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
def test_a_script_calls_apt_with_package_lists_of_its_own(script):
    lines = [line for line in script.read_text().splitlines() if "apt-get" in line]
    assert all("apt_options" in line or "command -v apt-get" in line for line in lines), lines


@pytest.mark.parametrize(
    ("cargo", "version"),
    [("echo cargo 1.63.0", "1.63.0"), ("echo no toolchain >&2; exit 1", "none")],
    ids=["Debian 12's", "rustup's without a toolchain"],
)
def test_setup_refuses_a_rust_toolchain_that_cannot_build_it(tmp_path, cargo, version):
    program = tmp_path / "cargo"
    program.write_text(f"#!/bin/sh\n{cargo}\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [SCRIPTS / "require.sh"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert re.fullmatch(
        rf"setup: Rust >= 1\.\d+ is needed, and this is {version}: install it with rustup \(rustup\.rs\)\n",
        done.stderr,
    )


def test_no_source_has_a_let_chain_which_needs_rust_1_88():
    # Clippy finds functions of the standard library that Cargo.toml's rust-version lacks, and no syntax.
    chain = re.compile(r"&& let |\b(?:if|while) let [^\n]*\n\s+&& ")
    sources = [path for room in ("core", "kernel_bridge") for path in (ROOT / room).rglob("*.rs")]
    chains = {str(path): match[0] for path in sources if (match := chain.search(path.read_text()))}
    assert sources
    assert not chains
