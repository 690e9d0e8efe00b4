"""Files of tensors whose bytes depend on their content alone."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch


def save(state: Mapping[str, Any], path: Path) -> None:
    """Write ``state`` with `torch.save`."""
    torch.save(_rebuilt(state), path)


def _rebuilt(value: Any) -> Any:
    """Return ``value`` with new containers and strings.

    Pickle writes an object that it meets twice once, and after a resume other strings and tuples are the same
    object than before.
    """
    if isinstance(value, Mapping):
        return {_rebuilt(key): _rebuilt(item) for key, item in value.items()}
    if isinstance(value, str):
        return sys.intern(value)
    if type(value) in (list, tuple):
        return type(value)(_rebuilt(item) for item in value)
    return value
