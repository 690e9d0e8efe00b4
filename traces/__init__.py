"""Path traces: from orbits to the delay, capacity, loss and outages of a path over time.

A notebook shows what `load` returns as a card with figures.
"""

import leosim

from leogym.traces.path.cache import load, load_all, sha256

__all__ = ["load", "load_all", "sha256"]


def _repr_html_(trace: leosim.PathTrace) -> str:
    """Return a card for notebooks: sites, delay, capacity, handovers and a map."""
    from leogym.traces.plot.card import trace_card  # here, because few traces are looked at in a notebook

    return trace_card(trace)


# The class is the simulator's, which draws nothing; notebooks ask it for this method.
setattr(leosim.PathTrace, _repr_html_.__name__, _repr_html_)
