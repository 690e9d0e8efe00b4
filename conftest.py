"""Pytest options and fixtures for all tests.

`make test` runs pytest twice. ``--part shared`` runs on all cores at once: these tests use no clock or a
virtual one (simulator, training, traces, lab), so load does not change their results. Only tests that start a
Ray cluster run one after another (``xdist_group("ray")``), since Ray chooses ports before it binds them.
``--part real-time`` runs the tests marked ``real_time`` alone and one by one: they drive real TCP and mm-leo
on the machine's clock, and late runs do not count. Without ``--part``, all tests run one after another.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support import local_ray

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PARTS = ("shared", "real-time")
DISK_BYTES = 1 << 20
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Tests neither use nor extend the user's cache of results.
os.environ["LEOGYM_RESULTS"] = "none"

# Ray gives its workers the priority 15 below others'. Beside other tests they would hardly run.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (its name)

# For each of its connectors, Ray takes the whole stack with each frame's source, and uses one frame. Under
# pytest the stack is deep, and this takes longer than the rest of the connector.
inspect.stack = functools.partial(inspect.stack, 0)

# No deadlines: an example's duration depends on the machine's load. tests/bench measures times.
# Each run has the same examples, so that a change does not fail by another's fault; `--hypothesis-profile
# random` draws new ones.
for _profile in ("repeated", "random"):
    hypothesis.settings.register_profile(
        _profile,
        deadline=None,
        derandomize=_profile == "repeated",
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("repeated")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--part``. A second ``-m`` would override the first one, for example PYTEST_ADDOPTS'."""
    parser.addoption(
        "--part", choices=PARTS, help="only tests that share the machine, or only real-time ones"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip modules without a real-time test: importing them all takes most of a minute."""
    if config.getoption("--part") == "real-time" and collection_path.suffix == ".py":
        return "pytest.mark.real_time" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the other part's tests, and put those that share a Ray next to each other."""
    items.sort(key=shares_ray)
    part = config.getoption("--part")
    if part is None:
        return
    other = [item for item in items if (item.get_closest_marker("real_time") is None) != (part == "shared")]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in set(other)]


def shares_ray(item: pytest.Item) -> bool:
    """Return whether a test has the mark ``local_ray``."""
    return item.get_closest_marker("local_ray") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start the Ray that tests with the mark ``local_ray`` share, unless it runs."""
    if shares_ray(item):
        local_ray.start()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop this Ray before a test without the mark."""
    if shares_ray(item) and (nextitem is None or not shares_ray(nextitem)):
        local_ray.stop()


def pytest_collection_finish() -> None:
    """Let garbage collections pass over the modules of all tests, which stay in memory."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Accept an empty part: a selection such as ``-k NAME`` may match only the other part's tests."""
    if session.config.getoption("--part") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 1 MiB; needs root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    system = ctypes.CDLL(None, use_errno=True)
    if system.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % DISK_BYTES):
        pytest.skip(f"cannot mount a small file system: {os.strerror(ctypes.get_errno())}")
    yield folder
    system.umount2(os.fsencode(folder), 2)  # MNT_DETACH


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium."""
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("chromium is not on PATH: pages were not looked at in a browser")
    from playwright.sync_api import sync_playwright  # imported here: few tests need it

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(BROWSER_FLAGS))
        yield opened
        opened.close()
