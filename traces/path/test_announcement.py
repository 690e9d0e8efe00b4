import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.path.announcement import DEFAULT, ReportError


def _errors(text, seed=1, count=4000):
    report = ReportError(text, seed)
    return np.array([report.predicted_s(100.0, instant) - 100.0 for instant in range(count)])


def test_nine_in_ten_reports_are_within_600_ms():
    errors = _errors(DEFAULT)
    # With 4,000 draws, 0.02 is four standard errors.
    assert np.mean(np.abs(errors) <= 0.6) == pytest.approx(0.9, abs=0.02)
    assert errors.mean() == pytest.approx(0, abs=0.03)


def test_uniform_errors_stay_within_their_bound_and_fill_it():
    errors = _errors("uniform:0.5")
    assert np.abs(errors).max() <= 0.5
    assert errors.min() < -0.45
    assert errors.max() > 0.45


def test_empirical_errors_are_those_of_the_file(tmp_path):
    file = tmp_path / "errors.txt"
    file.write_text("# s\n-0.25\n0.5\n\n0.5\n")
    errors = _errors(f"empirical:{file}").round(3)
    assert set(errors.tolist()) == {-0.25, 0.5}
    assert np.mean(errors == 0.5) == pytest.approx(2 / 3, abs=0.04)


def test_the_same_seed_and_instant_give_the_same_error():
    assert (_errors(DEFAULT, 7, 50) == _errors(DEFAULT, 7, 50)).all()
    assert (_errors(DEFAULT, 7, 50) != _errors(DEFAULT, 8, 50)).any()


@pytest.mark.parametrize(
    "text",
    ["", "normal", "normal:", "normal:x", "normal:nan", "normal:-1", "uniform:1e9", "cauchy:1", "empirical:"],
)
def test_what_is_no_distribution_is_named(text):
    with pytest.raises(InputError, match="report_error: must be normal:SIGMA, uniform:T or empirical:FILE"):
        ReportError(text, 0)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"0.1\nsoon\n", ":2: report_error: must be seconds, at most 3600"),
        (b"1e9\n", ":1: report_error: must be seconds, at most 3600"),
        (b"# nothing\n", ": report_error: must have at least one error"),
        (b"\xff\n", ": report_error: not UTF-8 text"),
    ],
)
def test_a_bad_file_of_errors_is_named_with_its_line(tmp_path, content, rule):
    file = tmp_path / "errors.txt"
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        ReportError(f"empirical:{file}", 0)
    assert str(error.value) == f"{file}{rule}"
    with pytest.raises(InputError, match="cannot be read"):
        ReportError(f"empirical:{tmp_path / 'none'}", 0)
