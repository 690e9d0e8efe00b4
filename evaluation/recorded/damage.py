"""Files of an evaluation that are missing or changed, and the command that makes them again."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError, printable

DESCRIPTION, ROWS = "run.json", "runs.parquet"
METADATA_KEY = "leogym"
"""Key of the JSON description in a Parquet file's metadata."""


class DamagedError(InputError):
    """A file is missing or does not have the bytes that were written; ``--resume`` makes it again."""

    def __init__(self, path: Path, why: str, folder: Path) -> None:
        super().__init__(f"{path}: {why}: make it again with: {command_again(folder, path)}")
        self.path, self.why = path, why


def command_again(folder: Path, damaged: Path) -> str:
    """Return the command that completes the evaluation in ``folder``, without reading ``damaged``."""
    for command in _recorded_commands(folder, damaged):
        words = shlex.split(command)
        if not any(word.partition("=")[0] == "--out" for word in words):
            words += ["--out", str(folder)]
        if "--resume" not in words:
            words.append("--resume")
        return printable(shlex.join(words))
    return f"{leogym_command('evaluate')}, the same names and options, --out {folder} --resume"


def _recorded_commands(folder: Path, damaged: Path) -> Iterator[str]:
    readers: dict[Path, Callable[[Path], object]] = {
        folder / DESCRIPTION: lambda path: json.loads(path.read_bytes()),
        folder / ROWS: lambda path: json.loads(pl.read_parquet_metadata(path)[METADATA_KEY]),
    }
    for path, read in readers.items():
        if path == damaged or not path.is_file():
            continue
        try:
            command = read(path)["command"]  # type: ignore[index]
            shlex.split(command)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, pl.exceptions.PolarsError):
            continue  # it is damaged, too
        yield command
