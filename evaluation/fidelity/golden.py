"""Golden files: a real kernel's results of a suite in the lab, to compare the simulator with.

A golden file is JSON. The kernel and provenance come first, then one run per line: its scenario and, for
each flow, a few figures and its window over time.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario, parse
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.series import read_table, summaries_of
from leogym.evaluation.runs.backends import SERIES_MS
from leogym.results.metrics import PAYLOAD_SHARE

FOLDER = Path(__file__).resolve().parents[1] / "golden"
FORMAT, VERSION = "leogym-golden", 1
CWND_STEP_S = 0.5
STARTED = 0.8
"""Start-up ends when a flow first carries this share of its bottleneck's capacity."""


FELT = (
    "startup_s",
    "rebuffer_s",
    "bitrate_mbps",
    "qoe",
    "page_load_s",
    "freeze_s",
    "delay_p50_ms",
    "delay_p95_ms",
)
"""The run log's columns of what users feel."""


@dataclass(frozen=True)
class FlowFigures:
    """A flow's figures to compare."""

    scheme: str
    goodput_mbps: float
    rtt_mean_ms: float | None
    rtt_p95_ms: float | None
    base_rtt_mean_ms: float | None
    retransmit_rate: float | None
    startup_s: float | None
    """Time until the first 100 ms in which it carries `STARTED` of its bottleneck's capacity."""
    cwnd_packets: list[int] = field(default_factory=list)
    felt: dict[str, float] = field(default_factory=dict)
    """What users of its workload felt, by `FELT`."""


@dataclass(frozen=True)
class GoldenRun:
    """One run on the kernel."""

    suite: str
    scheme: str
    """The scheme under test, or the scenario's schemes joined by ``+``."""
    scenario: Scenario
    flows: list[FlowFigures]
    marked_packets: int | None = None
    """Packets that the links' queues marked; None if no flow supports ECN."""


@dataclass(frozen=True)
class Golden:
    """A golden file."""

    provenance: Mapping[str, Any]
    """From `of_results`; ``earlier`` is that of an older recording whose runs `renewed` kept."""
    runs: list[GoldenRun]


def shipped() -> list[Golden]:
    """Read all golden files."""
    return [read(path) for path in sorted(FOLDER.glob("*.json"))]


