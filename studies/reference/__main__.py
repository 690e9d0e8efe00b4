"""``python -m studies.reference``: train cells of the table of reference results, and write its page."""

import multiprocessing
import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

# One thread and one instruction set, so that a cell gives the same bytes on every x86-64 machine with AVX2.
# The libraries read these once, when they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "MKL_CBWR": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}

from leogym.common.command_line import OneLineParser
from leogym.common.errors import InputError, reports_input_errors

if TYPE_CHECKING:
    from studies.reference.cells import Cell


def parser() -> OneLineParser:
    """Return the parser of the command line."""
    arguments = OneLineParser(prog="python -m studies.reference", description=__doc__)
    commands = arguments.add_subparsers(dest="command", required=True)

    cell = commands.add_parser("cell", help="train one cell; print its curve")
    cell.add_argument("algorithm")
    cell.add_argument("id")
    cell.add_argument("--seed", type=int, default=1)
    cell.add_argument("--steps", type=int, help="default: the cell's last point")
    cell.add_argument("--out", type=Path, default=Path("runs/reference"))

    run = commands.add_parser("run", help="train the cells that are missing, or some of them")
    run.add_argument("--algorithms", type=_names, default=(), help="names, separated by commas; default: all")
    run.add_argument("--ids", type=_names, default=(), help="environments, separated by commas; default: all")
    run.add_argument("--seeds", type=_names, default=(), help="separated by commas; default: 1,2,3")
    run.add_argument("--steps", type=int, help="train no cell further; default: to its last point")
    run.add_argument("--minutes", type=float, default=float("inf"), help="start no cell after this time")
    run.add_argument("--cell-minutes", type=float, default=120, help="stop a cell after this time (120)")
    run.add_argument("--out", type=Path, default=Path("runs/reference"))

    tune = commands.add_parser(
        "tune", help="search hyperparameters with Optuna; print the trials, best first"
    )
    tune.add_argument("algorithm", help="ppo or sac")
    tune.add_argument("--id", help="for its own entry; default: the entry of all environments")
    tune.add_argument("--trials", type=int, default=16)
    tune.add_argument("--steps", type=int, default=50_000, help="of each training (50000)")
    tune.add_argument("--out", type=Path, default=Path("runs/reference-tuning"))

    collect = commands.add_parser("collect", help="add the cells of a folder to the study's table")
    collect.add_argument("--out", type=Path, default=Path("runs/reference"))
    rewards = commands.add_parser(
        "rewards", help="check that PPO learns with each named reward in two minutes"
    )
    rewards.add_argument("--rewards", type=_names, default=(), help="separated by commas; default: all")
    rewards.add_argument("--seeds", type=_names, default=(), help="separated by commas; default: 1,2,3")
    rewards.add_argument("--minutes", type=float, default=2.0, help="of each training (default: 2)")
    rewards.add_argument("--steps", type=int, help="of each training, instead of its minutes")
    rewards.add_argument("--out", type=Path, default=Path("runs/rewards"))
    commands.add_parser("anchors", help="measure random actions, Cubic and Orbit in all environments")
    commands.add_parser("page", help="write the tables of README.md and the figures")
    return arguments


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


@reports_input_errors
def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = parser().parse_args(words)
    commands = {
        **{"cell": _cell, "run": _run, "tune": _tune},
        **{"collect": _collect, "rewards": _rewards, "anchors": _anchors, "page": _page},
    }
    return commands[arguments.command](arguments)


def _cell(arguments: Namespace) -> int:
    from studies.reference.cells import Cell

    cell = Cell(arguments.algorithm, arguments.id, arguments.seed)
    _train(cell, arguments.steps or cell.points[-1], cell.folder(arguments.out))
    return 0


def _train(cell: "Cell", steps: int, folder: Path) -> None:
    from studies.reference.training import train

    for row in train(cell, steps, folder):
        mean = sum(row["returns"]) / len(row["returns"])
        print(f"{row['steps']:>9,} steps  return {mean:10.2f}  {row['cpu_s']:8.1f} s of CPU", flush=True)


def _run(arguments: Namespace) -> int:
    from studies.reference import records
    from studies.reference.cells import SEEDS, every_id, parts
    from studies.reference.learners import ALGORITHMS, import_modules
    from studies.reference.training import rows

    algorithms, seeds = (
        arguments.algorithms or [*ALGORITHMS],
        [int(seed) for seed in arguments.seeds] or SEEDS,
    )
    # Each cell has a process of its own, because a library may crash or hang; forked, because imports take
    # seconds, which this process spends once.
    fork = multiprocessing.get_context("fork")
    todo = list(parts(algorithms, arguments.ids or every_id(), seeds))
    import_modules(algorithms)
    start, failed = time.monotonic(), list[str]()
    for part in todo:
        cell, folder = part.cell, part.cell.folder(arguments.out)
        curve = rows(cell, folder)
        if max(records.reached(cell, records.read()), curve[-1]["point"] if curve else 0) >= part.steps:
            continue
        if arguments.steps is not None and part.steps > arguments.steps:
            break
        if time.monotonic() - start > arguments.minutes * 60:
            break
        print(f"{cell.algorithm} {cell.id} seed {cell.seed} to {part.steps:,} steps", flush=True)
        training = fork.Process(target=_train, args=(cell, part.steps, folder))
        training.start()
        training.join(arguments.cell_minutes * 60)
        if training.is_alive():
            training.kill()
            training.join()
        if training.exitcode != 0:
            failed.append(f"{cell.algorithm} {cell.id} seed {cell.seed}: exit status {training.exitcode}")
    if failed:
        raise InputError(f"run: {len(failed)} cells failed: {'; '.join(failed)}")
    return 0


def _tune(arguments: Namespace) -> int:
    from studies.reference import tuning

    search = tuning.Search(arguments.algorithm, arguments.id)
    table = search.run(arguments.trials, arguments.steps, arguments.out)
    tuning.TRIALS.mkdir(exist_ok=True)
    table.write_csv(search.file)
    print(table)
    return 0


def _collect(arguments: Namespace) -> int:
    from studies.reference import records
    from studies.reference.cells import Cell
    from studies.reference.learners.tasks import TASKS

    table = records.read()
    slugs = {name.replace("/", "-"): name for name in TASKS}
    for file in sorted(arguments.out.glob("*/*/seed-*/curve.json")):
        algorithm, slug, seed = file.parts[-4:-1]
        cell = Cell(algorithm, slugs[slug], int(seed.removeprefix("seed-")))
        rows = records.of_cell(cell, file.parent)
        if len(rows) and int(rows["point"].max()) > records.reached(cell, table):  # type: ignore[arg-type]
            table = records.merge(table, rows)
    records.write(table)
    print(f"{records.FILE}: {table.select('algorithm', 'id', 'seed').n_unique()} cells")
    return 0


def _rewards(arguments: Namespace) -> int:
    from studies.reference import rewards
    from studies.reference.cells import SEEDS

    steps, minutes = arguments.steps, arguments.minutes
    length = ("--minutes", str(minutes)) if steps is None else ("--steps", str(steps))
    seeds = [int(seed) for seed in arguments.seeds] or SEEDS
    return 0 if rewards.check(arguments.rewards or rewards.names(), seeds, length, arguments.out) else 1


def _anchors(arguments: Namespace) -> int:
    from studies.reference import anchors, records
    from studies.reference.learners.tasks import TASKS

    table = records.read()
    for of in TASKS.values():
        table = records.merge(table, anchors.measure(of))
    records.write(table)
    return 0


def _page(arguments: Namespace) -> int:
    from studies.reference import page

    page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
