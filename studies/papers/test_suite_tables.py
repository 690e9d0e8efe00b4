import polars as pl
import pytest

from leogym.common.errors import InputError
from studies.papers import keep, suite_tables, table, verdict_counts

PAGES = sorted(suite_tables.PAGES.glob("*.md"))
PAGE = """# leo-pair

<!-- results of leo-pair: goodput_ratio, jain in .*-isl -->
an old table
<!-- end of results -->

The end.
"""


@pytest.fixture
def summary() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "suite": "leo-pair", "scenario": scenario, "scheme": scheme, "metric": metric,
                "mean": mean, "ci_low": mean - 0.1, "ci_high": mean + 0.1, "n": 15,
            }
            for scenario, scheme, metric, mean in (
                ("sea-ny-isl", "cubic", "goodput_ratio", 0.5),
                ("sea-ny-isl", "cubic", "jain", 0.9),
                ("ny-ldn-isl", "cubic", "goodput_ratio", 0.7),
                ("ny-ldn-isl", "cubic", "jain", 0.8),
                ("sd-ny-bp", "cubic", "goodput_ratio", 0.6),
                ("sea-ny-isl", "reno", "goodput_ratio", 0.4),
            )
        ]
    )  # fmt: skip


def test_a_page_has_the_metrics_scenarios_and_schemes_it_asks_for(summary):
    page = suite_tables.with_tables(PAGE, summary)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert rows[0].startswith("| | cubic | satcp |")
    assert "reno" not in rows[0]
    assert [row.split("|")[1:4] for row in rows[2:]] == [
        [" ny-ldn-isl ", " 0.70 (0.60 to 0.80), 0.80 ", " – "],
        [" sea-ny-isl ", " 0.50 (0.40 to 0.60), 0.90 ", " – "],
    ]
    assert "15 runs each" in page
    assert "an old table" not in page
    assert page.endswith("\n\nThe end.\n")
    assert suite_tables.with_tables(page, summary) == page


@pytest.mark.parametrize(
    ("asks", "answer"),
    [("fairnes", "leo-pair: no metric 'fairnes'"), ("jain in nowhere", "has nothing for .*jain in nowhere")],
)
def test_what_is_not_there_gets_one_line(summary, asks, answer):
    page = PAGE.replace("goodput_ratio, jain in .*-isl", asks)
    with pytest.raises(InputError, match=answer):
        suite_tables.with_tables(page, summary)


def test_scenarios_are_in_the_order_of_their_numbers():
    names = ["100 ms, 1.0 BDP", "20 ms, 4.0 BDP", "20 ms, 0.2 BDP", "steps"]
    assert sorted(names, key=suite_tables._natural) == [names[2], names[1], names[0], names[3]]


@pytest.mark.parametrize(
    "path", [path for path in PAGES if suite_tables.END in path.read_text()], ids=lambda path: path.stem
)
def test_the_pages_of_the_suites_have_what_is_kept(path):
    page = path.read_text(encoding="utf-8")
    assert suite_tables.with_tables(page, keep.Kept.read(keep.PLACE).summary) == page


def test_a_table_compares_the_verdicts_on_two_suites():
    row = {"paper": "p", "stated": "at most 0.9", "verdict": "agrees", "ours": "cubic: 0.5 [0.4, 0.6]"}
    claims = pl.DataFrame(
        [
            row | {"claim": "single.cubic"},
            row | {"claim": "single.cubic@leo-single", "verdict": "differs", "ours": "cubic: 0.9 [0.9, 1.0]"},
            row | {"claim": "single.sage"},
            row | {"claim": "single.sage@leo-single", "verdict": "not run", "ours": None},
        ]
    )
    page = "<!-- claims also on leo-single -->\n<!-- end of claims -->"
    written = verdict_counts.with_counts(page, claims)
    assert (
        "| `single.cubic` | at most 0.9 | cubic: 0.5 [0.4, 0.6] | cubic: 0.9 [0.9, 1.0] | agrees, differs |"
        in written
    )
    assert "single.sage" not in written
    assert table.own(claims)["claim"].to_list() == ["single.cubic", "single.sage"]
    with pytest.raises(InputError, match="no claim is judged on 'leo-pair', too"):
        verdict_counts.with_counts(page.replace("leo-single", "leo-pair"), claims)
