import io
import re

import polars as pl
import pytest
from rich.console import Console

from leogym.evaluation import cli
from leogym.evaluation.recorded import description, warnings
from leogym.evaluation.report import summary_table, tables
from leogym.results.metrics import METRICS
from tests.support import scenarios

HALF = {"mean": 1.0, "ci_low": 0.9, "ci_high": 1.1, "n": 3}


def test_a_scheme_is_starved_below_a_tenth_of_the_link_or_half_of_the_median():
    assert warnings.starved({"a": 0.01, "b": 0.05}) == {"a": 0.01, "b": 0.05}
    assert warnings.starved({"a": 0.9, "b": 0.8, "c": 0.39}) == {"c": 0.39}
    assert warnings.starved({"a": 0.9, "b": 0.8, "c": 0.41}) == {}
    assert warnings.starved({"a": 0.12, "b": 0.11}) == {}
    assert warnings.starved({}) == {}


@pytest.mark.parametrize("name", ["delay_inflation", "rtt_p95_ms", "retransmit_rate"])
def test_a_starved_scheme_is_best_in_nothing_and_the_other_is(name):
    rows = {"mine": {**HALF, "mean": 0.0, "ci_low": 0.0, "ci_high": 0.1}, "cubic": HALF}
    assert tables.best_of(rows, METRICS[name]) == {"mine"}
    assert tables.best_of(rows, METRICS[name], {"mine"}) == {"cubic"}
    assert tables.best_of(rows, METRICS[name], {"mine", "cubic"}) == set()


def test_a_starved_scheme_is_marked_in_both_tables_and_warned_of(tmp_path, capsys):
    suite = tmp_path / "thin.yaml"
    # The starved flow's link loses nearly everything, the other's does not.
    suite.write_text(
        "name: thin\ntitle: thin\nrepeats: 1\nscenario:\n  duration_s: 3\n"
        "  links: {l: {rate_mbps: 10, delay_ms: 10}, bad: {rate_mbps: 10, delay_ms: 1, loss: 0.6}}\n"
        "  flows: [{scheme: cubic, route: [l]}, {scheme: reno, route: [bad, l]}]\n"
        "headline: [normalized_goodput, delay_inflation, power, rtt_p95_ms, retransmit_rate, utilization]\n"
        "figures: []\n"
    )
    out = tmp_path / "out"
    assert cli.run([str(suite), "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "reno (starved)" in said.out
    assert said.out.splitlines()[-1] == str(out / "report.html")
    assert "warning: reno is starved in thin: it uses " in said.err
    assert "of its even share of the link in " in said.err
    page = (out / "report.html").read_text()
    assert "starved</span>" in page
    assert "reno is starved in thin" in page
    assert "cubic is starved" not in page
    # A pipe gets all columns, with each row on one line.
    header = next(line for line in said.out.splitlines() if line.startswith("scenario"))
    assert all(METRICS[name].label in header for name in ("power", "retransmit_rate", "utilization"))


def test_the_even_share_of_two_flows_is_half_of_the_link():
    rows = {
        "suite": ["s"] * 4,
        "scenario": ["a"] * 4,
        "run_id": ["0", "0", "1", "1"],
        "scheme": ["cubic", "mine", "cubic", "mine"],
        "normalized_goodput": [0.9, 0.02, 0.8, None],
        "transfer_bytes": pl.Series([None] * 4, dtype=pl.Int64),
    }

    class Some:
        runs = pl.DataFrame(rows)
        schemes = ("cubic", "mine")

    assert warnings.link_use(Some(), "s", "a") == pytest.approx({"cubic": 1.7, "mine": 0.02})


@pytest.mark.parametrize("width", [30, 80, 120])
def test_no_column_is_dropped_in_a_terminal_of_any_width(width):
    header = ["scenario", "scheme", *(f"metric {index}" for index in range(8))]
    rows = [["sd-ny-isl", "cubic", *(f"0.9{index}1 [0.9{index}0, 0.9{index}2]" for index in range(8))]]
    found = summary_table.tables(header, rows, width)
    assert (len(found) == 1) == (width > 250)

    out = io.StringIO()
    console = Console(file=out, width=width)
    for table in found:
        console.print(table)
    text = "".join(out.getvalue().split())
    for cell in (*header, *rows[0]):
        assert "".join(cell.split()) in text or width == 30
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "…" not in out.getvalue()


def test_schemes_that_are_told_of_nothing_are_warned_of_and_the_report_says_it(tmp_path, capsys):
    scenario = scenarios.written(tmp_path)
    out = tmp_path / "out"
    schemes = ["--schemes", "cubic,satcp,leocc"]
    assert cli.run([scenario, *schemes, "--repeats", "1", "--out", str(out)]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert said[0].startswith("warning: satcp finds no announced handovers")
    assert said[1].startswith("warning: leocc finds no grid of re-selections")
    assert len([line for line in said if "finds no" in line]) == 2
    page = (out / "report.html").read_text()
    assert "satcp finds no announced handovers" in page
    assert "leocc finds no grid" in page


def test_a_resume_keeps_what_earlier_schemes_were_not_told():
    old = {"suite": "s", "scheme": "satcp", "needs": "handovers", "scenarios": ["a"]}
    new = {
        "suite": "s",
        "scheme": "leocc",
        "needs": "reconfigurations",
        "scenarios": ["a", "b", "c", "d", "e"],
    }
    assert description.merge_announcements([new], [old]) == [old, new]
    assert description.merge_announcements([{**old, "scenarios": ["b"]}], [old]) == [
        {**old, "scenarios": ["b"]}
    ]
    assert warnings.announcement_lines([new]) == [warnings.announcement_line(new)]
    assert "a, b, c and 2 more" in warnings.announcement_line(new)
    others = [{**new, "suite": suite} for suite in ("t", "u", "v")]
    (told,) = warnings.announcement_lines([new, *others])
    assert f"in 4 suites: {new['suite']}, t, u and 1 more;" in told


class FellBack:
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
    [line] = warnings.fallback_lines(FellBack(), "s")
    assert line.startswith("mine fell back to Cubic 3 times in s, in 1 of 3 flows: a; ")
    assert warnings.fallback_lines(FellBack(), "other") == []


def test_results_from_before_there_were_fallbacks_have_none():
    old = FellBack()
    old.runs = FellBack.runs.drop("fallbacks")
    assert warnings.fallback_lines(old, "s") == []


def test_a_starved_flow_that_is_alone_has_the_link_for_itself(tmp_path, capsys):
    scenario = tmp_path / "lossy.yaml"
    scenario.write_text(
        "duration_s: 3\nlinks: {l: {rate_mbps: 10, delay_ms: 10, loss: 0.6}}\n"
        "flows: [{scheme: reno, route: [l]}]\n"
    )
    assert cli.run([str(scenario), "--repeats", "1", "--out", str(tmp_path / "out")]) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if "is starved" in line]
    assert "even share" not in line
    assert "longer path" not in line  # the path has one length
    assert re.search(r"where it cannot be best; it retransmits \d\d% of its packets; see Starved in", line)
