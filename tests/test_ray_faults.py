"""What can go wrong on a Ray cluster: each fault is one line that says what to do, and changes no result.

One cluster of this machine serves all tests, which run in order: nodes join, and in the end its head dies.
One of its nodes can be made to have another build, to have no leosim, or not to see the output folder.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leosim
import polars as pl
import pytest
import ray
from ray.cluster_utils import Cluster

from leogym.agents import train_cli
from leogym.agents.engines.ray_cluster import OBJECT_STORE_BYTES
from leogym.common.cluster import joining, watched
from leogym.common.errors import InputError
from leogym.common.processes import descendants, kill
from leogym.evaluation import cli
from leogym.evaluation.runs import execute
from leogym.evaluation.runs.test_execute import WHOLE, planned
from leogym.results.measurement import Measurement

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

ROOT = Path(__file__).resolve().parents[1]
GUARD_S = 120.0
"""Guards against hanging."""
STATE = "LEOGYM_TEST_NODE_STATE"
"""The environment variable with the path of the file that says what is wrong with a node."""
FAULTY_LEOSIM = f"""
import builtins, os, pathlib

state, _, hidden = pathlib.Path(os.environ["{STATE}"]).read_text().partition(" ")
if state == "missing":
    raise ModuleNotFoundError("No module named 'leosim'", name="leosim")
__path__ = [{str(Path(leosim.__file__).parent)!r}]
from leosim.leosim import *

if state == "build":
    BUILD = "0" * 32
if state == "hidden":
    visible = builtins.open

    def open_visible(path, *arguments, **options):
        if str(path).startswith(hidden):
            raise FileNotFoundError(2, "No such file or directory", path)
        return visible(path, *arguments, **options)

    builtins.open = open_visible
"""
SHORT = """
name: short
title: short runs
repeats: {repeats}
scenario:
  duration_s: {duration_s}
  links: {{l: {{rate_mbps: {rate_mbps}, delay_ms: 10}}}}
  flows: [{{scheme: $scheme, route: [l]}}]
"""
SWEEP = """
name: unseen
agent: astraea
settings:
  steps: 2000
  num_envs: 2
  scenarios: {sampler: astraea, flows: 1, rate_mbps: 10, base_rtt_ms: 20, duration_s: 5}
  hidden: [8, 8]
search: {actor_learning_rate: {grid: [1e-4, 1e-3]}}
metric: reward
"""


class Nodes:
    """A cluster of a head with one processor, and what its last node lacks."""

    def __init__(self, folder: Path) -> None:
        self._state = folder / "state"
        (folder / "leosim").mkdir()
        (folder / "leosim" / "__init__.py").write_text(FAULTY_LEOSIM)
        self._environment = {"PYTHONPATH": str(folder), STATE: str(self._state)}
        # Without its hooks at exit, Ray lets other threads than the first add nodes.
        self.cluster = Cluster(
            True, head_node_args={**self._node(), "include_dashboard": False}, shutdown_at_exit=False
        )

    @property
    def address(self) -> str:
        return self.cluster.address

    def add(self) -> None:
        """Add a node like the head."""
        self.cluster.add_node(**self._node())

    def add_faulty_after(self, action: Callable[[], Any], state: str) -> None:
        """After ``action()`` succeeds, add a node with a state as `become` sets it, on another thread."""

        def add() -> None:
            eventually(action)
            self.become(state)
            self.cluster.add_node(**self._node(), env_vars=self._environment)

        threading.Thread(target=add, daemon=True).start()

    def shut_down(self) -> None:
        """End all nodes."""
        ray.shutdown()
        # Agents outlive their nodes by minutes.
        agents = [pid for pid, name in descendants(os.getpid()).items() if name.startswith("ray::")]
        self.cluster.shutdown()
        kill(agents)

    def become(self, state: str) -> None:
        """Say what new processes of the faulty node have: ``build``, ``missing``, or ``hidden FOLDER``."""
        self._state.write_text(state)

    @staticmethod
    def _node() -> dict[str, Any]:
        return {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES // 2}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    cluster_nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    yield cluster_nodes
    cluster_nodes.shut_down()


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clean-up last: on a busy machine a command's forced exit would end the process of the tests."""
    monkeypatch.setattr(watched, "CLEANUP_TIMEOUT_S", GUARD_S)


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., str]:
    def write(repeats: int, duration_s: float, rate_mbps: int = 10) -> str:
        file = tmp_path / "short.yaml"
        file.write_text(SHORT.format(repeats=repeats, duration_s=duration_s, rate_mbps=rate_mbps))
        return str(file)

    return write


