"""``leogym train``, which ``train.py`` starts, too."""

import argparse
import copy
import errno
import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from leogym.agents import replaced_scenarios
from leogym.agents.training import registry
from leogym.agents.training.run_folder import RunFolder, require_same_settings
from leogym.agents.training.scheme import Scheme
from leogym.agents.training.settings import (
    CONFIGS,
    FREE_ON_RESUME,
    TrainSettings,
    assign,
    build,
    parse_assignment,
    read_config,
    require_known_task,
)
from leogym.agents.training.stopping import Note, Signals, Stopped
from leogym.common import extras, lock, output_folder
from leogym.common.atomic import DISK_FULL_ERRORS
from leogym.common.command_line import OneLineParser, as_folder, leogym_command
from leogym.common.errors import InputError, reports_input_errors
from leogym.common.machine import require_at_a_time
from leogym.envs.stepped_batch import BACKENDS, REAL_TCP
from leogym.results.provenance import describe

PROGRAM = "leogym train"
WORKER_BYTES = 600_000_000
"""Memory of a process that samples and learns: mostly PyTorch's code."""
THREAD_BYTES = 16_000_000
"""Memory of a thread that steps simulations."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Train a congestion control agent.",
        examples=(
            "--agent astraea --minutes 30 --out runs/a",
            "--agent ppo --steps 100000 --set reward=orca scenarios.rate_mbps=[20,100]",
            "--sweep configs/sweeps/ppo-leo.yaml",
        ),
    )
    add = parser.add_argument
    add("--agent", metavar="NAME", help=", ".join(registry.trainable()))
    add("--sweep", type=Path, metavar="FILE", help="run a sweep of configs/sweeps instead, with Ray Tune")
    add("--config", type=Path, metavar="FILE", help="YAML settings; default: configs/agents/NAME.yaml")
    settings = "override settings; algo=NAME trains the agent's task with another agent's algorithm"
    add("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=settings)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, metavar="N", help="environment steps, over all simulations")
    length.add_argument("--minutes", type=float, metavar="M", help="wall time")
    add("--seed", type=int, metavar="S")
    add("--out", type=as_folder, metavar="DIR", help="default: runs/NAME")
    add("--resume", action="store_true", help="continue the run in DIR from its latest checkpoint")
    add("--backend", help=" or ".join([", ".join(BACKENDS[:-1]), BACKENDS[-1]]))
    add("--engine", help="native, sb3 or rllib")
    add("--workers", type=int, metavar="N", help="processes (PPO, Ray) or simulator threads (others)")
    add("--ray", dest="ray_address", metavar="ADDRESS", help="a Ray cluster; default: this machine")
    tracking = (
        "none, tensorboard (default), wandb (offline unless WANDB_MODE says otherwise) or tensorboard,wandb"
    )
    add("--track", help=tracking)
    return parser


@reports_input_errors
def main() -> int:
    """Run the command with the process's arguments; return its exit status."""
    return run(sys.argv[1:])


