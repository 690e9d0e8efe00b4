"""One namespace of what can be run by name: suites, scenarios and samplers."""

import difflib
from pathlib import Path

from leogym.configs import sampling, suite
from leogym.configs.errors import InputError

SCENARIOS = Path(__file__).parent / "scenarios"


def scenarios() -> dict[str, Path]:
    """Return the scenario files of ``configs/scenarios`` by name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.yaml"))}


def known() -> list[str]:
    """Return the names of samplers, scenario files and suites, each once, in this order."""
    return list(dict.fromkeys([*sampling.names(), *scenarios(), *suite.shipped()]))


def unknown(name: str, source: str) -> InputError:
    """Return the error for a ``name`` that is neither a file nor in this namespace."""
    near = difflib.get_close_matches(name, known(), 3, 0.5)
    told = f"nearest: {', '.join(near)}" if near else f"there are: {', '.join(known())}"
    return InputError(f"{source}: {name!r}: neither a file nor a known name ({told})")
