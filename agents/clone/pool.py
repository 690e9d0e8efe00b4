"""Collects the pool: observations, actions and rewards of kernel schemes, as a Parquet dataset.

A pool is a folder with a file for each situation (``situation-NNNNN.parquet``), one for each run repeated on
the lab's Linux (``situation-NNNNN-lab-SCHEME.parquet``), ``settings.json``, written first, and ``pool.json``,
written last, which lists the lab's files. A file has a row group for each scheme and a row for each interval
that brought a delivery:

- ``observation``: the 69 signals at its end (float32);
- ``action``: base-2 logarithm of the window at the end of the next such interval over the window now, in
  whole thousandths, within [-2, 2] (float32);
- ``reward``: of that next interval (float32);
- ``backend``: ``simulator`` or ``lab``.

Collection resumes: it keeps the files of the same settings and build, and interruptions do not change the
result.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import leosim
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from leogym.agents.clone import lab, scenarios
from leogym.agents.clone.lab import LabRun
from leogym.agents.clone.scenarios import Situation
from leogym.agents.clone.settings import CloneSettings
from leogym.common import build, lock
from leogym.common.atomic import sync_file, sync_folder, write_atomically
from leogym.common.errors import InputError
from leogym.results.provenance import describe

FORMAT, VERSION = "leogym-pool", 1
SIMULATOR = "simulator"
SPEC_VERSION = 1
"""Version of the specification ``sage`` that defines the stored signals and actions."""

ACTION_MAX = 2.0
ACTION_ENTRY = 68
"""Index of the previous action in an observation."""

Run = dict[str, NDArray[np.float32]]


def schema(observation_dim: int) -> pa.Schema:
    """Return the Parquet schema."""
    return pa.schema(
        [
            pa.field("observation", pa.list_(pa.float32(), observation_dim), nullable=False),
            pa.field("action", pa.float32(), nullable=False),
            pa.field("reward", pa.float32(), nullable=False),
            pa.field("backend", pa.string(), nullable=False),
        ]
    )


def default_folder(settings: CloneSettings) -> Path:
    """Return the default folder of the pool of ``settings``; different pools have different folders."""
    text = json.dumps([VERSION, _key(settings)])
    return Path("runs/pools") / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def watch(situation: Situation, schemes: tuple[str, ...], settings: CloneSettings) -> dict[str, Run]:
    """Run every scheme in ``situation``; return what an agent in its place would observe and earn."""
    slots = 2 if situation.shared else 1
    batch = leosim.Batch(
        len(schemes),
        slots=slots,
        agent=settings.spec,
        reward=settings.reward,
        interval_ms=settings.interval_ms,
        threads=settings.workers,
        watch=True,
        # The competing flow is never held.
        hold=1 if settings.pool.hold else 0,
    )
    traces = situation.traces()
    for index, scheme in enumerate(schemes):
        batch.reset(index, situation.scenario(scheme).to_json(), traces)
    delivered = batch.report_fields.index("delivered_bytes")
    actions = np.zeros((len(schemes), slots, batch.action_dim), np.float32)
    rows: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
    while True:
        heard = batch.reports[:, 0, delivered] > 0
        rows.append((heard, batch.observations[:, 0].copy(), batch.rewards_view[:, 0].copy()))
        if batch.finished.all():
            break
        batch.step(actions)
    heard, observations, rewards = (np.stack(column) for column in zip(*rows, strict=True))
    return {
        scheme: transitions(heard[:, index], observations[:, index], rewards[:, index])
        for index, scheme in enumerate(schemes)
    }


def transitions(
    heard: NDArray[np.bool_], observations: NDArray[np.float32], rewards: NDArray[np.float32]
) -> Run:
    """Return a run's columns from the intervals with a delivery (``heard``); the last has no action."""
    observations, rewards = observations[heard], rewards[heard]
    return {
        "observation": observations[:-1],
        "action": np.clip(observations[1:, ACTION_ENTRY], -ACTION_MAX, ACTION_MAX),
        "reward": rewards[1:],
    }


