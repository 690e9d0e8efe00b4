"""Scenarios at the bounds of each field: they run, and their metrics are right or undefined."""

import copy
import json
import math
from collections.abc import Iterator
from typing import Any, get_args

import leosim
import numpy as np
import pytest
from pydantic.fields import FieldInfo

from leogym.common.errors import InputError
from leogym.common.strict import Range, Strict
from leogym.configs import scenario
from leogym.configs.queue import KNOBS, SIZES, Queue
from leogym.results.measurement import Measurement, grouped
from leogym.results.metrics import flow_rows

SHORT_S = 0.05
"""Half of the series' interval."""
CUBIC = {"scheme": "cubic", "route": ["l"]}
UDP = {"scheme": "udp", "rate_mbps": 1, "route": ["l"]}
MANY = 10_000
"""Metrics of more flows than this take seconds."""
A_PACKET = 0.1
"""Share of the packet that a link's transmitter carries over the edge of a short interval."""
SHARES = ("utilization", "normalized_goodput", "loss_rate", "retransmit_rate", "goodput_ratio", "jain")


def _scenario(*flows: dict[str, Any], duration_s: float = SHORT_S, **link: Any) -> dict[str, Any]:
    return {
        "duration_s": duration_s,
        "links": {"l": {"rate_mbps": 10, "delay_ms": 5, **link}},
        "flows": [copy.deepcopy(flow) for flow in flows or (CUBIC,)],
    }


def _ranges(field: FieldInfo) -> Iterator[tuple[Range, bool]]:
    """Yield each range in a field's annotation, and whether it is one of whole numbers."""
    yield from ((part, field.annotation is int) for part in field.metadata if isinstance(part, Range))
    parts = [field.annotation]
    while parts:
        part = parts.pop()
        for range_ in getattr(part, "__metadata__", ()):
            if isinstance(range_, Range):
                yield range_, get_args(part)[0] is int
        parts += get_args(part)


def _bounds(range_: Range, is_integer: bool) -> set[float]:
    """Return the smallest and the largest value in a range, and one."""
    bounds: set[float] = {bound for bound in (range_.ge, range_.le) if bound is not None}
    if range_.gt is not None:
        bounds.add(range_.gt + 1 if is_integer else max(range_.gt * (1 + 1e-12), 1e-12))
    if range_.lt is not None:
        bounds.add(range_.lt - 1 if is_integer else range_.lt * (1 - 1e-12))
    return {int(bound) if is_integer else bound for bound in bounds} | {1}


def _at_bounds(model: type[Strict], place: tuple[Any, ...], data: dict[str, Any], fields: Any = None) -> Any:
    """Yield test cases with ``data`` in which one field of the model at ``place`` is at a bound."""
    for name, field in model.model_fields.items():
        if fields is not None and name not in fields:
            continue
        for bound in sorted({bound for limits in _ranges(field) for bound in _bounds(*limits)}):
            case = copy.deepcopy(data)
            target: Any = case
            for part in place:
                target = target[part]
            target[name] = bound
            yield pytest.param(case, id=f"{'.'.join(map(str, place))}.{name}={bound!r}")


