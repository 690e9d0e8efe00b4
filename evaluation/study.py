"""A study's additions to an evaluation: its suites and schemes, the series that it reads, its section."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leogym.configs.suite import Suite
    from leogym.evaluation.report.section import MakeSection
    from leogym.evaluation.runs.plan import Run


@dataclass(frozen=True)
class Study:
    """A study that runs suites by the command line of ``evaluate``, with the same options."""

    program: str
    """The command as a user calls it, such as ``leogym papers``."""
    description: str
    examples: tuple[str, ...]
    suites: Callable[[], list[str]]
    """The suites that run if the user names none."""
    with_schemes: Callable[[Sequence[Suite]], list[Suite]]
    """Return the suites with the schemes that the study adds in runs without ``--quick`` and ``--spot``."""
    reads_series: Callable[[Run], bool]
    """Return whether the study reads a run's time series, which ``--series first`` then also keeps."""
    make_section: MakeSection
    conclusion: Callable[[Path], Iterable[str]] = lambda folder: ()
    """Return the lines to print after an evaluation's tables, from its folder."""
