"""Check path traces against the speed of light, first in first out, and their own re-selection grid."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import leosim
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leogym.common import json_text
from leogym.common.errors import InputError, one_line
from leogym.traces.orbit import ground
from leogym.traces.orbit.earth import EARTH_RADIUS_KM, LIGHT_KM_PER_S
from leogym.traces.orbit.legs import FLAT
from leogym.traces.path.spec import UNNAMED

FROZEN_S = 2.0
"""Satellites move at 7 km/s, so a delay that is constant for this long has a leg that was not updated."""

Broken = Iterator[tuple[NDArray[np.bool_], str, str]]
"""The rows that break a rule, the field and the rule."""

_ROUNDING_NS = 1
_GRID_TOLERANCE_NS = 1_000_000
_MAX_S = 4e9


class _Place(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    name: str = ""
    lat_deg: float = Field(ge=-90, le=90, allow_inf_nan=False)
    lon_deg: float = Field(ge=-180, le=180, allow_inf_nan=False)


class TraceMetadata(BaseModel):
    """The metadata that the checks use. Missing fields skip their checks."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)
    origin: _Place | None = Field(default=None, alias="from")
    to: _Place | None = None
    altitude_km: float | None = Field(default=None, gt=0, le=1e6, allow_inf_nan=False)
    # From one nanosecond to the range of 64-bit nanoseconds.
    reattach_s: float | None = Field(default=None, ge=1e-9, le=_MAX_S, allow_inf_nan=False)
    reattach_phase_s: float = Field(default=0.0, ge=0, le=_MAX_S, allow_inf_nan=False)
    start_s: float = Field(default=0.0, ge=0, le=_MAX_S, allow_inf_nan=False)
    off_grid_handovers_s: list[Annotated[float, Field(ge=0, le=_MAX_S, allow_inf_nan=False)]] = []
    name: str = ""
    links: str = ""
    constellation: str | None = None
    delays: str = "straight"

    def title(self, source: str = "") -> str:
        """Return a picture's title: name, sites and constellation as far as the metadata have them."""
        parts = [] if self.name == UNNAMED else [self.name or source]
        if self.origin is not None and self.to is not None:
            over = f", {self.constellation}" if self.constellation else ""
            parts.append(f"{self.origin.name} – {self.to.name}{over}")
        return ": ".join(parts) or source


@dataclass(frozen=True)
class Violation:
    """A broken rule, with the first row (from 0) that breaks it and the number of such rows."""

    row: int
    field: str
    rule: str
    rows: int


def metadata(trace: leosim.PathTrace, source: str) -> TraceMetadata:
    """Parse a trace's metadata; raise InputError if a field is out of range."""
    fields: dict[str, Any] = json_text.parse(trace.metadata, f"{source}:1: metadata")
    try:
        return TraceMetadata.model_validate(fields)
    except ValidationError as error:
        raise InputError(one_line(f"{source}:1: metadata", error)) from None


def floor_ns(data: TraceMetadata) -> tuple[int, str] | None:
    """Return the minimum delay that geometry allows and its reason, or None without sites and altitude.

    With the altitude, it is the shortest way from one site over a point at that height to the other site:
    every path over satellites passes such a point. Without the sites, it is the way up and down once.
    """
    if data.origin is None or data.to is None:
        if data.altitude_km is None:
            return None
        limit_ns = math.floor(2 * data.altitude_km / LIGHT_KM_PER_S * 1e9) - _ROUNDING_NS
        return limit_ns, f"up to a satellite at {data.altitude_km:g} km and down"
    sites = [ground.Site(**dict(place)) for place in (data.origin, data.to)]
    start, end = ground.stations(sites).position_km
    if data.altitude_km is None:
        km, reason = float(np.linalg.norm(end - start)), "the straight line between the sites"
    else:
        km = _over_altitude_km(start, end, data.altitude_km)
        reason = f"the shortest way over a satellite at {data.altitude_km:g} km"
    return math.floor(km / LIGHT_KM_PER_S * 1e9) - _ROUNDING_NS, reason


def _over_altitude_km(start: NDArray[np.float64], end: NDArray[np.float64], altitude_km: float) -> float:
    # The best point lies in the plane of both sites and the Earth's centre.
    radius = EARTH_RADIUS_KM + altitude_km
    foot = np.array([np.linalg.norm(start), np.linalg.norm(end)])
    angle = math.acos(float(np.clip(start @ end / foot.prod(), -1, 1)))
    along = np.linspace(0, angle, 100_001)
    legs = np.stack([along, angle - along])
    return float(
        np.sqrt(foot[:, None] ** 2 + radius**2 - 2 * radius * foot[:, None] * np.cos(legs)).sum(axis=0).min()
    )


def check(trace: leosim.PathTrace, source: str) -> list[Violation]:
    """Return the rules that ``trace`` breaks, ordered by row; raise InputError if its metadata is invalid."""
    data = metadata(trace, source)
    rules: list[Callable[[leosim.PathTrace, TraceMetadata], Broken]] = [
        _faulty,
        _light,
        _first_in_first_out,
        _handovers,
        _outages,
        _frozen,
    ]
    # Rows that break a rule in both directions are one violation.
    fields_by_violation: dict[tuple[int, str, int], list[str]] = {}
    for rule in rules:
        for broken, field, text in rule(trace, data):
            if broken.any():
                violation = int(np.argmax(broken)), text, int(broken.sum())
                fields_by_violation.setdefault(violation, []).append(field)
    violations = [
        Violation(row, " and ".join(dict.fromkeys(fields)), text, count)
        for (row, text, count), fields in fields_by_violation.items()
    ]
    return sorted(violations, key=lambda violation: violation.row)


