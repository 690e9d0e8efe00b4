"""The satellites of a catalogue that fly at a build's time, and what to say about the others.

SGP4 starts from mean elements at their own epoch. Its positions are right to about a kilometre there, and 1
to 3 km worse with each day (Kelso, AAS 07-127). Elements serve for a week or two on either side of their
epoch (documentation of Skyfield). At 550 km, with B* 3e-4 and a drag that is wrong by 15 %, a satellite is
261 km from its place after 30 days and 2,361 km after 90: more than the 1,972 km to its neighbour in a plane
of 22.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from statistics import median, median_low

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError, printable
from leogym.traces.orbit.earth import EARTH_RADIUS_KM, J2000, JULIAN_YEAR_S
from leogym.traces.orbit.elements import Catalogue, MeanElements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAID_DAYS = 1.0
"""Distance from the elements' epochs above which a build says how far they are."""
WARNED_DAYS = 30.0
MOST_DAYS = 90.0
"""Elements further away do not fly: by then they do not tell which satellite is where."""

REENTRY_KM = 100.0
"""Height over the equatorial radius below which no satellite completes a revolution."""

_NAMES_SHOWN = 10
_SAME_PLACE_DEG = 5.0
"""Elements of one satellite and one epoch differ by less, those of two satellites by more."""
_SAMPLES = 24  # times in a revolution, at which heights are checked


@dataclass(frozen=True)
class Flight:
    """The satellites that fly, in the catalogue's order, and the notes about the build, one line each."""

    catalogue: Catalogue
    notes: list[str]


def own_epoch(catalogue: Catalogue) -> datetime:
    """Return the elements' own time: the median of the satellites' newest epochs, as a full minute.

    The median keeps most satellites near their elements, whatever single epochs are. A full minute keeps
    re-selections at the seconds that ``reattach_phase_s`` says.
    """
    newest = median_low(max(own.epoch for own in entries) for entries in _by_satellite(catalogue.satellites))
    return newest.replace(second=0, microsecond=0)


def flight(catalogue: Catalogue, source: str, epoch: datetime, start_s: float, duration_s: float) -> Flight:
    """Return the satellites that fly from ``start_s`` to ``start_s + duration_s`` after ``epoch``.

    A satellite with several epochs flies once, with the newest elements at or before the first row, or else
    with the nearest. Satellites that are decayed or cannot be propagated, and those with elements more than
    `MOST_DAYS` away, are left out.

    Raises:
        InputError: no satellite remains.
    """
    notes: list[str] = []
    entries = _chosen(catalogue.satellites, epoch, start_s)
    if repeats := len(catalogue.satellites) - len(entries):
        notes.append(
            f"note: {source}: {repeats} entries repeat a satellite: each satellite flies once, with its "
            "newest elements at or before the first row, or else the nearest"
        )
    total = len(entries)
    days = _distance_days(entries, epoch, start_s, duration_s)
    left_out: list[tuple[str, str]] = []
    near: list[MeanElements] = []
    for own, distance in zip(entries, days, strict=True):
        if distance <= MOST_DAYS:
            near.append(own)
        else:
            left_out.append((own.name, f"elements of {own.epoch:%Y-%m-%d}, {distance:.0f} days away"))
    if not near:
        raise InputError(
            f"{source}: epoch: the build is {_spread(days)} from the elements' own epochs, and SGP4 bears "
            f"{MOST_DAYS:g}: build near --epoch {iso(own_epoch(catalogue))}"
        )
    faults = _faults(near, epoch, start_s, duration_s)
    flying = [own for index, own in enumerate(near) if index not in faults]
    left_out += [(near[index].name, fault) for index, fault in sorted(faults.items())]
    if left_out:
        notes.append(_left_out(source, left_out, total))
    if not flying:
        raise InputError(f"{source}: file: no satellite flies at {iso(epoch)}: {_listed(left_out)}")
    days = _distance_days(flying, epoch, start_s, duration_s)
    if max(days) > SAID_DAYS:
        kind = "warning" if max(days) > WARNED_DAYS else "note"
        grows = "; their error grows by kilometres a day" if kind == "warning" else ""
        notes.append(
            f"{kind}: {source}: the build is {_spread(days)} from the elements' own epochs{grows} "
            f"(--epoch {iso(own_epoch(catalogue))} is the nearest)"
        )
    # A grid counts the satellites of the file.
    grid = catalogue.grid if len(flying) == len(catalogue.satellites) else None
    return Flight(Catalogue(flying, grid), notes)


def columns(satellites: list[MeanElements], epoch: datetime) -> tuple[Floats, Floats]:
    """Return `leosim.Sgp4`'s columns, (satellites, 8), and the minutes from own epochs to ``epoch``."""
    rows = [
        (
            (own.epoch - J2000).total_seconds() / JULIAN_YEAR_S,
            own.inclination_rad,
            own.node_rad,
            own.eccentricity,
            own.perigee_rad,
            own.mean_anomaly_rad,
            own.motion_rad_per_min,
            own.bstar,
        )
        for own in satellites
    ]
    since = [(epoch - own.epoch).total_seconds() / 60 for own in satellites]
    return np.array(rows).reshape(-1, 8), np.array(since)


def iso(instant: datetime) -> str:
    """Return a time in UTC as ``--epoch`` takes it."""
    return instant.isoformat().replace("+00:00", "Z")


