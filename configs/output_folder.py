"""Output folders, which Git ignores wherever they lie."""

from pathlib import Path

RUNS = Path("runs")
"""The folder of outputs whose place nobody names."""
IGNORED = ".gitignore"
_TEXT = "# Made by LeoGym: outputs are not for a repository. Delete this file to add them.\n*\n"


def make(folder: Path) -> None:
    """Create an output folder and its parents; Git ignores what lies in a folder that this creates."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        ignore(folder)


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
