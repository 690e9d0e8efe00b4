"""One namespace of what can be run by name: suites, scenarios and samplers.

``train``, ``evaluate`` and ``gymnasium.make`` take the same names. No two of them are the same.
"""

from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.configs import named_scenarios, sampling, suite
from leogym.configs.named_scenarios import scenarios as scenarios
from leogym.configs.suite import LISTED_BY, Suite


def known() -> list[str]:
    """Return the names of samplers, scenario files and suites, in this order."""
    return [*sampling.names(), *scenarios(), *suite.shipped()]


def unknown(name: str, source: str) -> InputError:
    """Return the error for a ``name`` that is neither a file nor in this namespace."""
    return InputError(
        f"{source}: {name!r}: neither a file nor a known name {suggest_names(name, known(), LISTED_BY)}"
    )


def as_suite(name: str) -> Suite:
    """Return the suite called ``name``, or the suite of one scenario with this name or file.

    Raises:
        InputError: there is no such name or file, the file is invalid, or ``name`` is a sampler's.
    """
    if name in sampling.names():
        raise InputError(f"{name}: a sampler: it draws scenarios to learn from, in train and gymnasium.make")
    if not named_scenarios.is_known(name):
        raise InputError(
            f"{name}: no suite or scenario has this name "
            f"{suggest_names(name, [*suite.shipped(), *scenarios()], LISTED_BY)}"
        )
    return named_scenarios.load(name)