def write(
    path: Path, runs: dict[str, Run], situation: Situation, more: Mapping[str, str] | None = None
) -> None:
    """Write one file atomically, with ``more`` added to its metadata."""
    dim = next(iter(runs.values()))["observation"].shape[1]
    says = {"situation": situation.name, "schemes": ",".join(runs), "spec_version": str(SPEC_VERSION)}
    says = {"backend": SIMULATOR, **says, **(more or {})}
    temporary = path.with_name(f".{path.name}.tmp")
    with pq.ParquetWriter(temporary, schema(dim).with_metadata(says), compression="zstd") as writer:
        for run in runs.values():
            observations = pa.FixedSizeListArray.from_arrays(pa.array(run["observation"].ravel()), dim)
            backends = pa.array([says["backend"]] * len(run["action"]))
            columns = [observations, pa.array(run["action"]), pa.array(run["reward"]), backends]
            table = pa.Table.from_arrays(columns, schema=schema(dim))
            # A run must be a single row group.
            writer.write_table(table, row_group_size=max(1, len(run["action"])))
    sync_file(temporary)
    temporary.replace(path)
    sync_folder(path.parent)


def collect(settings: CloneSettings, folder: Path, say: Callable[[str], None] = print) -> Path:
    """Collect the pool of ``settings`` in ``folder``, unless it exists; return ``folder``.

    An interrupted collection is completed, and a pool of the same settings with fewer lab runs is extended.
    ``say`` receives progress lines with time estimates.

    Raises:
        InputError: a backend lacks a scheme, the lab is needed and missing, one of its runs failed, the
            folder is of other settings, or it cannot be written.
    """
    ranges = settings.pool
    if unknown := sorted(set(ranges.schemes) - set(leosim.schemes())):
        raise InputError(f"settings: pool.schemes: the simulator has no {', '.join(unknown)}")
    if _is_complete(folder, settings):
        return folder
    if settings.lab_runs:
        lab.require(settings)
    if (folder / lock.NAME).exists():
        say(f"pool: {folder}: waits until no other process collects it")
    with lock.held(folder, wait=True):
        if not _is_complete(folder, settings):
            _complete(settings, folder, say)
    return folder


def _is_complete(folder: Path, settings: CloneSettings) -> bool:
    if not (folder / "pool.json").is_file():
        return False
    index = read_index(folder)
    require_same(index, settings, folder)
    return not _lacks_lab_runs(index, settings)


def _complete(settings: CloneSettings, folder: Path, say: Callable[[str], None]) -> None:
    """Collect what ``folder`` lacks; the caller holds its lock."""
    ranges = settings.pool
    before = read_index(folder) if (folder / "pool.json").is_file() else None
    situations = scenarios.pool(ranges, settings.seed)
    repeated = lab.sample(len(situations), ranges.schemes, settings.lab_runs, settings.seed)
    try:
        if before is None:
            _require_own(folder, settings)
            _collect_simulated(settings, folder, situations, say)
        _collect_lab(settings, folder, situations, repeated, say)
        index = before or {
            "format": FORMAT,
            "version": VERSION,
            **_made_of(settings),
            "situations": [situation.name for situation in situations],
            "provenance": describe(settings.model_dump(mode="json"), settings.seed),
        }
        counts = {SIMULATOR: len(situations) * len(ranges.schemes), lab.BACKEND: len(repeated)}
        index |= {"runs": counts, "lab": [run.described() for run in repeated]}
        write_atomically(folder / "pool.json", (json.dumps(index, indent=2) + "\n").encode())
    except OSError as error:
        raise InputError(f"{folder}: (pool): cannot be written: {error.strerror}") from None


def _made_of(settings: CloneSettings) -> dict[str, Any]:
    """Return the settings that determine a pool's runs, as its index stores them."""
    return {
        "spec": settings.spec,
        "spec_version": SPEC_VERSION,
        "reward": settings.reward,
        "interval_ms": settings.interval_ms,
        "seed": settings.seed,
        "ranges": settings.pool.model_dump(mode="json"),
    }


def _key(settings: CloneSettings) -> dict[str, Any]:
    """Return what determines the files of a pool, as its ``settings.json`` stores it."""
    return {**_made_of(settings), "build": build.core()}


def _require_own(folder: Path, settings: CloneSettings) -> None:
    """Mark ``folder`` as of ``settings``; raise `InputError` if it has files of others."""
    path, key = folder / "settings.json", _key(settings)
    if path.is_file():
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        if stored != key:
            stored = stored if isinstance(stored, dict) else {}
            other = ", ".join(name for name, value in key.items() if stored.get(name) != value)
            remedy = "delete this folder, or name another with --set pool_folder=DIR"
            raise InputError(f"{path}: an unfinished pool of other settings ({other}): {remedy}")
    elif part(folder, 0).is_file():
        raise InputError(f"{path}: is missing, but the folder has situations: delete them")
    else:
        write_atomically(path, (json.dumps(key, indent=2) + "\n").encode())