def _by_satellite(satellites: Iterable[MeanElements]) -> list[list[MeanElements]]:
    """Return each satellite's entries. Entries of one number at different places are different satellites."""
    groups: defaultdict[str, list[MeanElements]] = defaultdict(list)
    for own in satellites:
        groups[own.number or own.name].append(own)
    return [
        part
        for group in groups.values()
        for part in ([group] if _is_one(group) else [[own] for own in group])
    ]


def _is_one(entries: list[MeanElements]) -> bool:
    """Return whether entries can be of one satellite, which is at one place at a time."""
    if len(entries) == 1:
        return True
    first_of: dict[datetime, MeanElements] = {}
    for own in entries:
        other = first_of.setdefault(own.epoch, own)
        apart = np.degrees(
            [
                own.inclination_rad - other.inclination_rad,
                own.node_rad - other.node_rad,
                own.perigee_rad + own.mean_anomaly_rad - other.perigee_rad - other.mean_anomaly_rad,
            ]
        )
        if np.abs((apart + 180) % 360 - 180).max() > _SAME_PLACE_DEG:
            return False
    return True


def _chosen(satellites: list[MeanElements], epoch: datetime, start_s: float) -> list[MeanElements]:
    def rank(own: MeanElements) -> tuple[bool, float]:
        after_s = (own.epoch - epoch).total_seconds() - start_s
        return after_s > 0, abs(after_s)

    chosen = {id(min(reversed(entries), key=rank)) for entries in _by_satellite(satellites)}
    return [own for own in satellites if id(own) in chosen]


def _distance_days(
    satellites: list[MeanElements], epoch: datetime, start_s: float, duration_s: float
) -> list[float]:
    """Return each satellite's greatest distance in time from its elements during the build."""
    before_s = [(epoch - own.epoch).total_seconds() + start_s for own in satellites]
    return [max(abs(first_s), abs(first_s + duration_s)) / 86_400 for first_s in before_s]


def _spread(days: list[float]) -> str:
    return f"{min(days):.1f} to {max(days):.1f} days (median {median(days):.1f})"


def _faults(
    satellites: list[MeanElements], epoch: datetime, start_s: float, duration_s: float
) -> dict[int, str]:
    """Return why satellites cannot fly from the first row to the last, by index."""
    elements, since_min = columns(satellites, epoch)
    faults: dict[int, str] = {}

    def refused_by(check: Callable[[Ints], object], members: Ints) -> dict[int, str]:
        """Return the messages of an error for each of ``members``; halves find them in few calls."""
        try:
            check(members)
        except leosim.InputError as error:
            if len(members) == 1:
                return {int(members[0]): str(error).rpartition("from its epoch: ")[2]}
            half = len(members) // 2
            return refused_by(check, members[:half]) | refused_by(check, members[half:])
        return {}

    def propagated(members: Ints, minutes: Floats) -> Floats:
        """Return positions, (members, times, 3), at ``minutes`` from the satellites' own epochs."""
        count = minutes.shape[1]
        index = np.repeat(np.arange(len(members)), count)
        positions = leosim.Sgp4(elements[members]).positions_km(minutes.ravel(), index)
        return positions.reshape(len(members), count, 3)

    everyone = np.arange(len(satellites))
    at_own_epoch = refused_by(lambda members: propagated(members, np.zeros((len(members), 1))), everyone)
    for index, reason in at_own_epoch.items():
        faults[index] = f"SGP4 cannot propagate it: {printable(reason)}"
    sound = np.array([index for index in everyone if index not in faults], dtype=np.int64)

    times_s = _times_s(start_s, duration_s, elements[:, 6])
    lowest_km = np.full(len(satellites), np.inf)

    def fly(members: Ints) -> None:
        positions = propagated(members, since_min[members, None] + times_s / 60)
        lowest_km[members] = np.linalg.norm(positions, axis=2).min(axis=1) - EARTH_RADIUS_KM

    last_day = _day(epoch, start_s + duration_s)
    fails = refused_by(fly, sound)
    for index in sound.tolist():
        own = satellites[index]
        if own.decay is not None and own.decay <= last_day:
            faults[index] = f"decayed on {own.decay}"
        elif index in fails:
            falls = since_min[index] + times_s.max() / 60 > 0
            faults[index] = "decayed" if falls else f"SGP4 cannot propagate it: {printable(fails[index])}"
        elif lowest_km[index] < REENTRY_KM:
            faults[index] = f"decayed: below {REENTRY_KM:g} km"
    return faults


def _times_s(start_s: float, duration_s: float, motion_rad_per_min: Floats) -> Floats:
    """Return times to check: those of the first revolution, and of the last one."""
    revolution_s = 60 * 2 * np.pi / float(np.median(motion_rad_per_min))
    span_s = min(duration_s, revolution_s)
    steps = np.linspace(0, span_s, int(np.clip(_SAMPLES * span_s / revolution_s, 1, _SAMPLES)) + 1)
    return start_s + np.unique(np.concatenate([steps, duration_s - steps]))


def _day(epoch: datetime, after_s: float) -> date:
    try:
        return (epoch + timedelta(seconds=after_s)).date()
    except OverflowError:
        return date.max


def _left_out(source: str, faults: list[tuple[str, str]], total: int) -> str:
    return f"note: {source}: left out: {_listed(faults)} ({len(faults)} of {total} satellites)"


def _listed(faults: list[tuple[str, str]]) -> str:
    listed = [f"{printable(name)}: {fault}" for name, fault in faults[:_NAMES_SHOWN]]
    more = len(faults) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")
