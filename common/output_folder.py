"""Output folders, which Git ignores wherever they lie."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leogym.common.errors import InputError

RUNS = Path("runs")
"""The folder of outputs whose place nobody names."""
IGNORED = ".gitignore"
MARKS = {
    "a training run": ("checkpoints",),
    "a sweep": ("sweep.yaml",),
    "an evaluation": ("runs.parquet", "series/flows"),
    "LeoBench's results": ("v[0-9]*--*.json",),
    "a search for worst cases": ("worst.json",),
    "a comparison of detectors": ("detection.json",),
    "learning curves": ("curves.csv",),
    "a lab run": ("flows.parquet",),
    "a shipped policy": ("choice.json",),
    "an imported policy": ("policy/policy.json",),
    "a policy": ("policy.json",),
}
"""What commands write to an output folder, and patterns of the files and folders by which it is known;
the first that matches counts, as a training run also holds a policy."""
_TEXT = "# Made by LeoGym: outputs are not for a repository. Delete this file to add them.\n*\n"


def require(folder: Path, content: str) -> None:
    """Raise an `InputError` if ``folder`` holds anything of `MARKS` but ``content``, which is one of them."""
    assert content in MARKS
    other = content_of(folder)
    if other not in (None, content):
        raise InputError(
            f"{folder}: (folder): holds {other}: {content} needs a folder of its own: name another"
        )


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
    made = []
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        made.append(nearest)
        nearest = nearest.parent
    folder.mkdir(parents=True, exist_ok=True)
    if made:
        ignore(folder)
    return made


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
        for one in created:
            remove_if_empty(one)


def ignore(folder: Path) -> None:
    """Tell Git to ignore everything in ``folder``."""
    (folder / IGNORED).write_text(_TEXT, encoding="utf-8")


def remove_if_empty(folder: Path) -> None:
    """Remove ``folder`` if nothing but `ignore`'s file is left in it, else do nothing."""
    left = [path.name for path in folder.iterdir()]
    if left == [IGNORED] and (folder / IGNORED).read_text(encoding="utf-8") == _TEXT:
        (folder / IGNORED).unlink()
        left = []
    if not left:
        folder.rmdir()
