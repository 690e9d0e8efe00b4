"""The documentation's site builds without warnings and works in a browser, without a network."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
PHONE = {"width": 390, "height": 844}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"


class Files(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


pytestmark = pytest.mark.xdist_group("site")  # the fixture takes half a minute


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site as ``make docs`` does and serve it; return its address."""
    folder = tmp_path_factory.mktemp("site")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    built = subprocess.run(
        [*command, "--conf-dir", "docs", ".", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    handler = functools.partial(Files, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """Open a tab; scripts must not fail and may only load the site's own files."""
    context = browser.new_context()
    tab = context.new_page()
    failures: list[str] = []
    tab.on("pageerror", lambda error: failures.append(str(error)))
    tab.on("request", lambda request: request.url.startswith(f"{site}/") or failures.append(request.url))
    yield tab
    context.close()
    assert not failures


def test_the_entrance_leads_to_the_readme_and_its_menu_to_all_pages(site, page):
    page.goto(f"{site}/index.html")
    page.wait_for_url("**/README.html")
    assert page.locator("h1").first.inner_text().startswith("LeoGym")
    links = page.locator(".sidebar-tree a.reference")
    targets = {links.nth(index).get_attribute("href") for index in range(links.count())}
    assert {"docs/metrics.html", "docs/api.html", "traces/README.html", "CONTRIBUTING.html"} <= targets


def test_the_api_has_the_environments_and_the_simulator(site, page):
    page.goto(f"{site}/docs/api.html")
    for name in ("leogym.envs.flow.FlowEnv.step", "leogym.envs.rllib.MultiFlowEnv", "leosim.Batch.step"):
        assert page.locator(f'[id="{name}"]').count() == 1, name
    assert page.get_by_text("maximum delivery rate / 10 MB/s").is_visible()  # a docstring's Markdown table


def test_the_search_finds_a_page(site, page):
    page.goto(f"{site}/README.html")
    page.locator("input.sidebar-search").fill("delay inflation")
    page.locator("input.sidebar-search").press("Enter")
    found = page.locator("#search-results a", has_text="Metrics").first
    found.wait_for()
    found.click()
    assert page.locator("h1").first.inner_text().startswith("Metrics")


@pytest.mark.parametrize("name", ["README", "docs/metrics", "docs/environments", "docs/api"])
def test_a_phone_shows_pages_without_scrolling_sideways(site, page, name):
    page.set_viewport_size(PHONE)
    page.goto(f"{site}/{name}.html")
    assert page.evaluate(OVERFLOW) <= 0
    assert page.locator("label.nav-overlay-icon").first.is_visible()


def test_pages_are_dark_where_the_reader_prefers_it(site, page):
    page.goto(f"{site}/docs/metrics.html")
    for scheme, dark in (("light", False), ("dark", True)):
        page.emulate_media(color_scheme=scheme)
        assert (max(page.evaluate(BACKGROUND)) < 64) is dark
