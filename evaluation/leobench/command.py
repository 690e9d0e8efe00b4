"""``evaluate.py leobench ENTRY…``: judge entries and write their results."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from leogym.configs.atomic import write_atomically
from leogym.configs.command_line import OneLineParser, as_folder
from leogym.configs.errors import InputError
from leogym.configs.machine import require_at_a_time
from leogym.evaluation.leobench import judging, split, version
from leogym.evaluation.leobench.result import Estimate, Result, encode
from leogym.evaluation.leobench.version import PARTS
from leogym.evaluation.recorded.store import require_writable

NEWEST = "v1"
RUN_BYTES = 32_000_000
"""Memory that a run may need while it runs."""


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of ``leobench``."""
    found = OneLineParser(
        prog=f"{program} leobench",
        description="Judge entries by LeoBench and write one JSON file for each: see docs/leobench.md.",
        examples=("cubic", "mine=runs/a/policy", "careful.py:Careful --split judge --seed 7"),
    )
    add = found.add_argument
    add(
        "entries",
        nargs="+",
        metavar="[NAME=]ENTRY",
        help="a scheme, a policy folder, FILE.py:Class with act(observation), or FILE.so with C functions",
    )
    add("--version", default=NEWEST, metavar="NAME", help=f"{', '.join(version.names())} (default: {NEWEST})")
    add("--split", choices=("dev", "judge"), default="dev", help="dev is public, judge drawn from --seed")
    add("--seed", type=_natural, metavar="S", help="of a judging: paths, epochs, phases and draws")
    add("--jobs", type=_natural, default=0, metavar="N", help="runs at a time (default: 0: one per core)")
    add("--ray", metavar="ADDRESS", help="run on the Ray cluster at this address; local starts one here")
    add(
        "--out", type=as_folder, default=Path("runs/leobench"), metavar="DIR", help="(default: runs/leobench)"
    )
    return found


def _natural(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 32:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 0 to 2^32 - 1")
    return int(text)


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command; print a line per failure, a table, and each file's path."""
    options = parser(program).parse_args(arguments)
    if (options.split == "judge") != (options.seed is not None):
        raise InputError(f"{program} leobench: --seed: is needed for --split judge, and only for it")
    if not options.ray:
        require_at_a_time(options.jobs, "--jobs", RUN_BYTES)
    found = version.load(options.version)
    entries = [judging.entrant(text, found) for text in options.entries]
    names = [name for name, _ in entries]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{program} leobench: {twice[0]}: two entries have this name; give NAME=ENTRY")
    require_writable(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = split.dev(found) if options.split == "dev" else split.judge(found, options.seed)
    seed = chosen.seed if options.seed is None else options.seed
    for one in judging.judge(entries, found, chosen, seed, jobs=options.jobs, ray=options.ray):
        for line in one.lines:
            print(line, flush=True)
        path = options.out / one.result.file_name
        write_atomically(path, encode(one.result))
        print(summary(one.result))
        print(path, flush=True)
    return 0


def summary(result: Result) -> str:
    """Return the score and the parts in one line."""
    judged = result.judged
    draft = " draft" if judged.status == "draft" else ""
    told = [f"{part} {_shown(result.parts[part], 3)}" for part in PARTS]
    failed = f"; failed in {result.failures} of {len(result.runs)} runs" if result.failures else ""
    return (
        f"{result.entry.name}: {_shown(result.score, 1)} of 100 on {judged.version}{draft}, "
        f"{judged.split} ({', '.join(told)}){failed}"
    )


def _shown(found: Estimate, digits: int) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"
