"""Numbers such as ``5e-5``, which YAML 1.1 takes for strings for want of a point."""

from __future__ import annotations

import re
from typing import Any

_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")


def with_exponents(value: Any) -> Any:
    """Turn texts such as ``5e-5`` into numbers, within mappings and lists too."""
    if isinstance(value, dict):
        return {key: with_exponents(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_exponents(item) for item in value]
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value
