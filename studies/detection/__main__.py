"""Score detectors and predictors of path changes; write a table and figures."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from leogym.common import output_folder
from leogym.common.command_line import OneLineParser, as_folder, number
from leogym.common.errors import InputError, reports_input_errors
from leogym.common.output_file import write_file
from leogym.common.progress import Progress
from leogym.results import provenance
from leogym.results.figure_style import svg
from studies.detection import figure, means
from studies.detection.runs import BEGIN_S, PATHS, Settings, scores


def parsed(arguments: Sequence[str] | None) -> tuple[Settings, int, Path]:
    """Return settings, threads and the folder for the results; raise InputError if one is invalid."""
    usual = Settings()
    parser = OneLineParser(
        prog="python -m studies.detection",
        description=__doc__,
        examples=("", "--repeats 3 --out runs/quick"),
    )
    parser.add_argument("--repeats", type=int, default=usual.repeats, metavar="N", help="default %(default)s")
    parser.add_argument(
        "--duration", type=number, default=usual.duration_s, metavar="S", help="of a run, default %(default)s"
    )
    parser.add_argument(
        "--window",
        type=number,
        default=usual.window_s,
        metavar="S",
        help="largest time between a detection and its path change, default %(default)s",
    )
    parser.add_argument("--seed", type=int, default=usual.seed, metavar="N", help="default %(default)s")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="threads, default %(default)s")
    parser.add_argument("--out", type=as_folder, default=output_folder.RUNS / "detection", metavar="DIR")
    options = parser.parse_args(arguments)
    for name, ok, rule in (
        ("--repeats", 1 <= options.repeats <= 10_000, "must be within 1 and 10000"),
        ("--window", 0 <= options.window <= 60, "must be within 0 and 60"),
        (
            "--duration",
            BEGIN_S + options.window < options.duration <= 86_400,
            "must be above --window + 5 and at most 86400",
        ),
        ("--seed", 0 <= options.seed < 2**63, "must be within 0 and 2^63"),
        ("--jobs", 1 <= options.jobs <= 1024, "must be within 1 and 1024"),
    ):
        if not ok:
            raise InputError(f"{parser.prog}: {name}: {rule}")
    return (
        Settings(options.repeats, options.duration, options.window, options.seed),
        options.jobs,
        options.out,
    )


@reports_input_errors
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    settings, jobs, out = parsed(sys.argv[1:] if arguments is None else arguments)
    output_folder.require(out, "a comparison of detectors")
    with output_folder.made(out):
        with Progress("scoring detectors", len(PATHS) * settings.repeats) as progress:
            scored, traces = scores(settings, jobs, progress.advance)
        rows = means.summarized(scored)
        write_file(out / "detection.csv", means.as_csv(rows).encode())
        write_file(out / "detection.md", means.as_markdown(rows).encode())
        for panel in figure.panels(rows):
            write_file(out / f"{panel.name}.svg", svg(panel).encode())
        about = provenance.describe(asdict(settings), settings.seed, traces)
        write_file(out / "detection.json", f"{json.dumps(about, indent=2)}\n".encode())
    console = Console()
    console.print(means.as_table(rows))
    console.print(
        f"Means over {settings.repeats} repeats with 95 % intervals. A detection and a path change match, "
        f"one to one, if they are at most {settings.window_s:g} s apart. Written to {out}",
        highlight=False,
        soft_wrap=True,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
