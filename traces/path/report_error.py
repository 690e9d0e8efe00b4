"""``traces report-error``: errors of predicted handover times, from two snapshots of a catalogue.

SaTCP (Cao and Zhang, INFOCOM 2023, section V-B) predicts each satellite's place with elements of an earlier
snapshot, compares it with the elements of a later one, and takes the time by which the satellite is early or
late along its orbit for the error of its handovers.
"""

import argparse
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.output_file import whole_file
from leogym.traces.orbit import catalogue, constellation, flown
from leogym.traces.orbit.elements import Catalogue, MeanElements

Floats = NDArray[np.float64]

_STEP_MIN = 0.5 / 60
"""Half of the time over which a velocity is taken."""


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "report-error",
        help="errors of predicted handovers from two snapshots of a catalogue, for build --report-error",
        examples=("starlink-0900.tle starlink-1200.tle --out errors.txt",),
    )
    parser.add_argument("old", type=Path, metavar="OLD", help="elements to predict with")
    parser.add_argument("new", type=Path, metavar="NEW", help="later elements of the same satellites")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="an error a line, in s")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status."""
    old, new = (_read(path) for path in (arguments.old, arguments.new))
    errors_s, ages_h = timing_errors_s(old, new, str(arguments.new))
    percentile_s = float(np.percentile(np.abs(errors_s), 90))
    summary = (
        f"{len(errors_s)} satellites, elements {np.median(ages_h):.1f} h old (median): "
        f"90 % of errors within {percentile_s:.3g} s"
    )
    with whole_file(arguments.out) as file:
        file.write(f"# {summary}\n" + "".join(f"{error_s:.6f}\n" for error_s in errors_s))
    print(f"{arguments.out}: {summary}")
    return 0


def timing_errors_s(old: Catalogue, new: Catalogue, source: str) -> tuple[Floats, Floats]:
    """Return the errors of predicted times, in s, and the ages of the elements that predict, in hours.

    Each satellite is compared at the epoch of its new elements. An error is above 0 where the prediction
    comes too late, because the satellite is ahead of its predicted place.

    Raises:
        InputError: no satellite has newer elements in ``new``, or SGP4 cannot propagate one.
    """
    before = {own.number: own for own in old.satellites if own.number}
    pairs = [
        (before[own.number], own)
        for own in new.satellites
        if own.number in before and own.epoch > before[own.number].epoch
    ]
    if not pairs:
        raise InputError(f"{source}: file: no satellite has newer elements than in the old catalogue")
    age_min = np.array([(own.epoch - earlier.epoch).total_seconds() / 60 for earlier, own in pairs])
    predicted = _positions_km([earlier for earlier, _ in pairs], age_min, source)
    now = [own for _, own in pairs]
    zero = np.zeros(len(now))
    behind, here, ahead = (_positions_km(now, zero + offset, source) for offset in (-_STEP_MIN, 0, _STEP_MIN))
    velocity = (ahead - behind) / (2 * 60 * _STEP_MIN)
    along_km = ((here - predicted) * velocity).sum(axis=1)
    return along_km / (velocity**2).sum(axis=1), age_min / 60


def _positions_km(satellites: list[MeanElements], since_min: Floats, source: str) -> Floats:
    """Return inertial positions, (satellites, 3), some minutes after each satellite's own epoch."""
    elements, _ = flown.columns(satellites, satellites[0].epoch)
    try:
        return leosim.Sgp4(elements).positions_km(since_min, np.arange(len(satellites)))
    except leosim.InputError as error:
        raise InputError(f"{source}: file: {error}") from None


def _read(path: Path) -> Catalogue:
    satellites = constellation.read_catalogue(path)
    if satellites is None:
        raise InputError(f"{path}: file: must be {catalogue.FORMATS}")
    return satellites
