"""Output folders, which Git ignores in any place."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from leogym.common.errors import InputError

RUNS = Path("runs")
"""The folder of outputs without ``--out``."""
IGNORED = ".gitignore"
MARKS = {
    "a training run": ("checkpoints",),
    "a sweep": ("sweep.yaml",),
    "an evaluation": ("runs.parquet", "series/flows"),
    "LeoBench's results": ("v[0-9]*--*.json",),
    "a search for worst cases": ("worst.json",),
    "a comparison of detectors": ("detection.json",),
    "learning curves": ("curves.csv",),
    "a network's run": ("network.json",),
    "a sweep of networks": ("cells.json",),
    "a run of programs": ("connections.parquet",),
    "a lab run": ("flows.parquet",),
    "a shipped policy": ("choice.json",),
    "an imported policy": ("policy/policy.json",),
    "a policy": ("policy.json",),
}
"""Kinds of output folder, each with patterns of files and folders that identify it.

The first match counts, because a training run also holds a policy."""
REPLACED = {
    "a training run": ("config.yaml", "progress.csv", "evaluation.csv", "summary.json"),
    "a sweep": ("sweep.csv", "ray/*"),
    "an evaluation": ("run.json", "summary.csv", "ranking.csv", "report.html", "figures/*", "latex/*"),
    "a run of programs": ("result.json", "machine.json"),
    "a shipped policy": ("*",),
}
"""Kinds of output folder, each with patterns of files that it replaces or deletes, whoever wrote them."""
_TEXT = "# Made by LeoGym: outputs are not for a repository. Delete this file to add them.\n*\n"


def require(folder: Path, content: str, *replaced: str) -> None:
    """Raise an `InputError` if ``folder`` holds anything of `MARKS` but ``content``, which is one of them.

    A folder that has none of them, and that `make` did not create, is a user's own: it must not hold a file
    of `REPLACED` or of the patterns ``replaced``.
    """
    assert content in MARKS
    other = content_of(folder)
    own = (
        None
        if other or _is_made(folder)
        else next(_present(folder, (*REPLACED.get(content, ()), *replaced)), None)
    )
    if own is not None:
        raise InputError(f"{own}: (file): {content} would replace this file of yours: name another folder")
    if other not in (None, content):
        raise InputError(
            f"{folder}: (folder): holds {other}: {content} needs a separate folder: name another"
        )


def _present(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """Yield the files of these patterns in ``folder``, and folders there that are not empty."""
    for pattern in patterns:
        for path in folder.glob(pattern):
            if path.name != IGNORED and not (path.is_dir() and next(path.iterdir(), None) is None):
                yield path


def content_of(folder: Path) -> str | None:
    """Return which of `MARKS` ``folder`` holds; None if there is none or no such folder."""
    for content, patterns in MARKS.items():
        if any(next(folder.glob(pattern), None) for pattern in patterns):
            return content
    return None


def make(folder: Path) -> list[Path]:
    """Create an output folder and its parents; Git ignores what lies in a folder that this creates.

    Returns:
        All created folders, innermost first.
    """
    created = []
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        created.append(nearest)
        nearest = nearest.parent
    folder.mkdir(parents=True, exist_ok=True)
    if created:
        ignore(folder)
    return created


@contextmanager
def made(folder: Path) -> Iterator[Path]:
    """Like `make` within the context; afterwards remove created folders into which nothing was written."""
    try:
        created = make(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        yield folder
    finally:
        for created_folder in created:
            remove_if_empty(created_folder)


def _is_made(folder: Path) -> bool:
    """Return whether `make` created ``folder``."""
    path = folder / IGNORED
    return path.is_file() and path.read_bytes() == _TEXT.encode()


def ignore(folder: Path) -> None:
    """Tell Git to ignore everything in ``folder``."""
    (folder / IGNORED).write_text(_TEXT, encoding="utf-8")


def remove_if_empty(folder: Path) -> None:
    """Remove ``folder`` if it is empty except for `ignore`'s file, else do nothing."""
    names = [path.name for path in folder.iterdir()]
    if names == [IGNORED] and _is_made(folder):
        (folder / IGNORED).unlink()
        names = []
    if not names:
        folder.rmdir()
