"""An evaluation and LeoBench, killed or interrupted at their writes, go on to the same files.

This file is also the program that kills them, in a fresh process: polars' threads do not survive a fork.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from leogym.evaluation import cli, evaluating  # noqa: F401  # before the forks
from leogym.evaluation.leobench import command as _command  # noqa: F401
from leogym.evaluation.leobench import version
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import page, summary_table
from leogym.results import provenance
from tests.kills import contents, differences, in_child, stopped_at, without_keys, writes
from tests.support import scenarios, tiny_benchmark

ROOT = Path(__file__).resolve().parents[1]
KILLS, INTERRUPTS = {"evaluation": 0, "leobench": 0}, {"evaluation": 3, "leobench": 1}
"""Evenly spaced; a kill also comes before each rename, between which only temporary files change."""
MASKS = {
    r"run\.json": without_keys("date", "earlier", "sha256", "command", "commit"),
    r"tiny.*\.json": without_keys("circumstances"),
}


def test_what_is_killed_or_interrupted_at_a_write_resumes_to_the_same_files(tmp_path):
    command = [sys.executable, "-m", "evaluation.test_kills", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def render(results: Results, *_: Any) -> str:
    """Return what a page shows; the page itself takes most of the time."""
    return repr((results.runs.rows(), results.summary.rows()))


def tables(folder: Path) -> dict[str, bytes]:
    """Return the folder's files without dates: of Parquet files the rows, of descriptions what is run."""
    import polars as pl

    found = contents(folder, MASKS)
    for name in [name for name in found if name.endswith(".parquet")]:
        found[name] = repr(pl.read_parquet(folder / name).rows()).encode()
    return found


def finished(folder: Path) -> dict[str, bytes]:
    """Run the command to its end in another process; return its files."""
    answer = folder.with_name("tables.json")

    def work() -> int:
        tables(folder)  # what a kill leaves can be read
        status = cli.main()
        answer.write_text(json.dumps({name: data.decode("latin-1") for name, data in tables(folder).items()}))
        return status

    assert in_child(work) == 0
    return {name: data.encode("latin-1") for name, data in json.loads(answer.read_text()).items()}


def main(what: str, folder: Path) -> None:
    """Kill ``leogym evaluate`` or ``leogym evaluate leobench`` at its writes to ``folder``/out."""
    folder.mkdir()
    out = folder / "out"
    provenance.commit = lambda: None  # git takes most of what is left
    summary_table.print_all = lambda *_: None
    page.render = render  # type: ignore[assignment]
    page.Prepared.of = lambda results: None  # type: ignore[assignment,method-assign]
    if what == "evaluation":
        scenarios.written(folder, scenarios.suite("one", repeats=2), "one")
        words = [str(folder / "one.yaml"), "--schemes", "cubic", "--cache", "none", "--resume"]
    else:
        version.FOLDER = folder / "versions"
        tiny_benchmark.write(version.FOLDER / "tiny")
        words = ["leobench", "cubic", "reno", "--version", "tiny", "--keep"]
    sys.argv = ["leogym evaluate", *words, "--jobs", "1", "--out", str(out)]
    made = writes(lambda: cli.main(), out)
    shutil.rmtree(out)
    whole = finished(out)
    kills = {number for number, write in enumerate(made) if write.call.startswith("rename")}
    points = [(number, signal.SIGKILL) for number in sorted(kills | spaced(len(made), KILLS[what]))]
    points += [(number, signal.SIGINT) for number in sorted(spaced(len(made), INTERRUPTS[what]))]
    assert len(kills) >= (8 if what == "evaluation" else 2), made
    for number, by in points:
        shutil.rmtree(out)
        ended = stopped_at(lambda: cli.main(), out, number, by)
        # How often runs.parquet is written depends on the time that runs take, so a program may end earlier.
        assert ended.status == (-by if by == signal.SIGKILL else 128 + by) or (
            ended.status == 0 and (len(ended.writes) <= number or by == signal.SIGINT)
        ), (number, ended.status)
        out.mkdir(exist_ok=True)
        changed = differences(finished(out), whole)
        assert not changed, (changed, number, by, made[min(number, len(made) - 1)])


def spaced(made: int, most: int) -> set[int]:
    """Return ``most`` evenly spaced numbers of writes."""
    return {round((part + 0.5) * made / most - 0.5) for part in range(most)}


if __name__ == "__main__":
    import scipy.stats  # noqa: F401  # once, not in each fork

    place = Path(sys.argv[1])
    main("evaluation", place / "evaluation")
    main("leobench", place / "leobench")
