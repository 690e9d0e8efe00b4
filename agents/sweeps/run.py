"""Run a sweep with Ray Tune: parallel trials, early stopping, and resuming after a kill.

The trials' folders hold all results. Ray's own experiment record is deleted: a resumed sweep starts Tune
again with the same trials, and each trial continues from its folder.
"""

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

# This module writes its own tables and curves, and handles Ctrl-C.
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "1"
# The newer output names the experiment record, which is deleted at the end.
os.environ["RAY_AIR_NEW_OUTPUT"] = "0"

import ray
from ray import tune
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from leogym.agents.engines.ray_cluster import PACKAGES, running
from leogym.agents.sweeps import population
from leogym.agents.sweeps import trial as one
from leogym.agents.sweeps.plan import Plan, Trial, plan
from leogym.agents.sweeps.progress import SweepProgress
from leogym.agents.sweeps.report import report
from leogym.agents.training.stopping import Note, Stop, Stopped
from leogym.common import build, lock, yaml_text
from leogym.common.atomic import write_atomically
from leogym.common.cluster import joining
from leogym.common.errors import InputError
from leogym.configs.sweep import Sweep, read


class EarlyStopping(ASHAScheduler):
    """A scheduler that remembers which trials it stopped early."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.stopped: set[int] = set()
        """Numbers of trials."""

    def on_trial_result(self, tune_controller: Any, trial: TuneTrial, result: dict[str, Any]) -> str:
        """Return what to do with the trial."""
        decision = super().on_trial_result(tune_controller, trial, result)
        if decision == TrialScheduler.STOP:
            self.stopped.add(trial.config["trial"])
        return decision


class GivenUp(tune.Callback):
    """Marks trials that the scheduler stopped early, and notes those that ended without a result here."""

    def __init__(self, planned: Sequence[Trial], stop: Stop, scheduler: TrialScheduler) -> None:
        self._planned, self._stop, self._scheduler = planned, stop, scheduler
        self.without_result: list[int] = []
        """Numbers of trials."""

    def on_trial_start(self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any) -> None:
        """Note that the trial no longer waits for processors."""
        joining.current().end_waiting()

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Mark the trial unless it is done or was asked to stop."""
        number = trial.config["trial"]
        planned = self._planned[number]
        if planned.done() or self._stop.asked:
            return
        if number not in getattr(self._scheduler, "stopped", ()):
            self.without_result.append(number)
            return
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
        path: the sweep's file.
        out: the sweep's folder.
        resume: whether to continue the sweep in ``out``; the file must not have changed.
        ray_address: an existing cluster whose nodes all see ``out``; None starts Ray on this machine.
        workers: the number of parallel trials; overrides the file.
        stop: the request to stop the sweep.
        note: passes the request to the trials.

    Raises:
        InputError: the file is not valid, ``out`` has or lacks a sweep, or trials failed.
        Stopped: the sweep was asked to stop, and its trials have written checkpoints.
    """
    sweep = read(path)
    planned = plan(sweep, out.absolute(), str(path))
    if sweep.population is not None:
        population.require(sweep, str(path))
    with lock.held(out):
        _claim(sweep, out, resume)
        note.remove()
        cluster = running(
            ray_address,
            resume="trials keep their checkpoints: continue with --resume",
            folder=out,
            feature="--sweep",
        )
        carry_out = partial(_tune, out=out, workers=workers, note=Note(note.path.absolute()))
        with cluster, stop.deferred():
            if sweep.population is not None:
                planned, errors = population.train(planned, out, str(path), stop, carry_out)
            else:
                with SweepProgress(planned):
                    errors = carry_out(planned)
        note.remove()
    if stop.asked:
        raise Stopped
    table = report(planned, out)
    if errors:
        number, first = min(errors.items())
        count = f"{len(errors)} of {len(planned.trials)} trials"
        raise InputError(f"{out}: {count} failed: trial {number}: {first}")
    return table


def _claim(sweep: Sweep, out: Path, resume: bool) -> None:
    text = yaml_text.dump(sweep.model_dump(mode="json", exclude_defaults=True))
    written = out / "sweep.yaml"
    if resume:
        if not written.is_file():
            raise InputError(f"{out}: sweep.yaml: no sweep to resume here")
        if written.read_text(encoding="utf-8") != text:
            raise InputError(f"{written}: --resume: differs from the given sweep; name another folder")
        return
    # A sweep that never began, as Ray did not start, is in nobody's way.
    if written.is_file() and any((out / name).is_dir() for name in ("trials", "generations")):
        raise InputError(f"{out}: has a sweep already: continue it with --resume or name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(written, text.encode())
    except OSError as error:
        raise InputError(f"{out}: (folder): cannot be written: {error.strerror}") from None


def _tune(planned: Plan, out: Path, workers: int | None, note: Note) -> dict[int, str]:
    """Run the trials until they end or ``note`` asks them to stop; return the errors by trial number."""
    sweep, trials = planned.sweep, planned.trials
    record = out.absolute() / "ray"
    shutil.rmtree(record, ignore_errors=True)
    directory, ours = str(Path.cwd()), build.describe(PACKAGES)

    def trainable(config: dict[str, Any]) -> None:
        os.chdir(directory)  # Tune changed it, but settings may have relative paths
        theirs = {"node": ray.util.get_node_ip_address(), **build.describe(PACKAGES)}
        if (why := build.refusal(ours, theirs)) is not None:
            raise InputError(why)
        one.run(trials[config["trial"]], planned.metric, note)

    scheduler = _scheduler(sweep, trials)
    given_up = GivenUp(trials, note, scheduler)
    needed = resources(trials, _processors())
    joining.current().start_waiting(int(needed.required_resources.get("CPU", 0)) or 1, "a trial")

    tuner = tune.Tuner(
        tune.with_resources(trainable, needed),
        param_space={"trial": tune.grid_search(list(range(len(trials))))},
        tune_config=tune.TuneConfig(
            metric=planned.metric,
            mode=sweep.goal,
            scheduler=scheduler,
            max_concurrent_trials=workers or sweep.concurrent,
            reuse_actors=True,  # saves importing PyTorch for each trial
        ),
        run_config=tune.RunConfig(
            name="experiment",
            storage_path=str(record),
            failure_config=tune.FailureConfig(max_failures=sweep.failures),
            callbacks=[given_up],
            verbose=0,
        ),
    )
    results = tuner.fit()
    without = "ended without a result: all nodes must see this folder"
    failed = dict.fromkeys(given_up.without_result, without)
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
    return EarlyStopping(
        time_attr="steps",
        # Above the trials' own end, which ASHA would otherwise count as a rung.
        max_t=2 * max(trial.settings.steps or 1 for trial in planned),
        grace_period=stopping.grace_steps,
        reduction_factor=stopping.reduction,
    )


def _processors() -> int:
    joining.current().require_cpus(1, "a trial")
    return joining.current().cpus


def resources(planned: Sequence[Trial], available: int) -> tune.PlacementGroupFactory:
    """Return the processors of a trial: one for itself and each sampling process, or one per thread.

    If only its samplers fit on the cluster's ``available`` processors, a trial has none for itself, as it
    mostly waits for them.

    Raises:
        InputError: a trial has more samplers than there are processors, so Tune would wait forever.
    """
    workers = max(trial.settings.workers for trial in planned)
    if not any(trial.settings.engine == "rllib" for trial in planned):
        return tune.PlacementGroupFactory([{"CPU": float(min(workers, available))}])
    samplers = [{"CPU": 1.0}] * (workers if workers > 1 else 0)
    if len(samplers) > available:
        raise InputError(f"workers: {workers}: processes of one trial, but Ray has {available} processors")
    # RLlib takes its samplers' bundles from the second on, so the first must exist: it has one byte.
    itself = [{"CPU": 1.0}] if len(samplers) < available else [{"memory": 1.0}]
    return tune.PlacementGroupFactory([*itself, *samplers])