TRANSFERS = CUBIC | {"arrivals": {"rate_per_s": 10, "mean_bytes": 3000, "distribution": "pareto"}}
BURSTS = CUBIC | {"rate_mbps": 1, "on_off": {"on_s": 0.05, "off_s": 0.05}}
RESUMED = {"scheme": "cubic-resume", "route": ["l"], "resume": {"cwnd_packets": 10, "rtt_ms": 10}}
REROUTED = _scenario() | {"events": [{"at_s": 0.01, "reroute": {"flows": [0], "route": ["l"]}}]}
FIELDS = [
    *_at_bounds(scenario.Scenario, (), _scenario()),
    *_at_bounds(scenario.Link, ("links", "l"), _scenario()),
    *_at_bounds(scenario.Reverse, ("links", "l", "reverse"), _scenario(reverse={"rate_mbps": 1})),
    # A millisecond, as there may be 100,000 flows.
    *_at_bounds(scenario.Flow, ("flows", 0), _scenario(CUBIC, duration_s=1e-3)),
    *_at_bounds(scenario.Flow, ("flows", 0), _scenario(UDP, duration_s=1e-3), {"rate_mbps", "stop_s"}),
    *_at_bounds(scenario.Arrivals, ("flows", 0, "arrivals"), _scenario(TRANSFERS, duration_s=1e-3)),
    *_at_bounds(scenario.OnOff, ("flows", 0, "on_off"), _scenario(BURSTS)),
    *_at_bounds(scenario.Resume, ("flows", 0, "resume"), _scenario(RESUMED)),
    *_at_bounds(scenario.Event, ("events", 0), REROUTED),
    *(
        case
        for kind, knobs in KNOBS.items()
        for case in _at_bounds(
            Queue, ("links", "l", "queue"), _scenario(queue={"kind": kind}), {*SIZES, *knobs}
        )
    ),
]
DURATIONS_S = (1e-9, 1e-3, 0.05, 0.0999, 0.1, 0.15)
SHORT = [
    pytest.param(_scenario(*flows, duration_s=duration_s) | {"handshake": handshake})
    for duration_s in DURATIONS_S
    for handshake in (False, True)
    for flows in (
        (CUBIC,),
        (UDP,),
        (CUBIC, UDP),
        (CUBIC, UDP | {"start_s": 0.999 * duration_s}),
        (CUBIC | {"stop_s": 0.001 * duration_s}, UDP),
        (CUBIC | {"transfer_bytes": 1},),
        (CUBIC | {"arrivals": {"rate_per_s": 1e-6, "mean_bytes": 1}},),
        (CUBIC | {"arrivals": {"rate_per_s": 1e-6, "mean_bytes": 1}}, UDP),
        ({"scheme": "oracle", "route": ["l"]}, {"scheme": "leotcp", "route": ["l"]}),
    )
]


@pytest.mark.parametrize("data", [*FIELDS, *SHORT])
def test_a_scenario_at_a_bound_runs_and_its_metrics_are_right_or_undefined(data):
    try:
        expected = scenario.parse(data, "case")
    except InputError:
        # Bounds of several fields may contradict each other, such as a start after the end.
        return
    if expected.duration_s > 1:
        simulation = leosim.Simulation(expected.to_json(), {})
        simulation.advance(SHORT_S)
        assert simulation.time_s == pytest.approx(SHORT_S)
        return
    [log] = leosim.run([expected.to_json()], {})
    for link in log.links:
        fates = ("delivered", "dropped", "lost", "queued", "in_flight")
        assert link["offered_packets"] == sum(link[f"{fate}_packets"] for fate in fates)
    for link, (end_s, delivered_mbps) in grouped(log.link_series, "link", "time_s", "delivered_mbps"):
        assert end_s[-1] == pytest.approx(expected.duration_s, abs=1e-9)
        megabits = float(np.diff(end_s, prepend=0.0) @ delivered_mbps)
        assert megabits * 1e6 / 8 == pytest.approx(log.links[link]["delivered_bytes"], rel=1e-6)
    if len(log.flows) > MANY:
        return
    for row in flow_rows(Measurement.of(log), expected, None):
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float)), row
        assert all(row[name] is None or -1e-9 <= row[name] <= 1 + A_PACKET for name in SHARES), row


def test_the_last_interval_of_a_series_ends_with_the_run():
    [log] = leosim.run([json.dumps(_scenario(CUBIC, duration_s=0.25))], {})
    flow, link = log.flow_series, log.link_series
    assert flow["time_s"] == pytest.approx([0.1, 0.2, 0.25])
    assert link["time_s"] == pytest.approx([0.1, 0.2, 0.25])
    assert link["capacity_mbps"] == pytest.approx([10.0] * 3)
    length_s = np.array([0.1, 0.1, 0.05])
    [summary] = log.flows
    mbit = summary["goodput_mbps"] * (summary["stop_s"] - summary["start_s"])
    assert float(flow["goodput_mbps"] @ length_s) == pytest.approx(mbit)


def test_a_path_without_delay_has_no_delay_inflation():
    [log] = leosim.run([json.dumps(_scenario(CUBIC, delay_ms=0))], {})
    expected = scenario.parse(_scenario(CUBIC, delay_ms=0), "case")
    [row] = flow_rows(Measurement.of(log), expected, None)
    assert row["rtt_mean_ms"] > 0
    assert row["base_rtt_mean_ms"] == 0
    assert [row[name] for name in ("delay_inflation", "power", "shared_delay_inflation")] == [None] * 3