@dataclass(frozen=True)
class _Way:
    """One direction's columns and the names of the columns in the file."""

    delay_ns: NDArray[np.int64]
    connected: NDArray[np.bool_]
    delay_field: str
    connected_field: str


def _ways(trace: leosim.PathTrace) -> tuple[_Way, ...]:
    """Return the directions to check: version 1 has the same delay and outages in both."""
    names = [""] if trace.version == 1 else ["up_", "down_"]
    up = trace.up_delay_ns.astype(np.int64), trace.up_connected
    down = trace.down_delay_ns.astype(np.int64), trace.down_connected
    return tuple(
        _Way(*columns, f"{name}delay_ms", f"{name}connected")
        for name, columns in zip(names, (up, down), strict=False)
    )


def _faulty(trace: leosim.PathTrace, data: TraceMetadata) -> Broken:
    if data.delays == FLAT:
        # The delay is the sum of all legs and does not show the fault, so go by the metadata.
        rule = f"faulty by choice: built with --delays {FLAT}, whose legs to the ground lose the z axis"
        yield np.arange(len(trace.time_ns)) == 0, _ways(trace)[0].delay_field, rule


def _light(trace: leosim.PathTrace, data: TraceMetadata) -> Broken:
    floor = floor_ns(data)
    if floor is not None:
        limit_ns, reason = floor
        rule = f"faster than light: below {limit_ns / 1e6:.6f} ms, {reason}"
        for way in _ways(trace):
            yield way.delay_ns < limit_ns, way.delay_field, rule


def _first_in_first_out(trace: leosim.PathTrace, data: TraceMetadata) -> Broken:
    rule = "falls faster than time runs: a later packet would overtake an earlier one"
    for way in _ways(trace):
        arrival_ns = trace.time_ns.astype(np.int64) + way.delay_ns
        yield np.concatenate([[False], np.diff(arrival_ns) < 0]), way.delay_field, rule


def _handovers(trace: leosim.PathTrace, data: TraceMetadata) -> Broken:
    event = np.array(trace.event, dtype=object)
    hard, none = event == "hard_handover", event == ""
    ways, path_id = _ways(trace), trace.path_id
    # An outage may be one direction's alone.
    connected = np.logical_and.reduce([way.connected for way in ways])
    field = " or ".join(way.connected_field for way in ways)
    yield hard & connected, field, "must be 0 in the row of a hard_handover"
    yield (event == "unreachable") & connected, field, "must be 0 in the row of an unreachable span"
    for way in ways:
        lost = np.concatenate([[False], way.connected[:-1] & ~way.connected[1:]])
        yield lost & none, "event", "the connection ends without an event"
    changed = np.concatenate([[False], path_id[:-1] != path_id[1:]])
    yield changed & none, "event", "the route (path_id) changes without an event"
    if data.reattach_s is not None:
        period_ns = round(data.reattach_s * 1e9)
        past_ns = (
            trace.time_ns.astype(np.int64) + round((data.start_s - data.reattach_phase_s) * 1e9)
        ) % period_ns
        off_grid = np.minimum(past_ns, period_ns - past_ns) > _GRID_TOLERANCE_NS
        announced = np.isin(
            trace.time_ns.astype(np.int64), [round(t * 1e9) for t in data.off_grid_handovers_s]
        )
        rule = (
            f"hard_handover off the {data.reattach_s:g} s re-selection grid, and not in off_grid_handovers_s"
        )
        yield hard & off_grid & ~announced, "time_s", rule


def _outages(trace: leosim.PathTrace, data: TraceMetadata) -> Broken:
    """Check outages of hard handovers, which take three times the length of the old and new user links."""
    if data.altitude_km is None:
        return
    leg_ns = math.floor(3 * data.altitude_km / LIGHT_KM_PER_S * 1e9) - _ROUNDING_NS
    time_ns = trace.time_ns.astype(np.int64)
    hard = np.array(trace.event, dtype=object) == "hard_handover"
    rule = (
        f"outage below {2 * leg_ns / 1e6:.3f} ms: its user links are shorter than the satellites' altitude, "
        f"{data.altitude_km:g} km"
    )
    for way in _ways(trace):
        connected = way.connected
        # The next connected row; an outage cut off by the end of the period has none.
        nearest = np.where(connected, np.arange(len(connected)), len(connected))
        back = np.minimum.accumulate(nearest[::-1])[::-1]
        ends_ns = np.append(time_ns, np.iinfo(np.int64).max)[back]
        # After an unreachable span there is no old user link.
        was_connected = np.concatenate([[False], connected[:-1]])
        least_ns = np.where(was_connected, 2 * leg_ns, leg_ns)
        yield hard & ~connected & (ends_ns - time_ns < least_ns), way.connected_field, rule


def _frozen(trace: leosim.PathTrace, data: TraceMetadata) -> Broken:
    if data.constellation is None:
        return
    time_ns = trace.time_ns.astype(np.int64)
    # A row is frozen if all rows of the last FROZEN_S, at least three, have its delay.
    start = np.searchsorted(time_ns, time_ns - round(FROZEN_S * 1e9), side="right") - 1
    rows = np.arange(len(time_ns))
    for way in _ways(trace):
        moved = np.concatenate([[0], np.cumsum((np.diff(way.delay_ns) != 0) | ~way.connected[1:])])
        broken = (start >= 0) & (rows - start >= 3) & (moved[rows] == moved[start])
        yield broken, way.delay_field, f"frozen for {FROZEN_S:g} s although the satellites move"
