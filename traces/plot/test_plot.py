import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from leogym.traces import plot
from leogym.traces.path import cache, named_paths, path_trace
from leogym.traces.path.build import build
from leogym.traces.path.spec import PathSpec
from leogym.traces.plot import figure
from leogym.traces.plot.chains import chain_spans, lon_lat_deg
from tests.support import scenarios


def _spec() -> PathSpec:
    return named_paths.spec("sd-ny-bp").model_copy(update={"duration_s": 40.0})


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plot")
    path_trace.write(_spec(), folder / "x.csv")
    plot.save(cache.load(str(folder / "x.csv")), "x.csv", folder / "x.html", _spec())
    return folder / "x.html"


def _data(file: Path) -> dict:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', file.read_text(), re.S)
    assert found
    return json.loads(found[1])


def test_a_trace_without_sites_is_drawn_without_a_map(tmp_path: Path) -> None:
    rows = "0,20,10,10,0,1,0,", "1,21,10,10,0,0,0,unreachable", "2,21,10,10,0,1,0,"
    (tmp_path / "x.csv").write_text(scenarios.path_trace(*rows, name="x", links="bent-pipe"))
    trace = cache.load(str(tmp_path / "x.csv"))
    assert len(figure.figure(trace, "x.csv", []).axes) == 3
    for kind in ("png", "html"):
        plot.save(trace, "x.csv", tmp_path / f"x.{kind}")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert '<body class="no-map">' in (tmp_path / "x.html").read_text()
    found = _data(tmp_path / "x.html")
    assert (found["coasts"], found["gateways"]) == ([], [])
    assert found["series"]["up_delay_ms"] == [20, 21]


def test_chains_of_a_picture_are_those_of_the_path():
    path, spans = build(_spec()), chain_spans(_spec())
    for row, (time_ns, path_id) in enumerate(zip(path.time_ns[:-1], path.path_id[:-1], strict=True)):
        (span,) = [span for span in spans if span.start_s <= time_ns / 1e9 < span.end_s]
        assert len(span.names) == len(path.chains[path_id])
        if time_ns / 1e9 in span.sample_s:
            at = int(np.flatnonzero(span.sample_s == time_ns / 1e9)[0])
            legs_km = np.linalg.norm(np.diff(span.position_km[at], axis=0), axis=1)
            assert legs_km == pytest.approx(path.leg_km[row], rel=1e-12)
    assert [span.event for span in spans if span.event] == [
        event.partition("(")[0] for event in path.event if event
    ]
    assert spans[0].names[0] == "San Diego"
    assert spans[0].names[-1] == "New York"
    assert spans[0].kinds[1:4] == ["satellite", "gateway", "satellite"]
    lon, lat = lon_lat_deg(spans[0].position_km[0, 0])
    assert (lon, lat) == (pytest.approx(-117.1647), pytest.approx(32.7157, abs=0.2))


def test_the_page_holds_everything_and_asks_for_nothing(page_file: Path):
    text = page_file.read_text()
    assert "{{" not in text
    assert not re.search(r"https?://|src=|@import|url\(", text)
    data = _data(page_file)
    assert [site[0] for site in data["sites"]] == ["San Diego", "New York"]
    assert data["period_s"] == 40
    for span in data["chains"]["spans"]:
        assert len(span["km"]) == 3 * span["samples"] * len(span["nodes"])
    assert len(data["series"]["time_s"]) == len(data["series"]["up_delay_ms"]) >= 400


def test_a_name_cannot_break_out_of_the_page(page_file: Path):
    trace = cache.load(str(page_file.with_suffix(".csv")))
    page = page_file.with_name("odd.html")
    odd = "</script><script>alert(1)</script>"
    lines = page_file.with_suffix(".csv").read_text().split("\n", 1)
    about = {**json.loads(lines[0][2:]), "name": odd}
    trace = cache.parse(f"# {json.dumps(about)}\n{lines[1]}".encode(), "odd")
    plot.save(trace, "odd", page)
    assert page.read_text().count("</script>") == 2
    assert _data(page)["title"].startswith(f"{odd}: ")


def _open(browser: Browser, file: Path, width: int, scheme: str) -> tuple[Page, list[str], list[str]]:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    return page, complaints, requests


def _ink(page: Page, canvas: str) -> list[int]:
    """Return the sorted pixel counts of a canvas's colours, as a fingerprint."""
    return page.evaluate(
        """id => { const from = document.getElementById(id), to = document.createElement("canvas");
        [to.width, to.height] = [from.width, from.height];
        const context = to.getContext("2d", { willReadFrequently: true });
        context.drawImage(from, 0, 0);
        const pixels = new Uint32Array(context.getImageData(0, 0, to.width, to.height).data.buffer);
        const seen = new Map(); for (const p of pixels) seen.set(p, (seen.get(p) || 0) + 1);
        return [...seen.values()].sort((a, b) => b - a); }""",
        canvas,
    )


@pytest.mark.parametrize(("width", "scheme"), [(1366, "light"), (390, "dark")])
def test_the_globe_plays_on_a_laptop_and_a_phone(page_file: Path, browser: Browser, width: int, scheme: str):
    page, complaints, requests = _open(browser, page_file, width, scheme)
    page.click("#play")
    assert page.text_content("#play") == "Play"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for canvas in ("globe", "timeline"):
        assert len(_ink(page, canvas)) > 20
        box = page.locator(f"#{canvas}").bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    # A click on the time line moves the globe, and the text matches the trace.
    before = _ink(page, "globe")
    page.click("#timeline", position={"x": 56 + (width - 66) * 0.5, "y": 40})
    assert _ink(page, "globe") != before
    data = _data(page_file)
    now = page.text_content("#now") or ""
    shown = re.match(r"([\d.]+) s: ([\d.]+) ms one way", now)
    assert shown
    assert float(shown[1]) == pytest.approx(20, abs=0.5)
    row = int(np.searchsorted(data["series"]["time_s"], float(shown[1]) + 0.05)) - 1
    assert float(shown[2]) == pytest.approx(data["series"]["up_delay_ms"][row], abs=0.05)
    assert (page.text_content("#chain") or "").startswith("San Diego → ")
    turned = _ink(page, "globe")
    page.focus("#globe")
    page.keyboard.press("ArrowLeft")
    assert _ink(page, "globe") != turned
    zoomed = _ink(page, "globe")
    page.click("#in")
    assert _ink(page, "globe") != zoomed
    page.click("#play")
    page.wait_for_function("before => document.getElementById('now').textContent !== before", arg=now)
    assert complaints == []
    assert requests == [page_file.as_uri()]
