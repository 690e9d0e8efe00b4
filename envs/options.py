"""The ``options`` of an environment's ``reset``."""

from collections.abc import Mapping
from typing import Any

from leogym.common.errors import InputError
from leogym.envs.scenarios import ScenarioLike

SCENARIO = "scenario"


def scenario_option(options: Mapping[str, Any] | None, ignored: str | None = None) -> ScenarioLike:
    """Return the scenario in ``options``, or None; raise `InputError` for any other key but ``ignored``."""
    for key in options or ():
        if key not in (SCENARIO, ignored):
            raise InputError(f"reset: options: {key}: unknown key (there is: {SCENARIO})")
    return options.get(SCENARIO) if options else None


def scenario_options(
    options: Mapping[str, Any] | None, num_envs: int, ignored: str | None = None
) -> list[ScenarioLike]:
    """Return a scenario or None for each of ``num_envs`` environments.

    A list or tuple in ``options`` has one per environment; anything else is for all of them.

    Raises:
        InputError: a key other than ``ignored`` is unknown, or a list has another length.
    """
    scenario = scenario_option(options, ignored)
    if not isinstance(scenario, list | tuple):
        return [scenario] * num_envs
    if len(scenario) != num_envs:
        raise InputError(f"reset: options: scenario: has {len(scenario)} entries, must be {num_envs}")
    return [*scenario]
