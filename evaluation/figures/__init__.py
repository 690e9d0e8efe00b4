"""The report's figures, one module per kind. Panels are saved as files and inlined in the report."""

import importlib
from types import ModuleType


def figure_module(kind: str) -> ModuleType:
    """Return the module of a kind of figure, with ``panels``, ``TITLE`` and ``CAPTION``."""
    return importlib.import_module(f"{__name__}.{kind}")
