"""Path traces: from orbits to the delay, capacity, loss and outages of a path over time."""

from leogym.traces.path.cache import load, load_all, sha256

__all__ = ["load", "load_all", "sha256"]
