"""``leogym leobench judge ENTRY…``: judge entries and write their results.

``leogym evaluate leobench ENTRY…`` hands over to it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leogym.common import output_folder
from leogym.common.atomic import write_atomically
from leogym.common.command_line import OneLineParser, as_folder
from leogym.common.errors import InputError
from leogym.common.machine import require_at_a_time
from leogym.evaluation.leobench import version
from leogym.evaluation.leobench.version import PARTS, TIERS
from leogym.evaluation.runs.backends import backend, require_no_programs
from leogym.evaluation.runs.schemes import GROUPS

if TYPE_CHECKING:
    from leogym.evaluation.leobench.result import Estimate, Result

PROGRAM = "leogym leobench judge"
HELP = "judge entries and write one JSON file for each"
EXAMPLES = ("cubic", "mine=runs/a/policy", "careful.py:Careful --split judge --seed 7")
NEWEST = "v1"
RUN_BYTES = 32_000_000
"""Memory that a run may need while it runs."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Judge entries by LeoBench and write one JSON file for each: see docs/leobench.md.",
        examples=EXAMPLES,
    )
    add_to(parser)
    return parser


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    add = parser.add_argument
    add(
        "entries",
        nargs="+",
        metavar="[NAME=]ENTRY",
        help="a scheme, a policy folder, FILE.py:Class with act(report), FILE.so with C functions, or "
        f"one of {', '.join(GROUPS)}",
    )
    add("--version", default=NEWEST, metavar="NAME", help=f"{', '.join(version.names())} (default: {NEWEST})")
    add("--split", choices=("dev", "judge"), default="dev", help="dev is public, judge drawn from --seed")
    add("--seed", type=_natural, metavar="S", help="of a judging: paths, epochs, phases and draws")
    add(
        "--backend",
        choices=TIERS,
        default="simulator",
        help="the tier: a fixed part of dev runs on the lab's Linux (lab) or this machine's real TCP "
        "(kernel, mahimahi), and in the simulator beside it (default: simulator, all of the split)",
    )
    add("--jobs", type=_natural, default=0, metavar="N", help="runs at a time (default: 0: one per core)")
    add("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here")
    add(
        "--out", type=as_folder, default=Path("runs/leobench"), metavar="DIR", help="(default: runs/leobench)"
    )
    add("--keep", action="store_true", help="keep results in --out that this build would give again")


def _natural(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 0 to 2^32 - 1")
    return int(text)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; see `carry_out`."""
    return carry_out(parser().parse_args(arguments))


def carry_out(options: argparse.Namespace) -> int:
    """Judge the entries; print a line per failure, a table, and each file's path."""
    if (options.split == "judge") != (options.seed is not None):
        raise InputError(f"{PROGRAM}: --seed: is needed for --split judge, and only for it")
    if options.backend != "simulator" and options.split == "judge":
        raise InputError(f"{PROGRAM}: --backend {options.backend}: runs a part of dev, not of judge")
    if not options.ray:
        require_at_a_time(options.jobs, "--jobs", RUN_BYTES)
    # Here, because their imports take time.
    from leogym.evaluation.leobench import entering, freezing, judging, split, standings
    from leogym.evaluation.leobench.result import encode
    from leogym.evaluation.recorded.store import require_writable

    leobench = version.load(options.version)
    entries, left_out = entering.entrants(options.entries, leobench, backend(options.backend).schemes())
    names = [name for name, _ in entries]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{PROGRAM}: {twice[0]}: two entries have this name; give NAME=ENTRY")
    if options.backend != "simulator":
        # Before all that asks for an image of the lab.
        require_no_programs(
            {name: policy.program for name, policy in entries if policy is not None and policy.program}
        )
    output_folder.require(options.out, "LeoBench's results")
    require_writable(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.backend == "lab" and (warning := freezing.another_kernel(leobench)):
        print(f"warning: {warning}", file=sys.stderr, flush=True)
    if left_out:
        print(f"--backend {options.backend} does not run: {', '.join(left_out)}", flush=True)
    if options.split == "judge":
        chosen = split.judge(leobench, options.seed)
    else:
        chosen = split.dev(leobench) if options.backend == "simulator" else split.sample(leobench)
    seed = chosen.seed if options.seed is None else options.seed
    for judgement in judging.judge(
        entries,
        leobench,
        chosen,
        seed,
        tier=options.backend,
        jobs=options.jobs,
        ray=options.ray,
        earlier=options.out if options.keep else None,
        resume="entries that are judged are kept: continue with --keep",
    ):
        for line in judgement.lines:
            print(line, flush=True)
        path = options.out / judgement.result.file_name
        if not judgement.is_earlier:
            write_atomically(path, encode(judgement.result))
        print(summary(judgement.result))
        if (standing := standings.line(judgement.result)) is not None:
            print(standing)
        print(f"{path}{' (kept)' if judgement.is_earlier else ''}", flush=True)
    return 0


def summary(result: Result) -> str:
    """Return the score and the parts in one line."""
    judged = result.judged
    draft = " draft" if judged.status == "draft" else ""
    parts = [f"{part} {_shown(result.parts[part], 3)}" for part in PARTS]
    failed = f"; failed in {result.failures} of {len(result.runs)} runs" if result.failures else ""
    tier = "" if judged.tier == "simulator" else f" on {judged.tier}"
    beside = f"; the simulator: {_shown(result.simulated.score, 1)}" if result.simulated else ""
    return (
        f"{result.entry.name}: {_shown(result.score, 1)} of 100 on {judged.version}{draft}, "
        f"{judged.split}{tier} ({', '.join(parts)}){beside}{failed}"
    )


def _shown(estimate: Estimate, digits: int) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
