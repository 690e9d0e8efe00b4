import numpy as np
import polars as pl
import pytest

from leogym.results.intervals import interval, summarize, within


@pytest.mark.parametrize(
    ("each", "least", "most", "width"),
    [
        pytest.param(4, 86, 99, 1.75, id="four"),
        # As in the suites that pass an orbit twice: 88.5 of 100 over 600 trials.
        pytest.param(2, 80, 95, 2.48, id="two"),
    ],
)
def test_an_interval_within_strata_covers_the_mean_about_as_often_as_it_says(each, least, most, width):
    rng = np.random.default_rng(0)
    stretches = np.array([10.0, 60.0, 20.0, 90.0, 45.0])
    strata = [0, 1, 2, 3, 4] * each
    covered, widths = 0, []
    for trial in range(100):
        values = stretches[strata] + rng.normal(0.0, 2.0, 5 * each)
        result = interval(within(list(values), strata), seed=trial)
        covered += result.low <= 45.0 <= result.high
        widths.append(result.high - result.low)
        assert result.mean == pytest.approx(values.mean())
    assert least <= covered <= most
    # Of normal values: 2 × 1.96 × 2 / sqrt(n). The stretches' differences alone make it 25 with 20 values.
    assert np.mean(widths) == pytest.approx(width, rel=0.1)


@pytest.mark.parametrize("strata", [[0, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 1]])
def test_repeats_without_another_of_their_stretch_are_left_as_they_are(strata):
    assert within([1.0, 4.0, 2.0, 8.0], strata) == [1.0, 4.0, 2.0, 8.0]


def test_a_summarys_interval_is_that_of_repeats_of_one_start():
    runs = pl.DataFrame(
        {
            "suite": "s",
            "scenario": "path",
            "scheme": "cubic",
            "run_scheme": "cubic",
            "backend": "simulator",
            "repeat": [0, 1, 2, 3],
            "run_id": ["a", "b", "c", "d"],
            "offset_s": [0.0, 100.0, 0.0, 100.0],
            "goodput_mbps": [10.0, 90.0, 12.0, 88.0],
        }
    )
    row = summarize(runs).row(0, named=True)
    assert row["mean"] == 50.0
    assert 48.0 < row["ci_low"] < 50.0 < row["ci_high"] < 52.0