def _lacks_lab_runs(index: dict[str, Any], settings: CloneSettings) -> bool:
    """Return whether a pool matches ``settings`` except that it has fewer lab runs."""
    matches = all(index.get(name) == value for name, value in _made_of(settings).items())
    return matches and len(index.get("lab", [])) < settings.lab_runs


def _collect_simulated(
    settings: CloneSettings, folder: Path, situations: list[Situation], say: Callable[[str], None]
) -> None:
    schemes = settings.pool.schemes
    simulated_h = len(situations) * len(schemes) * settings.pool.duration_s / 3600
    say(f"pool: {len(situations)} situations with {len(schemes)} schemes, {simulated_h:.3g} h simulated")
    started, packets, behind = time.monotonic(), 0.0, 0.0
    ahead = sum(_packets(situation) for situation in situations)
    for number, situation in enumerate(situations):
        path = part(folder, number)
        if not path.is_file():
            write(path, watch(situation, schemes, settings), situation)
            packets += _packets(situation)
            if packets >= behind:
                spent = time.monotonic() - started
                minutes_left = _minutes(spent * ahead / packets - spent)
                say(f"pool: {number + 1} of {len(situations)}, about {minutes_left} left")
                behind = packets + ahead / 8
        else:
            ahead -= _packets(situation)


def _collect_lab(
    settings: CloneSettings,
    folder: Path,
    situations: list[Situation],
    repeated: list[LabRun],
    say: Callable[[str], None],
) -> None:
    missing = [run for run in repeated if not (folder / run.file).is_file()]
    if not missing:
        return
    virtual_s = len(missing) * settings.pool.duration_s
    say(f"pool: {len(missing)} runs on the lab's Linux, {virtual_s:.0f} s of its time")

    def repeat(run: LabRun) -> LabRun:
        situation = situations[run.situation]
        columns = transitions(*lab.watch(situation, run.scheme, settings))
        write(folder / run.file, {run.scheme: columns}, situation, lab.file_says(run))
        return run

    with ThreadPoolExecutor(settings.workers) as threads:
        results = [threads.submit(repeat, run) for run in missing]
        try:
            for done, result in enumerate(as_completed(results), 1):
                run = result.result()
                instead = "" if run.scheme == run.asked else f" for {run.asked}"
                where = f"{situations[run.situation].name} {run.scheme}"
                say(f"pool: lab: {done} of {len(missing)}: {where}{instead}")
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def part(folder: Path, number: int) -> Path:
    """Return the path of situation ``number``'s file."""
    return folder / f"situation-{number:05d}.parquet"


def read_index(folder: Path) -> dict[str, Any]:
    """Read ``pool.json``, or raise `InputError` if it is unreadable or has another version."""
    path = folder / "pool.json"
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    wanted = {"format": FORMAT, "version": VERSION, "spec_version": SPEC_VERSION}
    for field, must in wanted.items():
        got = index.get(field) if isinstance(index, dict) else None
        if got != must:
            raise InputError(f"{path}: {field}: must be {must!r}, not {got!r}")
    return index


def require_same(index: dict[str, Any], settings: CloneSettings, folder: Path) -> None:
    """Raise `InputError` unless the pool has the settings' signals, rewards and ranges.

    Its seed and build may be others: a finished pool is data, which runs of several seeds can learn from.
    """
    for field in ("spec", "reward", "interval_ms"):
        if index[field] != (must := getattr(settings, field)):
            raise InputError(f"{folder / 'pool.json'}: {field}: is {index[field]!r}, not {must!r}")
    ranges = settings.pool.model_dump(mode="json")
    for field, must in ranges.items():
        if (got := index["ranges"].get(field)) != must:
            raise InputError(f"{folder / 'pool.json'}: ranges: {field}: is {got!r}, not {must!r}")


def files(folder: Path, index: dict[str, Any], lab_runs: int) -> list[list[Path]]:
    """Return each situation's files: the simulator's and those of the first ``lab_runs`` lab runs.

    If the pool has fewer lab runs, raise `InputError`.
    """
    situation_files = [[part(folder, number)] for number in range(len(index["situations"]))]
    listed = index.get("lab", [])
    if len(listed) < lab_runs:
        raise InputError(f"{folder / 'pool.json'}: lab: has {len(listed)} runs, not {lab_runs}")
    for run in listed[:lab_runs]:
        situation_files[run["situation"]].append(folder / run["file"])
    return situation_files


def _packets(situation: Situation) -> float:
    """Estimate a run's cost: its packets, plus a little for every interval."""
    return situation.duration_s * ((1 + situation.step) / 2 * situation.rate_mbps + 10)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
