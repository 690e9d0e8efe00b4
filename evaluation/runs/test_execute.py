"""Runs in parts, here and on a Ray cluster: identical bytes, and at most one part in memory."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import leosim
import polars as pl
import pytest

from leogym.common.cluster import joining
from leogym.common.errors import InputError
from leogym.configs import suite
from leogym.evaluation import cli
from leogym.evaluation.recorded.store import Store
from leogym.evaluation.runs import execute, plan
from leogym.evaluation.runs.backends import Inputs, Simulator, measure
from leogym.evaluation.runs.plan import Run
from leogym.evaluation.runs.schemes import Contestants
from leogym.results.measurement import Measurement
from leogym.results.metrics import SHARED_METRICS
from tests.support import local_ray
from tests.support.sample_results import sample_measurement, sample_plan

ROOT = Path(__file__).resolve().parents[2]
WHOLE = Inputs({}, {})
IN_PARTS = replace(WHOLE, part_rows=50)

PAIR = """
name: pair
title: two flows and a way back
repeats: 2
scenario:
  duration_s: 6
  links: {l: {rate_mbps: 10, delay_ms: 10, reverse: {rate_mbps: 5}}}
  flows:
    - {scheme: $scheme, route: [l]}
    - {scheme: $scheme, start_s: 0.5, stop_s: 5.05, route: [l]}
    - {scheme: reno, start_s: 1, transfer_bytes: 500000, route: [l]}
"""

# Series of 100 flows, for a tenth of the time and then for all of it; prints the peak's growth in MiB.
HUNGRY = """
import sys
from pathlib import Path
from leogym.evaluation.runs.test_execute import memory_plan, WHOLE
from leogym.evaluation.runs.backends import Simulator, measure
from leogym.evaluation.recorded.store import Store
from dataclasses import replace

def peak_mib():
    # ru_maxrss starts at the parent process's value.
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024

engine, store = Simulator(replace(WHOLE, part_rows=int(sys.argv[2]))), Store.create(Path(sys.argv[1]), {})
peaks = []
for run in memory_plan(Path(sys.argv[1]), [60, 600]):
    store.add(run, store.take(run, measure(engine, run.scenario.to_json(), run.interval_ms)))
    peaks.append(peak_mib())
