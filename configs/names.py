"""One namespace of what can be run by name: suites, scenarios and samplers.

``train``, ``evaluate`` and ``gymnasium.make`` take the same names. No two of them are the same.
"""

from pathlib import Path

from leogym.configs import sampling, suite
from leogym.configs.errors import InputError
from leogym.configs.nearest import instead
from leogym.configs.suite import LISTED_BY, Suite

SCENARIOS = Path(__file__).parent / "scenarios"


def scenarios() -> dict[str, Path]:
    """Return the scenario files of ``configs/scenarios`` by name."""
    return {path.stem: path for path in sorted(SCENARIOS.glob("*.yaml"))}


def known() -> list[str]:
    """Return the names of samplers, scenario files and suites, in this order."""
    return [*sampling.names(), *scenarios(), *suite.shipped()]


def unknown(name: str, source: str) -> InputError:
    """Return the error for a ``name`` that is neither a file nor in this namespace."""
    return InputError(
        f"{source}: {name!r}: neither a file nor a known name {instead(name, known(), LISTED_BY)}"
    )


def as_suite(name: str) -> Suite:
    """Return the suite called ``name``, or the suite of one scenario with this name or file.

    Raises:
        InputError: there is no such name or file, the file is invalid, or ``name`` is a sampler's.
    """
    files = scenarios()
    if name in files:
        file = f"configs/scenarios/{name}.yaml"
        return suite.load(str(files[name])).model_copy(update={"source": file, "file": file})
    if name in sampling.names():
        raise InputError(f"{name}: a sampler: it draws scenarios to learn from, in train and gymnasium.make")
    if name not in suite.shipped() and not suite.is_file(name):
        raise InputError(
            f"{name}: no suite or scenario has this name "
            f"{instead(name, [*suite.shipped(), *files], LISTED_BY)}"
        )
    return suite.load(name)
