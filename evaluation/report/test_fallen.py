import polars as pl

from leogym.evaluation.report import fallen


class Some:
    """Results of two schemes, one of which fell back in one of two scenarios."""

    runs = pl.DataFrame(
        {
            "suite": ["s"] * 4,
            "scenario": ["a", "a", "b", "b"],
            "scheme": ["mine", "mine", "mine", "cubic"],
            "fallbacks": [0, 3, 0, None],
        }
    )
    schemes = ("mine", "cubic")

    def scenarios(self, suite: str) -> list[str]:
        return ["a", "b"]


def test_the_report_counts_fallbacks_where_there_are_any():
    [line] = fallen.lines(Some(), "s")
    assert line.startswith("mine fell back to Cubic 3 times in s, in 1 of 3 flows: a; ")
    assert fallen.lines(Some(), "other") == []


def test_results_from_before_there_were_fallbacks_have_none():
    old = Some()
    old.runs = Some.runs.drop("fallbacks")
    assert fallen.lines(old, "s") == []
