"""Numbers such as ``5e-5``, which YAML 1.1 reads as strings because they lack a decimal point."""

import re
from typing import Any

_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")


def with_exponents(value: Any) -> Any:
    """Convert strings such as ``5e-5`` to numbers, also inside mappings and lists."""
    if isinstance(value, dict):
        return {key: with_exponents(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_exponents(item) for item in value]
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value
