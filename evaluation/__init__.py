"""Run suites and make tables, figures and the report; `load` reads an evaluation's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leogym.evaluation.report.card import Evaluation

__all__ = ["load"]


def load(folder: str | Path) -> Evaluation:
    """Read the folder that an evaluation wrote; raise `InputError` if it holds none.

    A notebook shows it as tables and figures. ``.runs`` and ``.summary`` are polars data frames.
    """
    from leogym.evaluation.report.card import Evaluation  # here, because every command imports this package

    return Evaluation.read(Path(folder))
