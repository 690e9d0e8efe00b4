"""Ctrl-C and SIGTERM during a run: it ends soon, cleans up and keeps recorded runs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from leogym.common.processes import descendants
from leogym.configs import suite
from leogym.evaluation.carrying_out import real_time_line
from leogym.evaluation.recorded import description
from leogym.evaluation.recorded.store import Store
from leogym.evaluation.runs import plan
from leogym.evaluation.runs.schemes import Contestants
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.lab import links
from leogym.kernel_bridge.runner.backends import BACKENDS

ROOT = Path(__file__).resolve().parents[1]
GUARD_S = 120
"""Guards against hanging; the interrupted runs would take far longer."""
LACKS = {name: kind().missing() or bridge_process.missing() for name, kind in BACKENDS.items()}
LACKS |= {"lab": links.missing(), "simulator": None}


def _on(backend, number, running, *marks):
    lack = LACKS[backend]
    missing = pytest.mark.skipif(lack is not None, reason=lack or "")
    return pytest.param(backend, number, running, marks=[missing, *marks], id=f"{backend}-{number.name}")


def _scenario(folder, name, duration_s, rate_mbps=12):
    file = folder / f"{name}.yaml"
    file.write_text(
        f"duration_s: {duration_s}\n"
        f"links: {{l: {{rate_mbps: {rate_mbps}, delay_ms: 5}}}}\n"
        "flows: [{scheme: $scheme, route: [l]}]\n"
    )
    return file


def _eventually(what, *, never):
    deadline = time.monotonic() + GUARD_S
    while not what():
        assert time.monotonic() < deadline, never()
        time.sleep(0.02)


def _where(process):
    """End a process that hangs; return the stacks of its threads and descendants."""
    below = descendants(process.pid)
    process.send_signal(signal.SIGABRT)
    return f"{process.communicate()[1]}\n{below}"


@pytest.mark.parametrize(
    ("backend", "number", "running"),
    [
        _on("kernel", signal.SIGINT, {"mm-leo", "leo-bridge", "traffic"}, pytest.mark.real_time),
        _on("mahimahi", signal.SIGTERM, {"mm-link", "leo-bridge", "traffic"}, pytest.mark.real_time),
        _on("lab", signal.SIGINT, {"qemu-system-x86"}),
        _on("simulator", signal.SIGINT, {"ray::_run_remot"}, pytest.mark.xdist_group("ray")),
    ],
)
def test_an_interrupted_run_ends_leaves_nothing_and_keeps_what_is_recorded(
    backend, number, running, tmp_path
):
    # The simulator, tested on Ray's workers, runs in seconds what takes others two hours.
    on_ray = backend == "simulator"
    short, long = _scenario(tmp_path, "short", 1), _scenario(tmp_path, "long", 7200, 10_000 if on_ray else 12)
    out = tmp_path / "out"
    options = ["--schemes", "satcp", "--repeats", "1", "--backend", backend, "--out", str(out), "--jobs", "1"]
    options += ["--ray", "local"] if on_ray else []
    before = bridge_process.clean(), _names()
    evaluating = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "evaluate.py", str(short), str(long), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _eventually(lambda: evaluating.poll() is not None or _recorded(out), never=lambda: _where(evaluating))
        _eventually(
            lambda: evaluating.poll() is not None or running <= set(descendants(evaluating.pid).values()),
            never=lambda: _where(evaluating),
        )
        started = {pid: _since(pid) for pid in descendants(evaluating.pid)}
        evaluating.send_signal(number)
        try:
            _, told = evaluating.communicate(timeout=GUARD_S)
        except subprocess.TimeoutExpired:
            pytest.fail(_where(evaluating))
    finally:
        evaluating.kill()
        evaluating.wait()
    assert evaluating.returncode == 128 + number, told
    assert told.splitlines()[-1] == "interrupted: recorded runs are kept; continue with --resume", told
    assert "Traceback" not in told
    if backend in ("kernel", "mahimahi"):
        assert "2 runs in real time, 1 at a time: 2 h 1 min at least" in told
    # The kernel ends a namespace's processes shortly after its first one.
    _eventually(
        lambda: not _still(started),
        never=lambda: str({pid: Path(f"/proc/{pid}/status").read_text() for pid in _still(started)}),
    )
    assert not list(Path("/tmp").glob(f"leogym-*-{evaluating.pid}-*"))
    assert bridge_process.clean() == before[0]
    _eventually(lambda: _names() == before[1], never=lambda: f"{_names()}, before {before[1]}")
    # --resume continues with the first run recorded, if it was valid.
    store = Store.resume(out, description.read(out))
    assert len(store.recorded) == (0 if (out / "invalid.csv").exists() else 1)


def _since(pid):
    """Return a process's start time, which identifies it despite reused PIDs; None if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def _still(started):
    return [pid for pid, since in started.items() if since is not None and _since(pid) == since]


def _recorded(out):
    """Return whether the first run has ended, valid or not."""
    rows = out / "runs.parquet"
    return (out / "invalid.csv").exists() or (rows.exists() and pl.read_parquet(rows).height > 0)


def _names():
    """Return what a killed daemon could leave behind: congestion controls and interfaces."""
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return sorted(names), sorted(os.listdir("/sys/class/net"))


def test_a_real_time_plan_says_how_long_it_takes_and_no_other_does(tmp_path):
    file = tmp_path / "s.yaml"
    about = {"name": "s", "title": "s", "repeats": 5, "scenario": {"duration_s": 300}}
    about["scenario"] |= {
        "links": {"l": {"rate_mbps": 12, "delay_ms": 5}},
        "flows": [{"scheme": "$scheme", "route": ["l"]}],
    }
    file.write_text(json.dumps(about))

    def runs(backend):
        return plan.expand(
            suite.load(str(file)),
            Contestants(["cubic", "reno", "bbr"], {}),
            {},
            backend=backend,
            backend_schemes=["cubic", "reno", "bbr"],
            base_seed=1,
            repeats=None,
            version="test",
        )

    one = real_time_line(runs("kernel"), 0)
    assert one is not None
    assert one.startswith("15 runs in real time, 1 at a time: 1 h 15 min at least")
    two = real_time_line(runs("mahimahi"), 2)
    assert two is not None
    assert "2 at a time: 38 min at least" in two
    assert real_time_line(runs("simulator"), 0) is None
    assert real_time_line(runs("lab"), 0) is None
