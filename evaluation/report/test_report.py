import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np
import pandas
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from leogym.evaluation.figures import timeline
from leogym.evaluation.figures.timeline import binned
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import packing, path_maps, ranking
from leogym.evaluation.report import page as report
from leogym.evaluation.report.section import Badge, Section
from leogym.evaluation.report.tables import best_of
from leogym.results import figure_style
from leogym.results.intervals import SUMMARY_COLUMNS
from leogym.results.metrics import CALL_METRICS, METRICS
from tests.support.sample_results import sample_results

pytestmark = pytest.mark.xdist_group("report")  # their report takes seconds to write

SCHEMES = ["cubic", "astraea"]


expect.set_options(timeout=30_000)  # for busy machines
WIDE, NARROW = 1440, 375
MANY_RUNS = 2_000
TRAINING = {
    "evaluation.csv": {"steps": [1000, 2000], "reward": [0.1, 0.5]},
    "progress.csv": {"steps": [500, 1000, 1500, 2000], "reward": [None, 0.1, 0.3, 0.4], "loss": [1, 2, 1, 0]},
}
STUDY = Section(
    anchor="claims",
    title="Claims beside ours",
    html='<section id="claims"><h2>Claims</h2></section>',
    css=".claim { font-weight: 650; }",
    badge=Badge("50 %", "of the claims agree", "claims"),
    in_suites={"leo-single": '<p class="claim">Half of <a href="#claims">the claims</a> agree.</p>'},
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    results = sample_results(folder, ["leo-single", "leo-pair"], SCHEMES, 2)
    results.description["traces"]["/home/someone/measurements/a-terminal-of-2026.csv"] = "ab" * 32
    results.description["config"]["policies"]["astraea"] = {"sha256": "ab" * 32, "training": TRAINING}
    return report.write(results, lambda results: STUDY)


@contextmanager
def opened(browser: Browser, path: Path, width: int, scheme: Literal["light", "dark"]) -> Iterator[Page]:
    """Open a page; it must log no errors and load no other files."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert complaints == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    context.close()


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_the_report_reads_on_a_laptop_and_a_phone_in_light_and_dark(written, browser, width, scheme):
    with opened(browser, written, width, scheme) as page:
        for chart in page.locator(".explorer").all():
            chart.scroll_into_view_if_needed()
            expect(chart).to_have_class(re.compile("drawn"))
            # Goodput, RTT and window of both schemes, or of both flows of the first.
            assert chart.locator(".scatterlayer path.js-line").count() >= 7
        page.locator(".map").scroll_into_view_if_needed()
        expect(page.locator(".map")).to_have_class(re.compile("drawn"))
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        figures = page.locator(".panels svg")
        # leo-single: 4 trade-offs, as it is quick; leo-pair: 1 fairness and 4 trade-offs; 3 training curves.
        # Time series are interactive, above.
        assert figures.count() == 12
        boxes = page.evaluate(
            "[...document.querySelectorAll('.panels svg, .chart .main-svg, .summary td')].map(one =>"
            " [one.tagName, ...Object.values(one.getBoundingClientRect().toJSON())])"
        )
        assert len(boxes) > 50
        for tag, x, _, wide, high, *_ in boxes:
            assert x >= 0
            assert x + wide <= width + 0.5
            assert tag == "TD" or (wide >= 250 and high >= 150)
        # Figures use the page's text colour, which differs from its background in both themes.
        ink, paper = page.evaluate(
            "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
        )
        line = page.evaluate("getComputedStyle(document.querySelector('.tradeoff svg text')).fill")
        assert ink != paper != line


def test_a_study_has_a_section_a_badge_and_a_part_of_its_suites(written):
    page = written.read_text()
    assert STUDY.html in page
    assert STUDY.css in page
    assert page.count(STUDY.in_suites["leo-single"]) == 1
    assert page.index('id="leo-single"') < page.index('class="claim"') < page.index('id="leo-pair"')
    assert '<a href="#claims"><b>50 %</b> <span>of the claims agree</span></a>' in page


def test_a_users_policy_has_its_training_curves(written, browser):
    with opened(browser, written, WIDE, "light") as page:
        labels = page.locator("#training svg").evaluate_all("svgs => svgs.map(svg => svg.ariaLabel)")
        expect(page.locator("#training")).to_contain_text("on held-out episodes")
    assert labels == [
        "astraea: reward on held-out episodes over steps",
        "astraea: reward in training over steps",
        "astraea: loss in training over steps",
    ]


def test_every_link_of_the_report_leads_somewhere(written, browser):
    with opened(browser, written, WIDE, "light") as page:
        targets = page.evaluate("[...document.links].map(one => decodeURIComponent(one.hash.slice(1)))")
        assert {"leo-single", "leo-pair", "claims", "kernel-distance", "reading"} <= set(targets)
        assert page.evaluate("names => names.filter(one => !document.getElementById(one))", targets) == []
        page.locator("#winners a").last.click()
        page.wait_for_function(
            "Math.abs(document.getElementById('leo-pair').getBoundingClientRect().top) < 60"
        )


def test_a_chart_shows_the_scenario_and_the_scheme_that_are_chosen(written, browser):
    with opened(browser, written, WIDE, "light") as page:
        chart = page.locator("#leo-pair .explorer")
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_class(re.compile("drawn"))
        scenario, scheme = chart.locator("select").all()
        assert scheme.locator("option").all_text_contents() == SCHEMES
        scheme.select_option("astraea")
        scenario.select_option(index=2)
        name = scenario.locator("option").nth(2).text_content()
        expect(chart.locator(".chart")).to_have_attribute("aria-label", re.compile(f"{name}: astraea$"))
        assert chart.locator(".legendtext").all_text_contents() == ["capacity", "astraea 1", "astraea 2"]
        single = page.locator("#leo-single .explorer")
        single.scroll_into_view_if_needed()
        expect(single).to_have_class(re.compile("drawn"))
        assert single.locator(".legendtext").all_text_contents() == ["capacity", *SCHEMES]


def test_the_map_shows_the_chain_of_the_time_that_is_chosen(written, browser):
    with opened(browser, written, NARROW, "light") as page:
        chart = page.locator(".map")
        chart.scroll_into_view_if_needed()
        expect(chart).to_have_class(re.compile("drawn"))
        path, about = chart.locator("select"), chart.locator(".about")
        assert path.locator("option").count() == 6
        path.select_option(label="sd-ny-bp: San Diego – New York, bent-pipe, starlink-1")
        before = about.text_content()
        assert before
        assert before.startswith("At 0 s of the path trace: 8 hops")
        chart.locator("input").fill("120")
        expect(about).to_contain_text("At 120 s")
        assert "handover" in (about.text_content() or "")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


def test_a_schemes_dot_stays_beside_its_name_however_lines_break(written, browser):
    with opened(browser, written, NARROW, "light") as page:
        apart = page.evaluate(
            """() => [...Array(120).keys()].flatMap((more) => {
              const one = document.querySelector(".winners .name"), cell = one.parentElement;
              cell.replaceChildren(one.cloneNode(true), ", ", one.cloneNode(true), ", ", one);
              cell.style.cssText = `display: block; width: ${100 + more}px`;
              return [...cell.querySelectorAll(".name")].filter((name) => {
                const text = document.createRange();
                text.selectNodeContents(name.lastChild);
                const dot = name.querySelector(".dot").getBoundingClientRect();
                return dot.bottom < text.getBoundingClientRect().top;
              }).map((name) => [100 + more, name.textContent]);
            })"""
        )
        assert apart == []


def test_a_path_that_cannot_be_built_has_no_map():
    assert path_maps.of_path("sd-ny-isl@oneweb") is None
    path = path_maps.of_path("sd-ny-isl")
    assert path is not None
    for chain in path["chains"]:
        assert (chain["names"][0], chain["names"][-1]) == ("San Diego", "New York")
        assert set(chain["kinds"][1:-1]) == {"satellite"}
        assert len(chain["lon"]) == len(chain["lat"]) == len(chain["names"])


def test_a_report_of_thousands_of_runs_is_small_and_paints_at_once(written, browser, tmp_path):
    large = many(Results.read(written.parent))
    assert large.runs["run_id"].n_unique() >= MANY_RUNS
    svg = "<svg viewBox='0 0 100 60'>" + "<path d='M 1.234 5.678 L 9.012 3.456'/>" * 2_000 + "</svg>"
    groups = {one.name: [report.FigureGroup("tradeoff", "", "", [svg] * 6, 0)] for one in large.suites}
    path = tmp_path / "report.html"
    path.write_text(report.render(large, groups, None, ranking.ranking(large), report.Prepared.of(large)))
    assert path.stat().st_size < packing.MOST_BYTES
    with opened(browser, path, WIDE, "light") as page:
        paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        assert page.wait_for_function(paint).json_value() < 2_000
        # Packed parts load by themselves, for searching and printing.
        expect(page.locator(".packed").first).to_be_attached()
        page.wait_for_function("!document.querySelector('.packed:not([data-state=unpacked])')")
        assert page.locator("figure.tradeoff svg").count() == 6 * len(groups)


def many(few: Results) -> Results:
    """Return an evaluation of many runs: copies of another's suites with more repeats."""
    copies = -(-MANY_RUNS // (5 * few.runs["run_id"].n_unique()))
    names = [f"copy-{index}" for index in range(copies)]
    config = few.description["config"]
    [suite] = [one for one in config["suites"] if one["name"] == "leo-single"]
    runs, summary = (table.filter(pl.col("suite") == "leo-single") for table in (few.runs, few.summary))
    runs, summary = (
        pl.concat([table.with_columns(suite=pl.lit(name)) for name in names]) for table in (runs, summary)
    )
    repeats = -(-MANY_RUNS // runs.select("suite", "run_id").n_unique())
    runs = pl.concat(
        [
            runs.with_columns(
                run_id=pl.col("suite") + pl.col("run_id") + str(index), repeat=pl.col("repeat") + 2 * index
            )
            for index in range(repeats)
        ]
    )
    description = {
        **few.description,
        "config": {**config, "suites": [{**suite, "name": one} for one in names]},
    }
    found = Results(few.folder, description, runs)
    # Intervals of so many runs take long and are not tested here.
    found.__dict__["summary"] = summary
    return found


def test_the_report_is_one_file_that_names_no_other(written):
    text = written.read_text()
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "@import" not in text
    assert "url(http" not in text
    assert not re.findall(r'xlink:href="(?!#)', text)
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)


def test_ids_in_the_report_are_unique_and_every_reference_is_met(written):
    text = written.read_text()
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert referred <= set(ids)


def test_figures_are_also_files_of_their_own(written):
    files = sorted((written.parent / "figures").iterdir())
    assert len(files) == 17, "four of each kind, and one of fairness"
    for path in files:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_writing_a_report_twice_gives_the_same_bytes_and_deletes_only_stale_panels(tmp_path):
    report.write(sample_results(tmp_path, ["leo-single"], ["cubic"], 1))
    panel = next((tmp_path / "figures").glob("*.svg"))
    (tmp_path / "figures" / "own.svg").write_text("<svg/>")
    (tmp_path / "figures" / "own").mkdir()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shutil.copy(panel, panel.with_name("stale.svg"))
    report.write(Results.read(tmp_path))
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_summary_csv_reads_plainly_and_has_every_metric_of_both_suites(written):
    table = pl.read_csv(written.parent / "summary.csv")
    assert tuple(table.columns) == (*SUMMARY_COLUMNS, "quick")
    # No flow ends or has a workload, and no schemes mix.
    workloads = {"qoe", "startup_s", "rebuffer_s", "switches", "page_load_s", *CALL_METRICS}
    assert set(table["metric"]) == set(METRICS) - {"completion_s", "share"} - workloads
    assert set(table["n"]) == {2}
    assert (table["ci_low"] <= table["mean"]).all()
    assert (table["mean"] <= table["ci_high"]).all()


def test_one_run_has_a_mean_in_the_report_and_says_that_it_has_no_interval(tmp_path):
    text = report.write(sample_results(tmp_path, ["leo-single"], ["cubic"], 1)).read_text()
    assert text.count("<i>one run</i>") == 6 * 6
    assert "How cubic performs" in text


def test_what_a_user_names_is_shown_and_never_taken_for_markup(tmp_path):
    text = report.write(sample_results(tmp_path, ["leo-single"], ["<b>mine</b>"], 1)).read_text()
    assert "<b>mine" not in text
    assert "&lt;b&gt;mine" in text


def test_only_what_the_runs_tell_apart_is_bold():
    def row(mean: float, low: float, high: float) -> dict[str, float]:
        return {"mean": mean, "ci_low": low, "ci_high": high}

    apart = {"a": row(1.0, 0.9, 1.1), "b": row(1.05, 1.0, 1.2), "c": row(2.0, 1.9, 2.1)}
    assert best_of(apart, METRICS["delay_inflation"]) == {"a", "b"}
    assert best_of(apart, METRICS["power"]) == {"c"}
    assert best_of({name: apart[name] for name in "ab"}, METRICS["power"]) == set()
    assert best_of(apart, METRICS["base_rtt_mean_ms"]) == set()


def test_a_panel_without_any_outage_is_filled_by_its_axes(tmp_path):
    results = sample_results(tmp_path, ["leo-single"], ["cubic"], 1)
    for path in (tmp_path / "series" / "links").iterdir():
        pl.read_parquet(path).with_columns(connected=True).write_parquet(path)
    results = replace(results, digests=None)  # the series are no longer as recorded
    [suite] = results.suites
    for panel in timeline.panels(results, suite):
        figure_style.svg(panel)
        assert sum(axes.get_position().height for axes in panel.figure.axes) > 0.5


def test_bins_average_the_intervals_that_close_in_them():
    time, values = binned(np.array([0.5, 1.0, 1.5, 2.0]), np.array([1.0, 3.0, np.nan, 5.0]))
    assert time.tolist() == [0.5, 1.5]
    assert values.tolist() == [2.0, 5.0]


def test_a_bin_without_a_value_is_a_gap():
    _, values = binned(np.array([1.0, 2.0]), np.array([np.nan, 5.0]))
    assert np.isnan(values[0])
    assert values[1] == 5.0


def test_tables_load_with_pandas_and_polars_in_one_line(written):
    folder = written.parent
    for name in ("summary.csv", "ranking.csv"):
        assert list(pandas.read_csv(folder / name).columns) == pl.read_csv(folder / name).columns
    assert len(pandas.read_parquet(folder / "runs.parquet")) == len(pl.read_parquet(folder / "runs.parquet"))
    for kind, own in (("flows", "flow"), ("links", "link")):
        both = pl.read_parquet(folder / "series" / kind), pandas.read_parquet(folder / "series" / kind)
        assert list(both[0].columns) == list(both[1].columns)
        assert own in both[0].columns
        assert len(both[0]) == len(both[1]) > 0
        assert both[0]["suite"].n_unique() == both[1]["suite"].nunique() == 2