def run(arguments: list[str]) -> int:
    """Run the command with ``arguments``; return its exit status."""
    flags = parser().parse_args(arguments)
    if flags.sweep is not None:
        return sweep(flags)
    if flags.agent is None:
        raise InputError(f"{PROGRAM}: --agent or --sweep: give one")
    scheme = registry.get(flags.agent)
    task: dict[str, Any] = {}
    if (algorithm := take_algorithm(flags)) is not None and algorithm.name != scheme.name:
        scheme, task = algorithm, task_of(scheme)
    if not scheme.trainers:
        how = leogym_command("evaluate", "startup", "--schemes", f"{scheme.name},cubic")
        raise InputError(f"--agent: {scheme.name}: nothing to train, as it learns online: run it with {how}")
    out = flags.out or Path("runs") / scheme.name
    output_folder.require(out, "a training run")
    settings = resumed(scheme, flags, out) if flags.resume else fresh(scheme, flags, task)
    check(settings)
    if settings.held_out_episodes and not scheme.exports:
        raise InputError(f"settings: held_out_episodes: {scheme.name} exports no policy: leave it out")
    # Before what follows imports PyTorch and Ray, which takes seconds.
    print(start_line(scheme.name, settings, out), flush=True)
    trainer = scheme.trainer(settings.engine)
    provenance = describe(settings.model_dump(mode="json"), settings.seed, trace_hashes(settings))
    with lock.held(out), Signals() as stop:
        if flags.resume and not RunFolder(out, {}).kept_checkpoints():
            print(f"{out}: has no checkpoint yet: the run begins again with its settings", file=sys.stderr)
            folder = RunFolder.begin_again(out, provenance)
        elif flags.resume:
            folder = RunFolder.open(out, provenance)
        else:
            folder = RunFolder.create(out, settings.to_yaml(), provenance)
        folder.stop = stop
        before = folder.latest_checkpoint()
        over = flags.resume and minutes_are_over(settings, folder)
        if before is not None and not over and int(before.name) < (settings.steps or math.inf):
            print(f"{out}: continues at {int(before.name):,} steps", flush=True)
        try:
            trainer(settings, folder)
        except (Stopped, KeyboardInterrupt):
            return stopped(folder, stop)
        except (InputError, OSError) as error:
            failed(folder, error, resume=flags.resume)
    if before is not None and (over or folder.latest_checkpoint() == before):
        print(trained_nothing(settings, folder, int(before.name)))
    exported = (folder.policy / "policy.onnx").exists()
    print(
        f"policy: {folder.policy}"
        if exported
        else f"checkpoints: {folder.checkpoints} ({scheme.name} exports no policy)"
    )
    return 0


def start_line(name: str, settings: TrainSettings, out: Path) -> str:
    """Return the first line of a run: its agent and folder, and how long it takes where that was measured."""
    parts = [f"{name}: trains in {out}"]
    if settings.steps_per_minute is None:
        return parts[0]
    minutes = settings.minutes or (settings.steps or 0) / settings.steps_per_minute
    length = f"about {minutes:.0f} min" if minutes >= 0.5 else "less than a minute"
    parts.append(f"the whole run takes {length} on two idle cores")
    if settings.useful_steps is not None:
        useful = settings.useful_steps / settings.steps_per_minute
        parts.append(
            f"the first useful policy is there after about {useful:.0f} min"
            if useful <= minutes
            else f"it ends before the first useful policy, which takes about {useful:.0f} min"
        )
    return "; ".join(parts)


def minutes_are_over(settings: TrainSettings, folder: RunFolder) -> bool:
    """Return whether the finished run in ``folder`` took all of its minutes before a resume."""
    path = folder.path / "summary.json"
    if settings.minutes is None or not path.is_file():
        return False
    return json.loads(path.read_text(encoding="utf-8")).get("wall_s", 0.0) >= 60 * settings.minutes


def trained_nothing(settings: TrainSettings, folder: RunFolder, steps: int) -> str:
    """Return the line about a resumed run that had its whole length before, after ``steps``."""
    prefix = f"{folder.path}: nothing left to train: "
    if settings.minutes is None:
        return (
            f"{prefix}the run has {steps:,} of {settings.steps:,} steps: --resume with more --steps goes on"
        )
    summary = json.loads((folder.path / "summary.json").read_text(encoding="utf-8"))
    minutes = summary["wall_s"] / 60
    return (
        f"{prefix}the run has taken {minutes:.3g} of {settings.minutes:g} minutes, and --minutes counts "
        f"those before a resume: for N more, --resume with --minutes {minutes:.3g} + N"
    )


def stopped(folder: RunFolder, stop: Signals) -> int:
    """Print how to resume a stopped run; return the exit status."""
    latest = folder.latest_checkpoint()
    if latest is None:
        folder.discard()
        print(f"{folder.path}: stopped before its first checkpoint: nothing is kept", file=sys.stderr)
    else:
        steps = int(latest.name)
        print(f"{folder.path}: stopped at {steps:,} steps: continue with --resume", file=sys.stderr)
    return stop.status


