"""Runs a sweep with Ray Tune: trials side by side, early stopping, and going on after a kill.

All that a sweep has found is in its trials' folders. Ray's own record of the experiment is thrown away: a
sweep that is resumed starts Tune anew over the same trials, and each goes on from its folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

# Tables and curves are the sweep's own, and so is what Ctrl-C does.
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "1"

import ray
from ray import tune
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from agents.engines.ray_cluster import running
from agents.sweeps import trial as one
from agents.sweeps.plan import Trial, trials
from agents.sweeps.report import report
from agents.training.stopping import Note, Stop, Stopped
from configs import lock
from configs.atomic import write_atomically
from configs.errors import InputError
from configs.sweep import Sweep, read


class GivenUp(tune.Callback):
    """Notes in a trial's folder that the scheduler stopped it early."""

    def __init__(self, planned: Sequence[Trial], stop: Stop) -> None:
        self._planned, self._stop = planned, stop

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Write the note, unless the trial came to its end, or was asked to stop."""
        planned = self._planned[trial.config["trial"]]
        if not planned.done() and not self._stop.asked:
            steps = (trial.last_result or {}).get("steps", 0)
            write_atomically(planned.given_up, f'{{"steps": {int(steps)}}}\n'.encode())


def run_sweep(
    path: Path,
    out: Path,
    *,
    resume: bool,
    ray_address: str | None,
    workers: int | None,
    stop: Stop,
    note: Note,
) -> Path:
    """Run the sweep in the file at ``path``; return the path of its table.

    Args:
        path: a file of ``configs/sweeps`` or the like.
        out: the sweep's folder.
        resume: whether to go on with the sweep in ``out``, which the file must still describe.
        ray_address: an existing cluster, all of whose nodes see ``out``; None starts Ray here.
        workers: trials at a time, instead of what the file says.
        stop: whether the sweep is asked to stop.
        note: asks its trials to.

    Raises:
        InputError: a file that is no sweep, a folder that has or lacks one, or trials that failed.
        Stopped: the sweep was asked to stop, and its trials have their checkpoints.
    """
    sweep = read(path)
    planned = trials(sweep, out.absolute(), str(path))
    with lock.held(out):
        _claim(sweep, out, resume)
        note.remove()
        with running(ray_address), stop.deferred():
            errors = _tune(sweep, planned, out, workers, Note(note.path.absolute()))
        note.remove()
    if stop.asked:
        raise Stopped
    table = report(sweep, planned, out)
    if errors:
        number, first = min(errors.items())
        raise InputError(f"{out}: {len(errors)} of {len(planned)} trials failed: trial {number}: {first}")
    return table


def _claim(sweep: Sweep, out: Path, resume: bool) -> None:
    text = yaml.safe_dump(sweep.model_dump(mode="json", exclude_defaults=True), sort_keys=False)
    written = out / "sweep.yaml"
    if resume:
        if not written.is_file():
            raise InputError(f"{out}: sweep.yaml: no sweep to resume here")
        if written.read_text(encoding="utf-8") != text:
            raise InputError(f"{written}: --resume: is not the sweep that is asked for; name another folder")
        return
    if written.is_file():
        raise InputError(f"{out}: (folder): has a sweep already; continue it with --resume or name another")
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(written, text.encode())
    except OSError as error:
        raise InputError(f"{out}: (folder): cannot be written: {error.strerror}") from None


def _tune(
    sweep: Sweep, planned: Sequence[Trial], out: Path, workers: int | None, note: Note
) -> dict[int, str]:
    """Run the trials until ``note`` asks them to stop; return what those that failed failed of, by number."""
    record = out.absolute() / "ray"
    shutil.rmtree(record, ignore_errors=True)
    directory = str(Path.cwd())

    def trainable(config: dict[str, Any]) -> None:
        os.chdir(directory)  # Tune has put the process elsewhere; settings may name files from here
        one.run(planned[config["trial"]], sweep.metric, note)

    tuner = tune.Tuner(
        tune.with_resources(trainable, resources(planned, _processors())),
        param_space={"trial": tune.grid_search(list(range(len(planned))))},
        tune_config=tune.TuneConfig(
            metric=sweep.metric,
            mode=sweep.goal,
            scheduler=_scheduler(sweep, planned),
            max_concurrent_trials=workers or sweep.concurrent,
            reuse_actors=True,  # a process that has imported PyTorch goes on with the next trial
        ),
        run_config=tune.RunConfig(
            name="experiment",
            storage_path=str(record),
            failure_config=tune.FailureConfig(max_failures=sweep.failures),
            callbacks=[GivenUp(planned, note)],
            verbose=0,
        ),
    )
    results = tuner.fit()
    failed = {}
    for result in results:
        if result.error is not None:
            number = (result.config or {}).get("trial", -1)
            failed[number] = (str(result.error).strip().splitlines() or ["unknown"])[-1]
    shutil.rmtree(record, ignore_errors=True)
    return failed


def _scheduler(sweep: Sweep, planned: Sequence[Trial]) -> TrialScheduler:
    stopping = sweep.early_stopping
    if stopping is None:
        return FIFOScheduler()
    return ASHAScheduler(
        time_attr="steps",
        # Trials end by themselves; a bound that they reach would count their end as a rung.
        max_t=2 * max(trial.settings.steps or 1 for trial in planned),
        grace_period=stopping.grace_steps,
        reduction_factor=stopping.reduction,
    )


def _processors() -> int:
    return int(ray.cluster_resources().get("CPU", 1))


def resources(planned: Sequence[Trial], available: int) -> tune.PlacementGroupFactory:
    """Return a processor for a trial and each process that it samples in, or each thread that it steps by.

    Args:
        planned: the trials.
        available: processors of the cluster; where no more than its samplers find room, a trial has none
            for itself, since it waits for them most of the time.

    Raises:
        InputError: a trial has more samplers than there are processors; Tune would wait for ever.
    """
    workers = max(trial.settings.workers for trial in planned)
    if not any(trial.settings.engine == "rllib" for trial in planned):
        return tune.PlacementGroupFactory([{"CPU": float(min(workers, available))}])
    samplers = [{"CPU": 1.0}] * (workers if workers > 1 else 0)
    if len(samplers) > available:
        raise InputError(f"workers: {workers}: processes of one trial, but Ray has {available} processors")
    # RLlib counts its samplers' bundles from the second on: the first must be there, so it has a byte.
    itself = [{"CPU": 1.0}] if len(samplers) < available else [{"memory": 1.0}]
    return tune.PlacementGroupFactory([*itself, *samplers])
