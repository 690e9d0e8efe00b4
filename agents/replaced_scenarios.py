"""Lines that say which ranges ``--set scenarios=NAME`` changes besides the name, and which flows learn."""

from collections.abc import Iterable
from typing import Any

from leogym.agents.training.settings import TrainSettings
from leogym.configs.sampling import FlowMix, NamedSampling

KEYS = ("scenarios", "scenarios.sampler")  # assignments that replace the preset's ranges


def line(before: TrainSettings, after: TrainSettings) -> str | None:
    """Return a line with the preset's dropped ranges and the new sampler's defaults; None without any."""
    theirs, ours = _ranges(before), _ranges(after)
    chosen = before.scenarios.model_dump(exclude_defaults=True).keys()
    assigned = after.scenarios.model_dump(exclude_defaults=True).keys()
    dropped = [name for name in theirs if name in chosen and ours.get(name) != theirs[name]]
    brought = [name for name in ours if name not in assigned and ours[name] != theirs.get(name)]
    if not dropped and not brought:
        return None
    if _name(after) == _name(before):
        changes = _changes(dict.fromkeys([*dropped, *brought]), theirs, ours)
        text = (
            f"scenarios: the preset samples {_name(before)} already, and your value replaces all of its "
            f"ranges: {changes}; to change a single range, use --set scenarios.KEY=VALUE"
        )
    else:
        text = f"scenarios: {_name(after)} in the place of the preset's {_name(before)}"
        if dropped:
            text += f"; dropped: {_list(dropped, theirs)}"
        if brought:
            text += f"; its defaults: {_list(brought, ours)}"
    return text


def other_flows(settings: TrainSettings) -> str | None:
    """Return a line on flows that learn with other engines but not with sb3; None if all learn anyway."""
    ranges = settings.scenarios
    if settings.engine != "sb3" or not isinstance(ranges, FlowMix) or ranges.max_learning_flows == 1:
        return None
    others = f"{ranges.max_learning_flows - 1} others run {_show(ranges.background)}"
    return (
        f"scenarios: sb3 trains one flow of each scenario, up to {others}; --engine rllib trains all, and "
        "scenarios.learning_flows=1 trains one with every engine"
    )


def _name(settings: TrainSettings) -> str:
    ranges = settings.scenarios
    return ", ".join(ranges.names) if isinstance(ranges, NamedSampling) else ranges.sampler


def _ranges(settings: TrainSettings) -> dict[str, Any]:
    return {name: value for name, value in settings.scenarios if name != "sampler"}


def _list(names: list[str], values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_show(values[name])}" for name in names)


def _changes(names: Iterable[str], before: dict[str, Any], after: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_show(after[name])} instead of {_show(before[name])}" for name in names)


def _show(value: Any) -> str:
    if isinstance(value, tuple) and len(set(value)) == 1:
        return str(value[0])
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return "all" if value is None else f"{len(value)} kinds" if isinstance(value, list) else str(value)
