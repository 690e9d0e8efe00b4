"""The study's section of a report, in the system's Chromium."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leogym.evaluation.report import page as report
from studies.papers.section import make_section
from tests.support.sample_results import sample_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.parametrize("width", [1440, 375])
def test_claims_fit_the_window_and_their_links_lead_somewhere(
    tmp_path: Path, browser: "Browser", width: int
) -> None:
    results = sample_results(tmp_path, ["leo-single", "leo-pair"], ["cubic", "astraea"], 2)
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
