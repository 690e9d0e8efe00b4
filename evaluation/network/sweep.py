"""Run a sweep over networks on this machine's cores or on a Ray cluster; a killed sweep resumes."""

import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from leogym.common import build, json_text, lock, output_folder, text_file
from leogym.common.atomic import write_atomically
from leogym.common.cluster import joining
from leogym.common.errors import InputError
from leogym.common.progress import Progress
from leogym.evaluation.network import cells, run
from leogym.evaluation.network.cells import Cell
from leogym.evaluation.runs import execute
from leogym.evaluation.runs.backends import policy_of
from leogym.evaluation.runs.schemes import Policy
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.metrics import jain
from leogym.traces.network import description as describing
from leogym.traces.network.description import Description

PLAN = "cells.json"
TABLE = "sweep.csv"
RESUME = "finished runs are kept: continue with --resume"
_MOST_BYTES = 256 << 20


def carry_out(
    planned: Sequence[Cell],
    given: Mapping[str, Policy],
    folder: Path,
    *,
    jobs: int = 0,
    ray: str | None = None,
    resume: bool = False,
    series_ms: float = 1000.0,
) -> pl.DataFrame:
    """Run each cell into a folder of its name within ``folder``; write and return the table of all.

    Args:
        planned: the cells.
        given: policies by the schemes that they steer, besides shipped ones.
        folder: the output folder.
        jobs: runs at a time; 0: one per core, or two per core of a cluster.
        ray: the address of a cluster, as for `joining.joined`.
        resume: keep the finished runs in ``folder``. It may hold runs of other cells.
        series_ms: interval of the series; 0 for none.

    Raises:
        InputError: a cell is invalid, or the folder holds a sweep that this one does not continue.
    """
    output_folder.require(folder, "a sweep of networks")
    for cell in {(cell.network.name, cell.schemes, cell.load): cell for cell in planned}.values():
        _described(cell, given)
    with joining.joined(ray, resume=RESUME, packages=execute.PACKAGES), lock.held(folder):
        _claim(planned, given, folder, series_ms, resume)
        missing = [cell for cell in planned if not (folder / cell.name / run.META).is_file()]
        for cell in missing:  # a kill may have left some tables
            shutil.rmtree(folder / cell.name, ignore_errors=True)

        def take(cell: Cell, parts: Iterator[run.NetworkRun]) -> None:
            for measured in parts:
                run.save(measured, cell.network, folder / cell.name)

        def work(cell: Cell, stop: Stop) -> Iterator[run.NetworkRun]:
            yield from _measured(series_ms, *_described(cell, given), stop)

        if ray:
            finished = execute.items_on_ray(
                missing,
                _measured,
                series_ms,
                jobs,
                take,
                arguments=lambda cell: _described(cell, given),
                label=lambda cell: cell.name,
            )
        else:
            finished = execute.items_here(missing, work, jobs, take)
        with closing(finished), Progress("sweep", len(missing)) as progress:
            for _ in finished:
                progress.advance(1)
        rows = [row for cell in planned for row in _rows(cell, folder / cell.name)]
        table = pl.DataFrame(rows, infer_schema_length=None)
        text = io.StringIO()
        table.write_csv(text)
        write_atomically(folder / TABLE, text.getvalue().encode())
    return table


def _described(cell: Cell, given: Mapping[str, Policy]) -> tuple[Description, dict[str, dict[str, bytes]]]:
    description = describing.describe(cell.network, cells.steered(given))
    policies = cells.policies(description, given)
    return description, {name: dict(policy.files) for name, policy in policies.items()}


def _measured(
    series_ms: float,
    description: Description,
    policies: Mapping[str, Mapping[str, bytes]],
    stop: Stop | None = None,
) -> Iterator[run.NetworkRun]:
    asked = stop or Stop()
    yield run.simulate(
        description,
        {name: policy_of(files) for name, files in policies.items()},
        series_ms=series_ms,
        progress=lambda _: asked.check(),
    )


def _claim(
    planned: Sequence[Cell], given: Mapping[str, Policy], folder: Path, series_ms: float, resume: bool
) -> None:
    """Write what the sweep consists of, or raise an `InputError` if ``folder`` holds a different sweep."""
    path = folder / PLAN
    ours: dict[str, Any] = {
        "build": build.describe(execute.PACKAGES),
        "series_ms": series_ms,
        "policies": {name: policy.sha256 for name, policy in sorted(given.items())},
        "networks": {cell.name: json.loads(cell.network.model_dump_json()) for cell in planned},
    }
    if path.is_file():
        if not resume:
            raise InputError(
                f"{folder}: {PLAN}: holds a sweep (continue with --resume, or name another --out)"
            )
        before = json_text.parse(text_file.read(path, _MOST_BYTES), str(path))
        if (why := build.difference(before["build"], ours["build"])) is not None:
            raise InputError(f"{path}: build: --resume: {why}; or name another --out")
        for field in ("networks", "policies"):
            if any(before[field].get(name, value) != value for name, value in ours[field].items()):
                raise InputError(f"{path}: {field}: --resume: differs from this sweep; name another --out")
            ours[field] = before[field] | ours[field]
        if before["series_ms"] != series_ms:
            raise InputError(f"{path}: series_ms: --resume: is {before['series_ms']:g}; name another --out")
    write_atomically(path, json.dumps(ours, indent=1).encode())


def _rows(cell: Cell, folder: Path) -> list[dict[str, Any]]:
    """Return a row for each scheme of a run."""
    flows = pl.read_parquet(folder / "flows.parquet")
    rows = []
    for (scheme,), part in sorted(flows.group_by("scheme"), key=lambda group: str(group[0])):
        backlogged = part.filter(pl.col("transfer_bytes").is_null())["goodput_mbps"].to_list()
        completed = part["completion_s"].drop_nulls().cast(pl.Float64)
        rows.append(
            {
                "network": cell.network.name,
                "schemes": cell.schemes,
                "load": cell.load,
                "seed": cell.network.seed,
                "scheme": scheme,
                "flows": len(part),
                "goodput_mbps": run.total_goodput_mbps(part, cell.network.duration_s),
                "backlogged_jain": jain(backlogged) if len(backlogged) > 1 else None,
                **{
                    column: float(np.nanmean(part[column].cast(pl.Float64).to_numpy()))
                    for column in ("rtt_mean_ms", "delay_inflation", "loss_rate")
                },
                "completed": len(completed),
                "completion_mean_s": completed.mean(),
                "completion_p99_s": completed.quantile(0.99, "linear"),
            }
        )
    return rows
