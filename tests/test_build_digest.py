"""``leosim.BUILD``: the same for the same sources in any folder, another for another source."""

import os
import shutil
import subprocess
from pathlib import Path

import leosim
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the core's build script."""
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not on PATH: the core's build script was not compiled")
    compiled = tmp_path_factory.mktemp("script") / "build"
    source = ROOT / "core" / "py" / "build.rs"
    subprocess.run(["rustc", "--edition", "2024", "-o", str(compiled), str(source)], check=True)
    return compiled


def digest(script: Path, sources: Path, **variables: str) -> str:
    settings = {
        "TARGET": "x86_64-unknown-linux-gnu",
        "PROFILE": "release",
        "OPT_LEVEL": "3",
        "RUSTC": "rustc",
    }
    folder = {"CARGO_MANIFEST_DIR": str(sources / "core" / "py")}
    done = subprocess.run(
        [str(script)],
        env={**os.environ, **settings, **folder, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    [line] = [line for line in done.stdout.splitlines() if line.startswith("cargo:rustc-env=")]
    return line.partition("LEOSIM_BUILD=")[2]


def test_a_build_has_a_digest():
    assert len(leosim.BUILD) == 32
    assert int(leosim.BUILD, 16)


def test_a_digest_depends_on_sources_and_settings_and_not_on_the_folder(script, tmp_path):
    here = digest(script, ROOT)
    assert len(here) == 32
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "core", tmp_path / "core")
    assert digest(script, tmp_path) == here
    assert digest(script, tmp_path, OPT_LEVEL="2") != here
    assert digest(script, tmp_path, CARGO_ENCODED_RUSTFLAGS="-Ctarget-cpu=native") != here
    for name in ("core/cc/src/lib.rs", "core/link/Cargo.toml", "Cargo.lock"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(f"{text}\n")
        assert digest(script, tmp_path) != here
        (tmp_path / name).write_text(text)
    (tmp_path / "core" / "sim" / "src" / "new.rs").touch()
    assert digest(script, tmp_path) != here
