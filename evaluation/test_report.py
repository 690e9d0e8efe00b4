from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, sync_playwright

from evaluation import report
from evaluation.figures import style, timeline
from evaluation.figures.timeline import binned
from evaluation.intervals import SUMMARY_COLUMNS
from evaluation.made_up import made_up_results
from evaluation.metrics import METRICS
from evaluation.results import Results
from evaluation.tables import best_of

pytestmark = pytest.mark.xdist_group("report")  # the one that they read takes seconds to write

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCHEMES = ["cubic", "astraea"]


@pytest.fixture
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not on PATH: the report was not looked at in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    return report.write(made_up_results(folder, ["leo-single", "leo-pair"], SCHEMES, 2))


def test_the_report_reads_on_a_laptop_and_a_phone_in_light_and_dark(written: Path, browser: Browser) -> None:
    for width in (1366, 390):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            complaints: list[str] = []
            requests: list[str] = []
            page.on("console", lambda message, to=complaints: to.append(message.text))
            page.on("pageerror", lambda error, to=complaints: to.append(str(error)))
            page.on("request", lambda request, to=requests: to.append(request.url))
            page.goto(written.as_uri())
            assert complaints == []
            assert [url for url in requests if not url.startswith("data:")] == [written.as_uri()]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            figures = page.locator("figure svg")
            # leo-single: 6 trade-offs and 6 timelines; leo-pair: 1 fairness, 8 sharing and 4 trade-offs.
            assert figures.count() == 25
            for index in range(figures.count()):
                box = figures.nth(index).bounding_box()
                assert box
                assert box["width"] >= 250
                assert box["height"] >= 150
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width
            for cell in page.locator("table.summary td").all()[:20]:
                box = cell.bounding_box()
                assert box
                assert box["x"] + box["width"] <= width
            # Figures take the page's ink, which differs from its paper whatever the theme.
            ink, paper = page.evaluate(
                "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
            )
            line = page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
            assert ink != paper != line
            context.close()


def test_the_report_is_one_file_that_names_no_other(written: Path) -> None:
    text = written.read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "@import" not in text
    assert "url(http" not in text
    assert not re.findall(r'xlink:href="(?!#)', text)


def test_ids_in_the_report_are_unique_and_every_reference_is_met(written: Path) -> None:
    text = written.read_text()
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert referred <= set(ids)


def test_figures_are_also_files_of_their_own(written: Path) -> None:
    files = sorted((written.parent / "figures").iterdir())
    assert len(files) == 25
    for path in files:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_writing_a_report_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    report.write(made_up_results(tmp_path, ["leo-single"], ["cubic"], 1))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    report.write(Results.read(tmp_path))
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_summary_csv_reads_plainly_and_has_every_metric_of_both_suites(written: Path) -> None:
    table = pl.read_csv(written.parent / "summary.csv")
    assert tuple(table.columns) == (*SUMMARY_COLUMNS, "quick")
    assert set(table["metric"]) == set(METRICS) - {"completion_s", "share"}  # no flow ends, no schemes mix
    assert set(table["n"]) == {2}
    assert (table["ci_low"] <= table["mean"]).all()
    assert (table["mean"] <= table["ci_high"]).all()


def test_one_run_has_a_mean_in_the_report_and_says_that_it_has_no_interval(tmp_path: Path) -> None:
    text = report.write(made_up_results(tmp_path, ["leo-single"], ["cubic"], 1)).read_text()
    assert text.count('<span class="ci">one run</span>') == 6 * 6
    assert "How cubic performs" in text


def test_what_a_user_names_is_shown_and_never_taken_for_markup(tmp_path: Path) -> None:
    text = report.write(made_up_results(tmp_path, ["leo-single"], ["<b>mine</b>"], 1)).read_text()
    assert "<b>mine" not in text
    assert "&lt;b&gt;mine" in text


def test_only_what_the_runs_tell_apart_is_bold() -> None:
    def row(mean: float, low: float, high: float) -> dict[str, float]:
        return {"mean": mean, "ci_low": low, "ci_high": high}

    apart = {"a": row(1.0, 0.9, 1.1), "b": row(1.05, 1.0, 1.2), "c": row(2.0, 1.9, 2.1)}
    assert best_of(apart, METRICS["delay_inflation"]) == {"a", "b"}
    assert best_of(apart, METRICS["power"]) == {"c"}
    assert best_of({name: apart[name] for name in "ab"}, METRICS["power"]) == set()
    assert best_of(apart, METRICS["base_rtt_mean_ms"]) == set()


def test_a_panel_without_any_outage_is_filled_by_its_axes(tmp_path: Path) -> None:
    results = made_up_results(tmp_path, ["leo-single"], ["cubic"], 1)
    for path in (tmp_path / "series").glob("links--*"):
        pl.read_parquet(path).with_columns(connected=True).write_parquet(path)
    [suite] = results.suites
    for panel in timeline.panels(results, suite):
        style.svg(panel)
        assert sum(axes.get_position().height for axes in panel.figure.axes) > 0.5


def test_bins_average_the_intervals_that_close_in_them() -> None:
    time, values = binned(np.array([0.5, 1.0, 1.5, 2.0]), np.array([1.0, 3.0, np.nan, 5.0]))
    assert time.tolist() == [0.5, 1.5]
    assert values.tolist() == [2.0, 5.0]


def test_a_bin_without_a_value_is_a_gap() -> None:
    _, values = binned(np.array([1.0, 2.0]), np.array([np.nan, 5.0]))
    assert np.isnan(values[0])
    assert values[1] == 5.0