def failed(folder: RunFolder, error: InputError | OSError, *, resume: bool) -> NoReturn:
    """Remove a new run that has no checkpoint yet, then raise ``error``.

    Raises:
        InputError: ``error`` is one, or reports a full disk.
        OSError: any other ``error``.
    """
    if isinstance(error, OSError) and error.errno not in DISK_FULL_ERRORS:
        raise error
    goes_on = folder.latest_checkpoint() is not None
    if not resume:
        folder.discard()
    if isinstance(error, InputError):
        raise error
    remedy = "; the latest checkpoint is whole: --resume continues from it" if goes_on else ""
    limit = " (raise the limit on file sizes, ulimit -f)" if error.errno == errno.EFBIG else ""
    raise InputError(f"{folder.path}: cannot be written: {error.strerror}{limit}{remedy}") from None


def sweep(flags: argparse.Namespace) -> int:
    """Run the sweep that ``flags`` name; return the exit status."""
    own = ("sweep", "out", "resume", "ray_address", "workers")
    for name, value in vars(flags).items():
        if name not in own and value not in (None, []):
            raise InputError(f"--sweep: --{name} applies to single runs only: set it in {flags.sweep}")
    require_file(flags.sweep, CONFIGS.parent / "sweeps")
    out = flags.out or Path("runs") / flags.sweep.stem
    output_folder.require(out, "a sweep")
    with extras.needed_by("--sweep"):
        from leogym.agents.sweeps.run import run_sweep  # here, because importing Ray takes seconds

    note = Note(out / "stop")
    with Signals(note) as stop:
        try:
            table = run_sweep(
                flags.sweep,
                out,
                resume=flags.resume,
                ray_address=flags.ray_address,
                workers=flags.workers,
                stop=stop,
                note=note,
            )
        except (Stopped, KeyboardInterrupt):
            print(f"{out}: stopped: continue with --resume", file=sys.stderr)
            return stop.status
    print(table.read_text(encoding="utf-8"), end="")
    print(f"table: {table}  plot: {table.with_suffix('.png')}")
    return 0


def take_algorithm(flags: argparse.Namespace) -> Scheme | None:
    """Remove ``algo=NAME`` from the assignments of ``flags``; return that scheme, None without it."""
    named = [text for text in flags.set if text.partition("=")[0].strip() == "algo"]
    flags.set = [text for text in flags.set if text not in named]
    return registry.get(named[-1].partition("=")[2].strip()) if named else None


def task_of(scheme: Scheme) -> dict[str, Any]:
    """Return the settings with which another algorithm learns the task of ``scheme``."""
    task = scheme.settings(agent=scheme.name).model_dump(
        include={"spec", "reward", "interval_ms", "scenarios"}
    )
    # The algorithm's preset has ranges, too, which fit a task without ranges of its own.
    if task["scenarios"] == TrainSettings(agent=scheme.name).model_dump()["scenarios"]:
        del task["scenarios"]
    return task


def require_file(path: Path, shipped: Path) -> None:
    """Raise an `InputError` if ``path`` does not exist, but a file of its name in the folder ``shipped``."""
    if not path.exists() and (file := shipped / f"{path.stem}.yaml").is_file():
        raise InputError(f"{path}: no such file: the shipped one is {file}")


