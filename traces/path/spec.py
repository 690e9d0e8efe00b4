"""Specs of path traces: all parameters that determine a trace's bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from leogym.common.errors import InputError, one_line
from leogym.common.strict import Range
from leogym.traces.capacity.settings import ConditionsSpec
from leogym.traces.orbit.ground import Site
from leogym.traces.orbit.legs import FLAT, Delays
from leogym.traces.path import announcement

DEFAULT_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Arbitrary: plane 0's ascending node points to the vernal equinox at this instant."""

UNNAMED = "path"
"""The name of a path that the user gives by its ends."""

DEFAULT_DURATION_S = 5731.0  # one revolution at 550 km, rounded up to a second

DEFAULT_REATTACH_S = 15.0
"""Starlink re-selects each terminal's satellite every 15 s (Tanveer et al., CoNEXT 2023)."""

DEFAULT_ROUTE_S = 1.0  # period of route updates between the ends' satellites

Finite = Annotated[float, Field(allow_inf_nan=False)]


class PathSpec(ConditionsSpec):
    """A path to build. `leogym traces build` has a flag for every field."""

    name: str
    from_site: Site
    to_site: Site
    constellation: str = "starlink-1"
    """A name that comes with LeoGym, or a file (YAML, two-line elements or OMM)."""
    links: Literal["isl", "bent-pipe"] = "isl"
    attach: Literal["nearest", "shortest"] = "nearest"
    """``nearest``: each end uses the nearest satellite in reach. ``shortest``: both ends use the satellites
    of the shortest path (Hypatia's rule)."""
    delays: Delays = "straight"
    """``leoem-flat``: legs to the ground lose the z axis, as in LeoEM's published paths
    (`traces.orbit.legs`). ``traces check`` refuses such traces."""
    reattach_s: Annotated[float, Range(gt=0, le=3600)] | None = None
    """Seconds between re-selections; by default 15 for ``nearest``, and one step for ``shortest``."""
    reattach_phase_s: Annotated[float, Range(ge=0, lt=3600)] = 0.0
    """Offset of re-selections from multiples of ``reattach_s``: 12 gives Starlink's :12 :27 :42 :57 if the
    epoch is a full minute."""
    route_s: Annotated[float, Range(gt=0, le=60)] = DEFAULT_ROUTE_S
    min_elevation_deg: Annotated[float, Range(ge=0, lt=90)] | None = None
    """The constellation's by default."""
    max_slant_km: Annotated[float, Range(gt=0)] | None = None
    """Limits reach by distance instead of elevation."""
    epoch: AwareDatetime | None = None
    """By default `DEFAULT_EPOCH` for shells, and for catalogued satellites their elements' own
    (`traces.orbit.flown.own_epoch`)."""
    start_s: Annotated[float, Range(ge=0, le=1e8)] = 0.0
    """The trace's first row, in seconds since the epoch."""
    duration_s: Annotated[float, Range(gt=0, le=1e7)] = DEFAULT_DURATION_S
    step_ms: Annotated[int, Range(ge=1, le=60_000)] = 100
    capacity_mbps: Annotated[float, Range(gt=0, le=1e6)] = 100.0
    """Both ways."""
    report_error: str = announcement.DEFAULT
    """Error of predicted handover times, see `traces.path.announcement.ReportError`."""

    @model_validator(mode="after")
    def _grids(self) -> PathSpec:
        if self.min_elevation_deg is not None and self.max_slant_km is not None:
            raise ValueError("min_elevation_deg: give it or max_slant_km, not both")
        if (self.from_site.lat_deg, self.from_site.lon_deg) == (self.to_site.lat_deg, self.to_site.lon_deg):
            raise ValueError("to: is the same place as from")
        if self.delays == FLAT and self.attach != "nearest":
            raise ValueError("delays: leoem-flat needs attach nearest, as in LeoEM")
        held_s = DEFAULT_REATTACH_S if self.attach == "nearest" else None
        grids = {
            "start_s": self.start_s,
            "duration_s": self.duration_s,
            "reattach_s": held_s if self.reattach_s is None else self.reattach_s,
            "reattach_phase_s": self.reattach_phase_s,
        }
        for field, value in grids.items():
            if value is not None and abs(value * 1000 / self.step_ms - self.steps(value)) > 1e-6:
                raise ValueError(f"{field}: {value:g} is not a multiple of step_ms, {self.step_ms} ms")
        period_s = self.reattach_steps * self.step_ms / 1000
        if self.reattach_phase_s and self.reattach_phase_s >= period_s:
            raise ValueError(
                f"reattach_phase_s: {self.reattach_phase_s:g} is not below reattach_s, {period_s:g}"
            )
        return self

    def steps(self, seconds: float) -> int:
        """Convert seconds to steps."""
        return round(seconds * 1000 / self.step_ms)

    @property
    def reattach_steps(self) -> int:
        """Steps between re-selections."""
        if self.reattach_s is not None:
            return max(1, self.steps(self.reattach_s))
        return max(1, self.steps(DEFAULT_REATTACH_S)) if self.attach == "nearest" else 1

    @property
    def reattach_phase_steps(self) -> int:
        """Offset of re-selections from multiples of `reattach_steps`."""
        return self.steps(self.reattach_phase_s)

    @property
    def released(self) -> bool:
        """Whether sites use all satellites in reach at once (Hypatia's complete rule)."""
        return self.attach == "shortest" and self.reattach_s is None

    @property
    def route_steps(self) -> int:
        """Steps between route updates."""
        return max(1, self.steps(self.route_s))


def parse(fields: dict[str, Any], source: str) -> PathSpec:
    """Return the spec with these fields, where None means the default; raise InputError if one is invalid."""
    try:
        return PathSpec.model_validate({key: value for key, value in fields.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if not first["loc"]:
            # Rules over several fields name them in their messages.
            raise InputError(f"{source}: {first['msg'].removeprefix('Value error, ')}") from None
        raise InputError(one_line(source, error)) from None


def parse_epoch(text: str, source: str) -> datetime:
    """Parse an ISO 8601 time; raise InputError if it is invalid or has no zone."""
    try:
        epoch = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{source}: epoch: {text!r}: must be ISO 8601, such as 2000-01-01T00:00:00Z"
        ) from None
    if epoch.tzinfo is None:
        raise InputError(f"{source}: epoch: {text!r}: must have a zone, such as 2000-01-01T00:00:00Z")
    return epoch.astimezone(UTC)
