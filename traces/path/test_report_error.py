"""Errors of predicted handovers, beside the reference implementation of SGP4."""

from datetime import UTC, datetime

import numpy as np
import pytest
from sgp4.api import WGS72, Satrec

from leogym.common.errors import InputError
from leogym.traces.orbit import catalogue
from leogym.traces.path import report_error
from leogym.traces.path.announcement import ReportError
from tests.support import catalogues

EARLIER, LATER = datetime(2026, 11, 16, 12, tzinfo=UTC), datetime(2026, 11, 16, 15, tzinfo=UTC)


def _catalogue(records):
    found = catalogue.parse(catalogues.as_csv(records), "x.csv")
    assert found is not None
    return found


def _at_later_epoch(fields, shift_s, drag=0.0):
    """Return elements three hours later: where the first ones put the satellite, ``shift_s`` ahead of it."""
    motion_deg_per_s = 360 * fields["MEAN_MOTION"] / 86_400
    anomaly = fields["MEAN_ANOMALY"] + motion_deg_per_s * (3 * 3600 + shift_s) + drag
    return fields | {"EPOCH": "2026-11-16T15:00:00.000000", "MEAN_ANOMALY": anomaly % 360}


def test_a_satellite_that_is_ahead_of_its_prediction_is_predicted_too_late():
    before = [catalogues.record(number, BSTAR=0.0, MEAN_ANOMALY=60.0 * number) for number in range(1, 5)]
    shifts_s = [0.0, 0.6, -0.6, 2.0]
    after = [_at_later_epoch(own, shift_s) for own, shift_s in zip(before, shifts_s, strict=True)]
    errors_s, ages_h = report_error.timing_errors_s(_catalogue(before), _catalogue(after), "x.csv")
    assert list(ages_h) == [3.0] * 4
    # Perturbations, which the shifted anomaly lacks, are alike for all satellites.
    assert errors_s - errors_s[0] == pytest.approx(shifts_s, abs=0.2)
    assert np.abs(errors_s[0]) < 20


def test_errors_are_those_of_the_reference_implementation():
    before = catalogues.walker(3, 4)
    after = [_at_later_epoch(own, 0.3 * number) for number, own in enumerate(before)]
    errors_s, _ = report_error.timing_errors_s(_catalogue(before), _catalogue(after), "x.csv")
    for own, later, error_s in zip(before, after, errors_s, strict=True):
        states = []
        for fields, minutes in ((own, 180.0), (later, 0.0)):
            satellite = Satrec()
            epoch = (EARLIER if fields is own else LATER) - datetime(1949, 12, 31, tzinfo=UTC)
            angles = [
                np.radians(fields[name]) for name in ("ARG_OF_PERICENTER", "INCLINATION", "MEAN_ANOMALY")
            ]
            motion = fields["MEAN_MOTION"] * 2 * np.pi / 1440
            drag = fields["BSTAR"], 0.0, 0.0
            days = epoch.total_seconds() / 86_400
            satellite.sgp4init(
                WGS72, "i", 0, days, *drag, fields["ECCENTRICITY"], *angles, motion,
                np.radians(fields["RA_OF_ASC_NODE"]),
            )  # fmt: skip
            code, position, velocity = satellite.sgp4_tsince(minutes)
            assert code == 0
            states.append((np.array(position), np.array(velocity)))
        (predicted, _), (here, velocity) = states
        expected = (here - predicted) @ velocity / (velocity @ velocity)
        assert error_s == pytest.approx(expected, abs=1e-4)


def test_the_file_feeds_a_builds_report_errors(run_traces, capsys, tmp_path):
    before = catalogues.walker(3, 4)
    after = [_at_later_epoch(own, 0.0) for own in before]
    old, new, out = (tmp_path / name for name in ("old.csv", "new.csv", "errors.txt"))
    old.write_text(catalogues.as_csv(before))
    new.write_text(catalogues.as_csv(after))
    assert run_traces("report-error", old, new, "--out", out) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{out}: 12 satellites, elements 3.0 h old (median): 90 % of errors within ")
    errors = [float(line) for line in out.read_text().splitlines()[1:]]
    drawn = ReportError(f"empirical:{out}", seed=1).predicted_s(100.0, 7)
    assert min(abs(drawn - 100.0 - error_s) for error_s in errors) < 0.001
    assert run_traces("report-error", new, old, "--out", out) == 2
    assert "no satellite has newer elements" in capsys.readouterr().err


def test_what_is_no_catalogue_is_refused(tmp_path):
    with pytest.raises(InputError, match="no satellite has newer elements"):
        report_error.timing_errors_s(
            _catalogue(catalogues.walker(1, 2)), _catalogue(catalogues.walker(1, 2)), "x"
        )
    with pytest.raises(InputError, match="cannot be read"):
        report_error._read(tmp_path / "none.tle")
