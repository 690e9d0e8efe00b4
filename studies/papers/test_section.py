"""The study's section of a report, in the system's Chromium."""

import polars as pl
import pytest

from leogym.configs import suite as suites
from leogym.evaluation.report import page as report
from studies.papers import paper, section
from studies.papers.section import make_section
from tests.support.sample_results import sample_results


@pytest.mark.parametrize("width", [1440, 375])
def test_claims_fit_the_window_and_their_links_lead_somewhere(tmp_path, browser, width):
    results = sample_results(tmp_path, ["leo-single-leoem", "leo-pair-leoem"], ["cubic", "astraea"], 2)
    opened = browser.new_page(viewport={"width": width, "height": 900})
    opened.goto(report.write(results, make_section).as_uri())
    tables = opened.locator("table.claims")
    assert tables.count() >= 2
    for index in range(tables.count()):
        box = tables.nth(index).bounding_box()
        assert box is not None
        assert box["width"] >= 250
        assert box["x"] + box["width"] <= width + 0.5
    targets = opened.evaluate("[...document.links].map(link => decodeURIComponent(link.hash.slice(1)))")
    assert "papers" in targets
    assert opened.evaluate("names => names.filter(name => !document.getElementById(name))", targets) == []
    opened.close()


@pytest.mark.parametrize(
    ("suite", "name", "title", "file"),
    [
        ("latency-jump", "satcp-leoem", "Fig. 9 of SaTCP", "satcp-leoem-fig-9"),
        ("leo-orbit", "satcp-leoem", "Table I of SaTCP", "satcp-leoem-table-i"),
        (
            "geo-startup",
            "hystart-over-satellite",
            "Figs. 2 to 5 and 7 of TCP HyStart Performance over a Satellite Network",
            "hystart-over-satellite-figs-2-to-5-and-7",
        ),
    ],
)
def test_figures_have_the_names_of_the_papers_figures(suite, name, title, file):
    papers = [paper.load(other) for other in paper.shipped()]
    assert section.figure_name(suites.load(suite), papers) == section.FigureName(title, file)
    others = [other for other in papers if other.name != name]
    assert section.figure_name(suites.load(suite), others) is None


def test_the_command_line_says_how_many_claims_agree(tmp_path, monkeypatch):
    report.write(sample_results(tmp_path, ["leo-single-leoem"], ["cubic", "astraea"], 2), make_section)
    rows = pl.read_csv(tmp_path / "claims.csv")
    assert len(rows) > section.MOST_PRINTED
    [first] = section.conclusion(tmp_path)
    assert first.startswith(f"{len(rows)} claims: ")
    monkeypatch.setattr(section, "MOST_PRINTED", len(rows))
    _, *claims = section.conclusion(tmp_path)
    assert len(claims) == len(rows)
    assert all(line.split()[0] in {"agrees", "differs", "undecided", "not"} for line in claims)
    (tmp_path / "claims.csv").unlink()
    assert [*section.conclusion(tmp_path)] == []


def test_the_files_of_figures_begin_with_the_papers_figure(tmp_path):
    page = report.write(sample_results(tmp_path, ["leo-single-leoem"], ["cubic", "reno"], 2), make_section)
    names = [path.name for path in (tmp_path / "figures").iterdir()]
    assert names
    assert all(name.startswith("learning-cc-for-leo-fig-1a-and-b--leo-single-leoem--") for name in names)
    assert "(Fig. 1a and b of Evaluating Learning" in page.read_text()
