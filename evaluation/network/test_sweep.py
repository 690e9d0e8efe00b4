"""Sweeps over networks: cells, errors in one line, and runs that a kill leaves."""

import csv
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.configs.network import Network
from leogym.evaluation.network import __main__ as command
from leogym.evaluation.network.cells import Cell
from leogym.evaluation.network.run import META
from leogym.evaluation.network.test_run import FILE
from leogym.traces.network import description as describing
from tests.support import local_ray

ROOT = Path(__file__).resolve().parents[2]
SHORT = FILE.replace("duration_s: 3", "duration_s: 1")
ARGUMENTS = ["--schemes", "cubic,bbr3+orbit", "--loads", "1,2", "--seeds", "1,2"]

# The third run's tables are written when the process dies, but not the file that makes it complete.
KILLED = """
import os, signal, sys
from leogym.evaluation.network import __main__ as command, run
write, writes = run.write_atomically, []
def kill(path, data):
    writes.append(path.name)
    if writes.count(run.META) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, data)
run.write_atomically = kill
command.run(sys.argv[1:])
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(SHORT)
    return path


def sweep(file, out, *more):
    return command.run(["sweep", str(file), *ARGUMENTS, "--out", str(out), *more])


def test_loads_that_differ_have_folders_that_differ():
    network = Network.model_construct(name="mine", seed=1)
    names = [Cell(network, "cubic", load).name for load in (1.0, 1.0000001, 0.5)]
    assert names == ["mine--cubic--1--1", "mine--cubic--1.0000001--1", "mine--cubic--0.5--1"]


def finished(out):
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob(f"*/{META}")}


@pytest.mark.parametrize(
    "where",
    [
        ["--jobs", "1"],
        pytest.param(["--ray", "local"], marks=local_ray.MARKS),
    ],
)
def test_a_killed_sweep_resumes_to_the_table_of_an_undisturbed_one(file, tmp_path, where):
    assert sweep(file, tmp_path / "whole") == 0
    whole = (tmp_path / "whole/sweep.csv").read_bytes()
    out = tmp_path / "out"
    arguments = ["sweep", str(file), *ARGUMENTS, "--out", str(out), *where]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    before = finished(out)
    assert 1 <= len(before) <= 2
    assert not (out / "sweep.csv").exists()
    assert sweep(file, out, *where, "--resume") == 0
    assert (out / "sweep.csv").read_bytes() == whole
    after = finished(out)
    assert len(after) == 8
    assert before.items() <= after.items()


def test_a_sweep_has_a_row_for_each_run_and_scheme_and_takes_more_seeds_later(file, tmp_path):
    out = tmp_path / "out"
    assert sweep(file, out) == 0
    rows = list(csv.DictReader((out / "sweep.csv").open()))
    assert [row["scheme"] for row in rows] == ["cubic"] * 4 + ["bbr3", "orbit"] * 4
    assert {row["load"] for row in rows} == {"1.0", "2.0"}
    arrived = {load: sum(int(row["flows"]) for row in rows if row["load"] == load) for load in ("1.0", "2.0")}
    assert 1.3 < arrived["2.0"] / arrived["1.0"] < 2
    before = finished(out)
    with pytest.raises(InputError, match=r"cells\.json: holds a sweep"):
        sweep(file, out)
    assert sweep(file, out, "--seeds", "1,2,3", "--resume") == 0
    assert len(list(csv.DictReader((out / "sweep.csv").open()))) == 18
    assert before.items() <= finished(out).items()
    file.write_text(SHORT.replace("rate_mbps: 50", "rate_mbps: 60"))
    with pytest.raises(InputError, match=r"cells\.json: networks: --resume: differs from this sweep"):
        sweep(file, out, "--resume")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schemes", "cubic+cubic"], "--schemes: cubic.cubic: names a scheme twice"),
        (["--schemes", "cubc"], "cubc: not a scheme"),
        (["--loads", "1,x"], "--loads: '1,x': must be numbers separated by commas"),
        (["--seeds", "1,1"], "--seeds: '1,1': must be different numbers, at least 0"),
        (["--jobs", "-1"], "--jobs: must be at least 0"),
        (["--loads", "1e9"], "rate_per_s"),
    ],
)
def test_a_wrong_option_is_one_line(file, tmp_path, arguments, message):
    with pytest.raises(InputError, match=message) as raised:
        sweep(file, tmp_path / "out", *arguments)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_load_needs_arrivals(file, tmp_path):
    file.write_text("\n".join(SHORT.splitlines()[:-1]))
    with pytest.raises(InputError, match="--loads: 2: mine has no arrivals, whose rates this multiplies"):
        sweep(file, tmp_path / "out")


def test_a_description_sent_to_another_machine_has_the_same_links(file):
    description = describing.load(str(file))
    sent = pickle.loads(pickle.dumps(description))
    assert sent.core() == description.core()
    for field in ("laser_km", "station", "satellite", "km"):
        ours, theirs = (getattr(each.topology.moment(0.7), field) for each in (description, sent))
        assert np.array_equal(ours, theirs)