def evaluated(suite: str, folder: Path, nodes: Nodes | None, *options: str) -> pl.DataFrame:
    where = ["--ray", nodes.address] if nodes is not None else []
    cli.run([suite, "--schemes", "cubic", "--out", str(folder), *where, *options])
    return pl.read_parquet(folder / "runs.parquet").sort("repeat")


def one_line(raised: pytest.ExceptionInfo[InputError]) -> str:
    line = str(raised.value)
    assert "\n" not in line
    return line


def eventually(read: Callable[[], Any]) -> Any:
    tick = threading.Event()
    for _ in range(int(GUARD_S / 0.02)):
        if value := read():
            return value
        tick.wait(0.02)
    raise AssertionError("never happened")


def workers_of(pid: int) -> list[int]:
    """Return the processes below ``pid`` that carry out a run."""
    return [worker for worker, name in descendants(pid).items() if name.startswith("ray::_run_remo")]


def test_runs_in_flight_follow_the_processors_of_a_cluster_that_grows(nodes, tmp_path):
    runs = planned(tmp_path, SHORT.format(repeats=40, duration_s=1, rate_mbps=10))
    lock, ended, most = threading.Lock(), threading.Event(), [0]
    active = 0

    def take(run: Any, parts: Iterator[Measurement]) -> None:
        nonlocal active
        with lock:
            active += 1
            most[0] = max(most[0], active)
        list(parts)
        ended.wait()
        with lock:
            active -= 1

    with joining.joined(nodes.address, resume=""):
        assert joining.current().cpus == 1
        running = execute.run_on_ray(runs, WHOLE, 0, take)
        consumer = threading.Thread(target=list, args=(running,))
        consumer.start()
        eventually(lambda: most[0] == 2)
        nodes.add()
        try:
            eventually(lambda: most[0] == 4)
        finally:
            ended.set()
            consumer.join()
    assert most[0] == 4


def test_a_worker_that_is_killed_is_one_line_and_changes_no_result(
    nodes, suite, tmp_path, monkeypatch, capsys
):
    name = suite(repeats=3, duration_s=2000, rate_mbps=50)
    here = evaluated(name, tmp_path / "here", None, "--cache", "none")
    table = capsys.readouterr().out
    victims = []

    def kill() -> None:
        victims.append(eventually(lambda: workers_of(os.getpid()))[0])
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    there = evaluated(name, tmp_path / "there", nodes, "--cache", "none")
    killer.join()
    assert len(victims) == 1
    assert there.equals(here)
    captured = capsys.readouterr()
    assert captured.out.replace("there", "here") == table
    [line] = [line for line in captured.err.splitlines() if "worker" in line]
    assert line.endswith(": a worker was killed or died: its work starts again elsewhere")
    assert line.startswith("node ")


