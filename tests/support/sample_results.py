"""Made-up measurements and folders of results for tests."""

from pathlib import Path
from typing import Any

import numpy as np

from leogym.common.atomic import write_atomically
from leogym.configs import suite as suites
from leogym.configs.scenario import Scenario
from leogym.evaluation.recorded import description
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.store import Store
from leogym.evaluation.runs import plan
from leogym.evaluation.runs.plan import Run, Trace
from leogym.evaluation.runs.schemes import Contestants
from leogym.results.measurement import COLUMNS, Measurement
from leogym.results.metrics import PAYLOAD_SHARE

SAMPLE_PATHS = ["sd-ny-isl", "sd-ny-bp", "sea-ny-isl", "sea-ny-bp", "ny-ldn-isl", "sd-sha-isl"]
# On today's shell, and on LeoEM's, on which papers ran.
SAMPLE_TRACES = {
    name: Trace(5731.0, f"{rank:064x}")
    for rank, name in enumerate(SAMPLE_PATHS + [f"{path}@starlink-leoem~leoem-flat" for path in SAMPLE_PATHS])
}
# Share of the capacity used, and of the queue filled, by a made-up scheme.
CHARACTER = {"reno": (0.72, 0.45), "cubic": (0.9, 0.85), "astraea": (0.94, 0.18)}


def sample_measurement(scenario: Scenario) -> Measurement:
    """Return made-up measurements that depend only on the scenario."""
    rng = np.random.default_rng(scenario.seed)
    time = np.arange(1, round(scenario.duration_s * 10) + 1) / 10.0
    base = 60.0 + 12.0 * np.sin(2 * np.pi * time / 95.0 + rng.uniform(0, 6)) + 6.0 * (time // 15.0 % 3)
    connected = (time % 15.0) > 0.05
    flows, parts = [], []
    for index, flow in enumerate(scenario.flows):
        stop_s = flow.stop_s or scenario.duration_s
        inside = (time > flow.start_s) & (time <= stop_s)
        share, fill = CHARACTER.get(flow.scheme, (0.8, 0.5))
        running = sum(
            (time > other.start_s) & (time <= (other.stop_s or scenario.duration_s))
            for other in scenario.flows
        )
        wobble = 1.0 + 0.12 * np.sin(2 * np.pi * time / (9.0 + index)) + rng.normal(0.0, 0.03, len(time))
        goodput = np.clip(
            100.0 * PAYLOAD_SHARE * share * wobble * (1 + 0.2 * index) / np.maximum(running, 1), 0, 96.5
        )
        rtt = base * (1.0 + fill * np.clip(0.6 + 0.4 * np.sin(time / 4.0 + index), 0.0, 1.0))
        rtt[~connected] = np.nan
        series = {
            "time_s": time,
            "flow": np.full(len(time), index, dtype=np.uint32),
            "goodput_mbps": goodput * connected,
            "send_mbps": goodput,
            "rtt_ms": rtt,
            "base_rtt_ms": base,
            "cwnd_packets": rtt * goodput / 12.0,
            "in_flight_packets": rtt * goodput / 12.0,
            "pacing_mbps": np.full(len(time), np.nan),
            "lost_packets": np.zeros(len(time)),
            "retransmitted_packets": np.zeros(len(time)),
        }
        parts.append({name: column[inside] for name, column in series.items()})
        mean, inflation = float(parts[-1]["goodput_mbps"].mean()), float(np.nanmean((rtt / base)[inside]))
        normalized = mean / (100.0 * PAYLOAD_SHARE)
        flows.append(
            {
                "flow": index,
                "scheme": flow.scheme,
                "start_s": flow.start_s,
                "stop_s": stop_s,
                "goodput_mbps": mean,
                "capacity_mbps": 100.0,
                "normalized_goodput": normalized,
                "rtt_mean_ms": float(np.nanmean(rtt[inside])),
                "rtt_p95_ms": float(np.nanpercentile(rtt[inside], 95)),
                "base_rtt_mean_ms": float(base[inside].mean()),
                "delay_inflation": inflation,
                "loss_rate": 0.0004,
                "retransmit_rate": 0.0005,
                "power": normalized / inflation,
                "sent_packets": 1000,
                "delivered_packets": 998,
                "retransmitted_packets": 1,
                "lost_packets": 1,
                "rtos": 0,
                **{name: None for name, kind in COLUMNS["flows"].items() if kind.startswith("Option")},
            }
        )
    order = np.lexsort(
        (np.concatenate([p["flow"] for p in parts]), np.concatenate([p["time_s"] for p in parts]))
    )
    flow_series = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}
    link_series: dict[str, Any] = {
        "time_s": time,
        "link": np.zeros(len(time), dtype=np.uint32),
        "capacity_mbps": 100.0 * connected,
        "delay_ms": base / 2.0,
        "queue_packets": np.zeros(len(time)),
        "connected": connected,
        "dropped_packets": np.zeros(len(time)),
        "delivered_mbps": np.full(len(time), 90.0),
    }
    links = [
        {
            "link": "path",
            "offered_packets": 1000,
            "delivered_packets": 998,
            "dropped_packets": 1,
            "lost_packets": 1,
            "queued_packets": 0,
            "in_flight_packets": 0,
        }
    ]
    return Measurement(flows, links, flow_series, link_series, list(scenario.links))


def sample_plan(name: str, schemes: list[str], repeats: int) -> list[Run]:
    """Return a shipped suite's runs on made-up traces."""
    return plan.expand(
        suites.load(name).as_quick(),
        Contestants(schemes, {}),
        SAMPLE_TRACES,
        backend="simulator",
        backend_schemes=schemes,
        base_seed=1,
        repeats=repeats,
        version="made up",
    )


def sample_description(runs: list[Run], schemes: list[str]) -> dict[str, Any]:
    """Return a description as in ``run.json``."""
    names = list(dict.fromkeys(run.suite for run in runs))
    chosen = [suites.load(name).as_quick() for name in names]
    return description.describe(chosen, Contestants(schemes, {}), runs, seed=1, options={"quick": True})


def sample_results(folder: Path, names: list[str], schemes: list[str], repeats: int) -> Results:
    """Write an evaluation of made-up measurements into ``folder`` and read it back."""
    runs = [run for name in names for run in sample_plan(name, schemes, repeats)]
    described = sample_description(runs, schemes)
    store = Store.create(folder, described)
    write_atomically(folder / "run.json", description.encode(described))
    for run in runs:
        store.record(run, sample_measurement(run.scenario))
    return Results.read(folder)