def read(path: Path) -> Golden:
    """Read a golden file, or raise an `InputError`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (FORMAT, VERSION):
        raise InputError(f"{path}: format, version: must be {FORMAT} {VERSION}")
    runs = [
        GoldenRun(
            run["suite"],
            run["scheme"],
            parse(run["scenario"], str(path)),
            [FlowFigures(**flow) for flow in run["flows"]],
            run.get("marked_packets"),
        )
        for run in data["runs"]
    ]
    return Golden(data["provenance"], runs)


def write(path: Path, golden: Golden) -> None:
    """Write a golden file."""
    lines = [
        json.dumps(
            {
                "suite": run.suite,
                "scheme": run.scheme,
                "scenario": run.scenario.model_dump(mode="json", exclude_defaults=True),
                "flows": [_written(flow) for flow in run.flows],
                **({} if run.marked_packets is None else {"marked_packets": run.marked_packets}),
            }
        )
        for run in golden.runs
    ]
    head = json.dumps({"format": FORMAT, "version": VERSION, "provenance": dict(golden.provenance)})
    text = head[:-1] + ', "runs": [\n' + ",\n".join(lines) + "\n]}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def _written(flow: FlowFigures) -> dict[str, Any]:
    written = asdict(flow)
    return written if flow.felt else {name: value for name, value in written.items() if name != "felt"}


def of_results(results: Results, suite: str, guest: Mapping[str, Any]) -> Golden:
    """Return a suite's lab runs in an evaluation; ``guest`` is the image's manifest."""
    rows = results.runs.filter((pl.col("suite") == suite) & (pl.col("backend") == "lab"))
    if rows.is_empty():
        raise InputError(f"{results.folder}: {suite}: no run of this suite used --backend lab")
    [described] = [candidate for candidate in results.suites if candidate.name == suite]
    runs = []
    order = ["scenario", "run_scheme", "repeat"]
    for (name, scheme, repeat), flows in rows.sort(*order, "flow").group_by(order, maintain_order=True):
        cases = [case.scenario for case in described.cases(str(scheme))]
        [template] = [case for case in cases if case.name == name]
        first = flows.row(0, named=True)
        links = {
            key: link.model_copy(update={"offset_s": first["offset_s"]}) if link.trace is not None else link
            for key, link in template.links.items()
        }
        scenario = template.model_copy(update={"seed": first["seed"], "links": links})
        files = results.series_files(suite, str(name), str(scheme), int(str(repeat)))
        if files is None:
            raise InputError(f"{results.folder}: {suite}: {name}: {scheme}: its series were not kept")
        series = read_table(files["flows"])
        figures = [
            figures_of(row, series.filter(pl.col("flow") == row["flow"]).to_dict(as_series=False))
            for row in flows.iter_rows(named=True)
        ]
        marked = None
        if any(flow.ecn not in (False, "none") for flow in scenario.flows):
            marked = sum(link["marked_packets"] for link in summaries_of(files["links"]))
        runs.append(GoldenRun(suite, str(scheme), scenario, figures, marked))
    description = results.description
    provenance = {
        "kernel": guest["kernel"],
        "image_sha256": guest["sha256"],
        **{name: description.get(name) for name in ("commit", "date", "command")},
    }
    return Golden(provenance, runs)


def renewed(older: Golden, newer: Golden) -> Golden:
    """Return ``older`` updated with the runs of ``newer``.

    Suite, scheme and scenario (with seed and offsets) identify a run. If any of ``older``'s runs stay, its
    provenance becomes ``earlier`` in the result's.
    """

    def key(run: GoldenRun) -> tuple[str, str, str]:
        return run.suite, run.scheme, run.scenario.to_json()

    again = {key(run): run for run in newer.runs}
    older_runs = [run for run in older.runs if key(run) not in again]
    if not older_runs:
        return newer
    order = {key(run): place for place, run in enumerate(older.runs)}
    runs = sorted([*older_runs, *newer.runs], key=lambda run: order.get(key(run), len(order)))
    return Golden({**newer.provenance, "earlier": dict(older.provenance)}, runs)


def figures_of(row: Mapping[str, Any], series: Mapping[str, Any]) -> FlowFigures:
    """Return a flow's figures; ``series`` has ``time_s``, ``goodput_mbps`` and ``cwnd_packets``."""

    def known(name: str) -> float | None:
        value = row[name]
        return None if value is None or np.isnan(value) else round(float(value), 6)

    time_s = np.asarray(series["time_s"]) - row["start_s"]
    full = STARTED * row["capacity_mbps"] * PAYLOAD_SHARE
    reached = np.flatnonzero(np.asarray(series["goodput_mbps"]) >= full)
    # A flow starts a fraction of a millisecond late: take the nearest row, not the next one.
    steps = np.arange(CWND_STEP_S, row["stop_s"] - row["start_s"] + 1e-9, CWND_STEP_S)
    at = np.searchsorted(time_s, steps - SERIES_MS / 2e3)
    cwnd = np.asarray(series["cwnd_packets"])
    return FlowFigures(
        scheme=row["scheme"],
        goodput_mbps=round(float(row["goodput_mbps"]), 6),
        rtt_mean_ms=known("rtt_mean_ms"),
        rtt_p95_ms=known("rtt_p95_ms"),
        base_rtt_mean_ms=known("base_rtt_mean_ms"),
        retransmit_rate=known("retransmit_rate"),
        startup_s=round(float(time_s[reached[0]]), 3) if len(reached) else None,
        cwnd_packets=[int(value) for value in cwnd[at[at < len(cwnd)]]],
        felt={name: value for name in FELT if (value := known(name)) is not None},
    )