def test_waiting_for_processors_that_others_use_is_said(nodes, suite, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(watched, "REPORT_WAIT_AFTER_S", 0.0)
    printed = threading.Event()
    say = watched._say

    def heard(line: str) -> None:
        say(line)
        printed.set()

    monkeypatch.setattr(watched, "_say", heard)
    released = tmp_path / "released"

    def occupy(path: str) -> None:
        import os
        import time

        while not os.path.exists(path):
            time.sleep(0.02)

    with joining.joined(nodes.address, resume=""):
        tasks = [ray.remote(num_cpus=1)(occupy).remote(str(released)) for _ in range(2)]
        release = threading.Thread(target=lambda: (printed.wait(GUARD_S), released.touch()))
        release.start()
        evaluated(suite(repeats=1, duration_s=1), tmp_path / "out", nodes, "--cache", "none")
        release.join()
        ray.get(tasks)
    has = "the cluster has 2 on 2 nodes"
    line = f"--ray: {nodes.address}: a run needs 1 CPU, {has}, and others use them: waiting"
    assert line in capsys.readouterr().err.splitlines()


def test_more_processors_than_the_cluster_has_are_refused(nodes, tmp_path):
    arguments = [
        "--agent",
        "ppo",
        "--engine",
        "rllib",
        "--steps",
        "9",
        "--workers",
        "5",
        "--ray",
        nodes.address,
    ]
    with pytest.raises(InputError) as raised:
        train_cli.run([*arguments, "--out", str(tmp_path / "out")])
    assert one_line(raised) == (
        f"--ray: {nodes.address}: --workers 5 needs 5 CPUs, the cluster has 2 on 2 nodes"
    )
    assert not (tmp_path / "out").exists()


def test_sigterm_ends_a_command_with_one_line(nodes, suite, tmp_path):
    arguments = [
        suite(repeats=1, duration_s=7200, rate_mbps=10_000),
        "--schemes",
        "cubic",
        "--ray",
        nodes.address,
    ]
    evaluating = subprocess.Popen(
        [sys.executable, "evaluate.py", *arguments, "--out", str(tmp_path / "out"), "--cache", "none"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        eventually(lambda: evaluating.poll() is not None or workers_of(os.getpid()))
        evaluating.send_signal(signal.SIGTERM)
        out, err = evaluating.communicate(timeout=GUARD_S)
    finally:
        evaluating.kill()
        evaluating.wait()
    assert evaluating.returncode == 128 + signal.SIGTERM, err
    assert err == "interrupted: recorded runs are kept; continue with --resume\n"
    assert out == ""


def test_a_node_of_another_build_that_joins_ends_the_command(nodes, suite, tmp_path):
    name = suite(repeats=500, duration_s=20, rate_mbps=50)
    nodes.add_faulty_after(lambda: workers_of(os.getpid()), "build")
    with pytest.raises(InputError) as raised:
        evaluated(name, tmp_path / "out", nodes, "--cache", str(tmp_path / "cache"))
    line = one_line(raised)
    assert f"leosim is build {'0' * 12}, here {leosim.BUILD[:12]}: install the same wheels there" in line
    assert line.endswith("; recorded runs are kept: continue with --resume")
    recorded = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    here = evaluated(name, tmp_path / "here", None, "--cache", "none", "--repeats", "1")
    columns = [column for column in here.columns if column not in ("repeat", "run_id", "seed")]
    assert (
        recorded.filter(pl.col("repeat") == 0).select(columns).equals(here.select(columns))
        or recorded.is_empty()
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("build", "leosim is build 000000000000, here "),
        ("missing", "leosim is not installed: install the same wheels there"),
    ],
)
def test_a_node_that_would_give_other_results_is_refused_by_name(nodes, suite, tmp_path, state, expected):
    nodes.become(state)
    with pytest.raises(InputError) as raised:
        evaluated(suite(repeats=2, duration_s=1), tmp_path / "out", nodes, "--cache", str(tmp_path / "cache"))
    line = one_line(raised)
    assert line.startswith("node ")
    assert expected in line
    assert not (tmp_path / "out").exists()
    assert not list((tmp_path / "cache").rglob("*.zip"))


def test_a_node_that_does_not_see_the_folder_of_a_sweep_is_refused_and_no_trial_is_given_up(nodes, tmp_path):
    file, out = tmp_path / "unseen.yaml", tmp_path / "out"
    file.write_text(SWEEP)
    nodes.become(f"hidden {out}")
    with pytest.raises(InputError) as raised:
        train_cli.run(["--sweep", str(file), "--out", str(out), "--ray", nodes.address])
    line = one_line(raised)
    assert line.startswith("node ")
    assert f"{out}: --out: is not seen by this node: name a folder that all nodes share" in line
    assert {path.name for path in out.iterdir()} == {".gitignore", "sweep.yaml"}


def test_a_head_that_dies_is_one_line_that_says_how_to_continue(nodes, suite, tmp_path, monkeypatch):
    monkeypatch.setattr(watched, "HEAD_LOST_AFTER_S", 0.5)
    nodes.become("")
    head = nodes.cluster.head_node.all_processes["gcs_server"][0].process

    def kill() -> None:
        eventually(lambda: workers_of(os.getpid()))
        head.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(InputError) as raised:
        evaluated(suite(repeats=500, duration_s=20, rate_mbps=50), tmp_path / "out", nodes, "--cache", "none")
    killer.join()
    line = one_line(raised)
    assert line.startswith(f"--ray: {nodes.address}: the head is lost: no cluster answers: ")
    assert line.endswith("; recorded runs are kept: continue with --resume")


def test_no_process_of_a_ray_outlives_the_driver_that_started_it_and_was_killed():
    script = (
        "import time\n"
        "from leogym.common.cluster.joining import joined\n"
        "with joined('local', resume='', store_bytes=1 << 27):\n"
        "    print('joined', flush=True)\n"
        "    time.sleep(1000)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    assert driver.stdout.readline() == "joined\n"
    started = [*descendants(driver.pid)]
    assert len(started) > 4
    driver.kill()
    driver.wait()
    driver.stdout.close()
    eventually(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()])