def overrides(flags: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that have their own flags."""
    names = ("steps", "minutes", "seed", "backend", "engine", "workers", "ray_address", "track")
    return {name: getattr(flags, name) for name in names if getattr(flags, name) is not None}


def fresh(scheme: Scheme, flags: argparse.Namespace, task: Mapping[str, Any] | None = None) -> TrainSettings:
    """Return the settings of a new run: file, ``task``, ``--set``, then flags; later ones win."""
    if flags.config:
        require_file(flags.config, CONFIGS)
    source = flags.config or CONFIGS / f"{scheme.name}.yaml"
    data = read_config(source) if flags.config or source.exists() else {}
    for key, value in (task or {}).items():
        assign(data, key, value)
    if data.setdefault("agent", scheme.name) != scheme.name:
        raise InputError(f"{source}: agent: is {data['agent']!r}, but --agent says {scheme.name!r}")
    flag_values = overrides(flags)
    if {"steps", "minutes"} & flag_values.keys():
        data.pop("steps", None)
        data.pop("minutes", None)
    preset = build(scheme.settings, str(source), data)  # built first, so errors name the file
    assignments = [parse_assignment(text) for text in flags.set]
    if any(key == "agent" for key, _ in assignments):
        raise InputError("--set: agent: --agent names it; algo=NAME trains its task with another algorithm")
    data = copy.deepcopy(data)
    for key, value in assignments:
        assign(data, key, value)
    if flags.set:
        build(scheme.settings, "--set", data)
    settings = build(scheme.settings, PROGRAM, {**data, **flag_values})
    if any(key in replaced_scenarios.KEYS for key, _ in assignments):
        message = replaced_scenarios.line(preset, settings)
        if message is not None:
            print(message, file=sys.stderr)
    if (message := replaced_scenarios.other_flows(settings)) is not None:
        print(message, file=sys.stderr)
    return settings


def resumed(scheme: Scheme, flags: argparse.Namespace, out: Path) -> TrainSettings:
    """Return the settings of the run in ``out``, with the changes that `FREE_ON_RESUME` allows."""
    source = out / "config.yaml"
    if not source.is_file():
        raise InputError(f"{source}: no run to resume here")
    require_same_settings(out)
    data = read_config(source)
    flag_values = overrides(flags)
    if flags.config or flags.set:
        raise InputError(f"{source}: --config and --set cannot change a resumed run: leave them out")
    for name, value in flag_values.items():
        if name not in FREE_ON_RESUME and data.get(name) != value:
            raise InputError(f"{source}: {name}: is {data.get(name)!r}: --resume cannot make it {value!r}")
    if data.get("agent") != scheme.name:
        raise InputError(f"{source}: agent: is {data.get('agent')!r}, but --agent says {scheme.name!r}")
    if {"steps", "minutes"} & flag_values.keys():
        data["steps"] = data["minutes"] = None
    return build(scheme.settings, str(source), {**data, **flag_values})


def check(settings: TrainSettings) -> None:
    """Validate settings that their model cannot check: length, simulations, specification and reward."""
    if settings.steps is None and settings.minutes is None:
        raise InputError(f"{PROGRAM}: --steps or --minutes: give one")
    if settings.backend in REAL_TCP and settings.num_envs != 1:
        raise InputError(
            f"num_envs: {settings.num_envs}: --backend {settings.backend} runs in real time, one scenario at "
            "a time: --set num_envs=1"
        )
    check_workers(settings)
    require_known_task(settings, "settings")


def check_workers(settings: TrainSettings) -> None:
    """Raise an `InputError` if this machine cannot run ``workers`` at a time; a cluster checks its own."""
    if settings.ray_address is not None:
        return
    if settings.engine == "rllib":
        # Ray gives each process a processor, and would wait for one forever.
        if settings.workers > (available := os.cpu_count() or 1):
            raise InputError(
                f"--workers: {settings.workers}: Ray gives each process a processor: there are {available}"
            )
        return
    require_at_a_time(
        settings.workers, "--workers", WORKER_BYTES if settings.engine == "sb3" else THREAD_BYTES
    )


def trace_hashes(settings: TrainSettings) -> dict[str, str]:
    """Return the SHA-256 of every path trace that episodes can use; build missing ones."""
    from leogym.envs.sampling import paths  # here, so that --help needs no compiled module

    stages = [settings.scenarios, *(stage.scenarios for stage in settings.curriculum)]
    stages += [settings.held_out_scenarios] if settings.held_out_scenarios is not None else []
    names = {path for ranges in stages for path in paths(ranges)}
    if not names:
        return {}
    from leogym import traces  # here, because it builds orbits, which static scenarios do not need

    traces.load_all(names)
    return {name: traces.sha256(name) for name in sorted(names)}
