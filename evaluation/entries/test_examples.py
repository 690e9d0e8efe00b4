import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.evaluation.entries import confinement
from leogym.evaluation.entries.process import Running, load
from leogym.results.flow_report import FlowReport

DOCS = Path(__file__).resolve().parents[2] / "docs/leobench"

pytestmark = pytest.mark.skipif(confinement.missing() is not None, reason=str(confinement.missing()))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example crate, built as the docs say, but where it leaves nothing."""
    folder = tmp_path_factory.mktemp("crate")
    crate = shutil.copytree(
        DOCS / "example-scheme", folder / "example-scheme", ignore=shutil.ignore_patterns("target")
    )
    command = ["cargo", "build", "--release", "--quiet", "--offline", "--manifest-path", crate / "Cargo.toml"]
    subprocess.run([*command, "--target-dir", folder / "target"], check=True)
    return folder / "target/release/libcareful.so"


def test_the_example_in_rust_and_the_one_in_python_do_the_same(library):
    python, rust = load(f"{DOCS / 'careful.py'}:Careful"), load(str(library))
    assert rust.interval_ms == python.interval_ms == 30
    rng = np.random.default_rng(1)
    with Running(python, 100) as ours, Running(rust, 100) as theirs:
        for step in range(25):
            reports = [FlowReport(*rng.uniform(30, 40, len(FlowReport._fields))) for _ in range(2)]
            lost = float(step > 10)  # loss ends the start
            reports = [report._replace(lost_packets=lost) for report in reports]
            assert ours.act([0, 3], reports) == theirs.act([0, 3], reports)


def test_a_library_without_the_functions_is_refused_in_one_line(tmp_path):
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"no library")
    with pytest.raises(InputError, match="OSError"):
        load(str(junk))
