"""Which tests may share the machine, and what holds for all of them.

`make test` runs pytest twice. Tests of what has no clock, or one of its own (the simulator, training,
traces, the lab's machines), come out the same on a busy machine: ``--part shared`` runs them on all cores
at once, and only those that start a Ray cluster one after another (``xdist_group("ray")``), since Ray
chooses ports before it takes them. Tests marked ``real_time`` drive real TCP and mm-leo on the machine's
own clock: a neighbour that takes a core away makes them late, and runs that were late do not count.
``--part real-time`` runs them one by one, with nothing beside them. Without ``--part``, all run one after
another.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

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

# A test that asks for a run means it: results that a user keeps are neither taken nor added to.
os.environ["LEOGYM_RESULTS"] = "none"

# How long an example takes says how busy the machine is; times are measured in tests/bench.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--part``: unlike a second ``-m``, it leaves a first one, such as PYTEST_ADDOPTS', as it is."""
    parser.addoption(
        "--part", choices=PARTS, help="only tests that share the machine, or only real-time ones"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the many modules without a real-time test: that would take most of a minute."""
    if config.getoption("--part") == "real-time" and collection_path.suffix == ".py":
        return "pytest.mark.real_time" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to the other part."""
    part = config.getoption("--part")
    if part is None:
        return
    other = [item for item in items if (item.get_closest_marker("real_time") is None) != (part == "shared")]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in set(other)]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let one part be empty where a selection such as ``-k NAME`` leaves tests in the other only."""
    if session.config.getoption("--part") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a MiB, which root can mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    system = ctypes.CDLL(None, use_errno=True)
    if system.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % DISK_BYTES):
        pytest.skip(f"cannot mount a small file system: {os.strerror(ctypes.get_errno())}")
    yield folder
    system.umount2(os.fsencode(folder), 2)  # MNT_DETACH


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("chromium is not on PATH: pages were not looked at in a browser")
    from playwright.sync_api import sync_playwright  # here, because few tests want it

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(BROWSER_FLAGS))
        yield opened
        opened.close()
