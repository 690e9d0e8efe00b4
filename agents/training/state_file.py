"""JSON files of a checkpoint's state: a missing value or a wrong type is an error in one line."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from leogym.common.errors import InputError

Made = TypeVar("Made")

NAMES = {int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a mapping"}


def read(path: Path, keys: Mapping[str, type]) -> dict[str, Any]:
    """Return the mapping in a JSON file that has at least ``keys``, each of its type.

    Raises:
        InputError: the file cannot be read, or a key is missing or of another type.
    """
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(state, dict):
        raise InputError(f"{path}: damaged: must be a mapping")
    for name, kind in keys.items():
        if name not in state:
            raise InputError(f"{path}: {name}: missing: restore the checkpoint or continue from another")
        if not is_a(state[name], kind):
            raise InputError(f"{path}: {name}: must be {NAMES[kind]}, not {state[name]!r:.40}")
    return state


def is_a(value: Any, kind: type) -> bool:
    """Return whether ``value`` is of ``kind``; a whole number is also a number, true is neither."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def fields(path: Path, name: str, kind: type[Made], stored: Mapping[str, Any]) -> Made:
    """Return ``stored``, the mapping ``name`` of a file, as the dataclass ``kind``; lists become arrays.

    Raises:
        InputError: a field is missing, unknown, or not made of finite numbers, or arrays differ in length.
    """
    names = [field.name for field in fields_of(kind)]  # type: ignore[arg-type]
    for odd in sorted(set(names) ^ stored.keys()):
        problem = "missing" if odd in names else "unknown"
        raise InputError(f"{path}: {name}.{odd}: {problem}: restore the checkpoint or continue from another")
    values: dict[str, Any] = {}
    for field, value in stored.items():
        values[field] = np.array(value) if isinstance(value, list) else value
        numbers = value if isinstance(value, list) else [value]
        if not all(is_a(number, float) and math.isfinite(number) for number in numbers):
            raise InputError(f"{path}: {name}.{field}: must be finite numbers, not {value!r:.40}")
    lengths = {len(value) for value in values.values() if isinstance(value, np.ndarray)}
    if len(lengths) > 1:
        raise InputError(f"{path}: {name}: lists must have one length, not {sorted(lengths)}")
    return kind(**values)
