"""LeoGym: the gym where congestion control for satellite networks is trained, tested and compared.

The project's rooms are packages here: `leogym.envs`, `leogym.traces`, `leogym.agents`, `leogym.evaluation`,
`leogym.kernel_bridge`, `leogym.commands`, `leogym.configs` and `leogym.results`. Importing this package
registers the environments ``leo/…`` with Gymnasium.
"""

import sys
from typing import Any

__version__ = "0.1.0"

# Programs inside namespaces and the lab's guest run without site-packages, and so without Gymnasium.
if not sys.flags.no_site:
    from leogym import registration  # noqa: F401


def __getattr__(name: str) -> Any:
    """Return `leogym.results.baselines` as ``leogym.baselines``, imported when it is asked for."""
    if name == "baselines":
        from importlib import import_module

        return import_module("leogym.results.baselines")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
