"""Compare a scheme with the oracle in many situations."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import leosim

from leogym import traces
from leogym.agents.training import registry
from leogym.agents.worst_cases.situation import SCHEME
from leogym.common.errors import InputError
from leogym.common.nearest import suggest_names
from leogym.configs.scenario import Scenario
from leogym.results.metrics import ORACLE, PAYLOAD_SHARE


@dataclass(frozen=True)
class Contestant:
    """A scheme or a policy."""

    name: str
    policy: leosim.Policy | None = None

    @property
    def interval_ms(self) -> float:
        """The monitor interval."""
        return 30.0 if self.policy is None else self.policy.interval_ms

    @classmethod
    def of(cls, text: str) -> Contestant:
        """Return the scheme, the shipped policy or the policy in a folder that ``text`` names.

        Raises:
            InputError: it names none of these.
        """
        shipped = registry.shipped()
        named = [(_name(Path(text)), Path(text)), (_name(Path(text)), Path(text) / "policy")]
        if text in shipped:
            named.append((text, shipped[text] / "policy"))
        for name, folder in named:
            if (folder / "policy.json").is_file():
                return cls(name, leosim.Policy.load(str(folder)))
        if text in leosim.schemes():
            return cls(text)
        runnable = [*leosim.schemes(), *shipped]
        raise InputError(
            f"worst-cases: {text!r}: neither a scheme nor a policy's folder {suggest_names(text, runnable)}"
        )


def _name(path: Path) -> str:
    parts = [part for part in path.resolve().parts if part not in ("policy", "best")]
    return parts[-1]


@dataclass(frozen=True)
class Beside:
    """The result of a scheme in one situation, absolutely and relative to the oracle."""

    power: float
    """Sum of the flows' normalized goodput over their mean delay inflation."""
    utilization: float
    delay_inflation: float
    share: float
    """Lowest goodput of a flow over its even share of the capacity while it runs."""
    relative_power: float
    relative_share: float
    fallbacks: int


def measured(contestant: Contestant, scenarios: Sequence[Scenario], threads: int = 0) -> list[Beside]:
    """Return what ``contestant`` gets in each scenario, whose flows under test have the scheme `SCHEME`."""
    names = {trace for scenario in scenarios for trace in scenario.traces}
    loaded = traces.load_all(names)
    jsons = [scenario.to_json() for scenario in scenarios]
    policies = {} if contestant.policy is None else {contestant.name: contestant.policy}

    def run(scheme: str) -> list[leosim.RunLog]:
        texts = [_with_scheme(text, scheme) for text in jsons]
        return leosim.run(
            texts, loaded, policies, interval_ms=contestant.interval_ms, series_ms=0.0, threads=threads
        )

    return [
        _beside(own.flows, bound.flows) for own, bound in zip(run(contestant.name), run(ORACLE), strict=True)
    ]


def _with_scheme(text: str, scheme: str) -> str:
    data: dict[str, Any] = json.loads(text)
    for flow in data["flows"]:
        if flow["scheme"] == SCHEME:
            flow["scheme"] = scheme
    return json.dumps(data)


def _beside(flows: list[dict[str, Any]], bound: list[dict[str, Any]]) -> Beside:
    power, utilization, inflation, share = _of(flows)
    best_power, _, _, best_share = _of(bound)
    return Beside(
        power=power,
        utilization=utilization,
        delay_inflation=inflation,
        share=share,
        relative_power=_ratio(power, best_power),
        relative_share=_ratio(share, best_share),
        fallbacks=sum(flow["fallbacks"] or 0 for flow in flows),
    )


def _of(flows: list[dict[str, Any]]) -> tuple[float, float, float, float]:
    """Return power, utilization, delay inflation and lowest share of a run."""
    end_s = max(flow["stop_s"] for flow in flows)
    bits = sum(flow["goodput_mbps"] * (flow["stop_s"] - flow["start_s"]) for flow in flows)
    # The first flow runs from the start to the end, so its capacity is the link's.
    could = flows[0]["capacity_mbps"] * (end_s - flows[0]["start_s"]) * PAYLOAD_SHARE
    inflations = [flow["delay_inflation"] for flow in flows if math.isfinite(flow["delay_inflation"])]
    if not inflations or could <= 0:
        return 0.0, 0.0, math.nan, 0.0
    utilization, inflation = bits / could, sum(inflations) / len(inflations)
    share = min(flow["normalized_goodput"] for flow in flows) * len(flows)
    return utilization / inflation, utilization, inflation, share


def _ratio(value: float, best: float) -> float:
    return value / best if best > 0 else math.nan