print(peaks[1] - peaks[0])
"""


def planned(folder: Path, text: str) -> list[Run]:
    file = folder / "suite.yaml"
    file.write_text(text)
    return plan.expand(
        suite.load(str(file)),
        Contestants(["cubic"], {}),
        {},
        backend="simulator",
        backend_schemes=["cubic", "reno", "udp"],
        base_seed=1,
        repeats=None,
        version="test",
    )


def memory_plan(folder: Path, durations_s: list[float]) -> list[Run]:
    """Return runs of 100 flows that each send a packet per second."""
    runs = []
    for duration_s in durations_s:
        [run] = planned(
            folder,
            f"{{name: long-{duration_s}, title: long, repeats: 1, scenario: {{duration_s: {duration_s}, "
            "links: {l: {rate_mbps: 10, delay_ms: 10}}, "
            "flows: [{scheme: udp, rate_mbps: 0.012, count: 100, route: [l]}]}}",
        )
        runs.append(run)
    return runs


def carried_out(folder: Path, inputs: Inputs, runs: list[Run], jobs: int, *, ray: str | None = None) -> Path:
    """Run everything into ``folder``, here or on a Ray cluster."""
    store = Store.create(folder, {})
    run_all = execute.run_on_ray if ray else execute.run_here
    with joining.joined(ray, resume=""):
        for run, rows in run_all(runs, inputs, jobs, store.take):
            store.add(run, rows)
    store.flush()
    return folder


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_a_run_in_parts_gives_the_series_of_the_run_as_a_whole_and_the_same_rows(tmp_path):
    runs = planned(tmp_path, PAIR)
    whole = carried_out(tmp_path / "whole", WHOLE, runs, 1)
    parts = carried_out(tmp_path / "parts", IN_PARTS, runs, 1)
    assert len(list(measure(Simulator(IN_PARTS), runs[0].scenario.to_json(), 30.0))) > 3
    names = sorted(path.relative_to(whole) for path in (whole / "series").rglob("*.parquet"))
    assert len(names) == 2 * len(runs)
    for name in names:
        assert pl.read_parquet(whole / name).equals(pl.read_parquet(parts / name))
    rows = [pl.read_parquet(folder / "runs.parquet") for folder in (whole, parts)]
    assert rows[0].drop(SHARED_METRICS).equals(rows[1].drop(SHARED_METRICS))
    # Sums over parts round differently.
    for name in SHARED_METRICS:
        for one, other in zip(rows[0][name], rows[1][name], strict=True):
            assert one == pytest.approx(other, rel=1e-12)


def test_a_run_as_a_whole_and_the_backends_own_log_agree(tmp_path):
    run = planned(tmp_path, PAIR)[0]
    log = Simulator(WHOLE).run(run.scenario.to_json(), run.interval_ms)
    [part] = measure(Simulator(WHOLE), run.scenario.to_json(), run.interval_ms)
    assert part.flows == log.flows
    assert part.links == log.links
    for series in ("flow_series", "link_series"):
        for name, column in getattr(log, series).items():
            assert getattr(part, series)[name].tobytes() == column.tobytes()


@pytest.mark.slow
@pytest.mark.local_ray
@pytest.mark.xdist_group("ray")
def test_the_executor_and_its_jobs_leave_no_trace_in_any_file(tmp_path):
    runs = planned(tmp_path, PAIR)
    expected = bytes_of(carried_out(tmp_path / "1", IN_PARTS, runs, 1))
    assert len(expected) == 1 + 2 * len(runs)
    assert bytes_of(carried_out(tmp_path / "3", IN_PARTS, runs, 3)) == expected
    assert bytes_of(carried_out(tmp_path / "ray", IN_PARTS, runs, 0, ray="local")) == expected


@pytest.mark.parametrize(
    "where",
    [[], pytest.param(["--ray", "local"], marks=local_ray.MARKS)],
)
def test_what_only_the_backend_can_refuse_is_one_line_and_leaves_no_series(tmp_path, where):
    # Whether a scheme's transport has a setting is known where it runs.
    link = {"rate_mbps": 10, "delay_ms": 1}
    flow = {"scheme": "$scheme", "route": ["l"], "rate_mbps": 1}
    file = tmp_path / "paced.yaml"
    file.write_text(json.dumps({"duration_s": 1, "links": {"l": link}, "flows": [flow]}))
    with pytest.raises(InputError) as raised:
        cli.run([str(file), "--schemes", "quic:quinn-cubic", "--out", str(tmp_path / "out"), *where])
    assert "flows.0.rate_mbps: a QUIC flow is backlogged or a transfer" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list((tmp_path / "out" / "series").rglob("*.parquet")) == []


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), 1e10])
def test_a_simulation_advances_by_a_positive_time(tmp_path, seconds):
    simulation = leosim.Simulation(planned(tmp_path, PAIR)[0].scenario.to_json(), {})
    with pytest.raises(leosim.InputError, match="arguments: seconds: must be positive and at most 1e9"):
        simulation.advance(seconds)
    simulation.advance(0.25)
    assert simulation.time_s == 0.25
    assert not simulation.finished


def test_a_run_that_fails_half_way_leaves_no_file_behind(tmp_path):
    [run] = sample_plan("leo-pair", ["reno"], 1)[:1]
    store = Store.create(tmp_path, {})

    def parts() -> Iterator[Measurement]:
        yield sample_measurement(run.scenario)
        raise InputError("half way")

    with pytest.raises(InputError, match="half way"):
        store.take(run, parts())
    assert [path for path in (tmp_path / "series").rglob("*") if path.is_file()] == []


def test_a_signal_that_does_not_wake_the_main_thread_ends_what_runs(tmp_path, monkeypatch):
    main = threading.main_thread().ident
    waiting, asked = threading.Event(), []
    wait = execute.wait

    def told(*arguments: Any, **options: Any) -> Any:
        waiting.set()
        return wait(*arguments, **options)

    class Endless(Simulator):
        """Interrupts the process while its main thread waits, and runs until stopped."""

        def stream(self, scenario_json: str, interval_ms: float) -> Iterator[Measurement]:
            stopped = threading.Event()
            with self._stop.by(stopped.set):
                assert waiting.wait(20)
                while sys._current_frames()[main].f_code is not threading.Condition.wait.__code__:
                    pass
                signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                asked.append(stopped.wait(20))
            yield from super().stream(scenario_json, interval_ms)

    monkeypatch.setattr(execute, "wait", told)
    monkeypatch.setattr(execute, "backend", lambda _: Endless)
    # Libraries that other tests of this process use may have left a handler that does not raise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            carried_out(tmp_path, WHOLE, planned(tmp_path, PAIR)[:1], 1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert asked == [True]


def test_a_long_run_of_many_flows_takes_no_more_memory_than_a_short_one(tmp_path):
    def growth_mib(part_rows: int) -> float:
        done = subprocess.run(
            [sys.executable, "-c", HUNGRY, str(tmp_path / str(part_rows)), str(part_rows)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)

    # 540,000 more rows of 80 bytes are 41 MiB, which are copied on the way to the file.
    assert growth_mib(1 << 13) < 15.0
    assert growth_mib(1 << 30) > 40.0
