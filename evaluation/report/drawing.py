"""Draw a report's figures. Many figures use a process per core: each takes most of a second."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from leogym.common.machine import cores
from leogym.common.processes import Pool
from leogym.configs.suite import Suite
from leogym.evaluation.figures import figure_module
from leogym.evaluation.recorded.results import Results
from leogym.results import figure_style

FEW = 12
"""Up to so many kinds of figures of suites are drawn here: a process takes seconds to start."""
QUICK_PANELS = 4
"""Up to so many panels of each kind a quick report has for a suite."""
_results: Results | None = None
"""Of a drawing process."""


@dataclass(frozen=True)
class Drawn:
    """A panel as text."""

    name: str
    row: str
    svg: str
    """The content of its file."""
    inline: str
    """The element of the report."""


@contextmanager
def begun(results: Results, few: int = FEW) -> Iterator[Iterator[tuple[Suite, str, list[Drawn]]]]:
    """Give an iterator over each suite's panels of each kind, in the suites' order.

    Processes, if any, start to draw when the ``with`` block does, in parallel with the caller. Leaving the
    block early cancels the remaining drawings. The text does not depend on ``few``.
    """
    wanted = [(suite, kind) for suite in results.suites for kind in suite.figures]
    workers = min(cores(), len(wanted))
    if len(wanted) <= few or workers < 2:
        yield ((suite, kind, _draw(results, suite, kind)) for suite, kind in wanted)
        return
    assert not results.summary.is_empty()  # computed once, and sent along
    with Pool(workers, _begin, (results,)) as pool:
        texts = [pool.submit(_draw_here, suite, kind) for suite, kind in wanted]
        try:
            yield (
                (*suite_and_kind, text.result()) for suite_and_kind, text in zip(wanted, texts, strict=True)
            )
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(results: Results) -> None:
    """Keep the results for `_draw_here`."""
    global _results
    _results = results


def _draw_here(suite: Suite, kind: str) -> list[Drawn]:
    assert _results is not None
    return _draw(_results, suite, kind)


def _draw(results: Results, suite: Suite, kind: str) -> list[Drawn]:
    panels = []
    drawable = figure_module(kind).panels(results, suite)
    for panel in islice(drawable, QUICK_PANELS) if results.quick else drawable:
        text = figure_style.svg(panel)
        panels.append(Drawn(panel.name, panel.row, text, figure_style.themed(text, panel.label)))
    return panels
