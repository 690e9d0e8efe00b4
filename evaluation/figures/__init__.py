"""The report's figures, one kind a file. Each returns panels, saved alone and inlined in the report."""

from __future__ import annotations

import importlib
from types import ModuleType


def figure_module(kind: str) -> ModuleType:
    """Return the module of a kind of figure: it has ``panels``, ``TITLE`` and ``CAPTION``."""
    return importlib.import_module(f"{__name__}.{kind}")
