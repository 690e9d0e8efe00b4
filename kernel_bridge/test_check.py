import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from leogym.kernel_bridge import check, tunnel
from leogym.kernel_bridge.lab import links as lab
from leogym.kernel_bridge.runner.backends import BACKENDS
from leogym.kernel_bridge.shell import leo

ON_THE_HOST: dict[str, Callable[[], str | None]] = {
    **{name: backend().missing for name, backend in BACKENDS.items()},
    "tunnel": tunnel.missing,
}


@pytest.mark.parametrize("name", [*ON_THE_HOST, "lab"])
def test_a_missing_program_is_told_under_the_name_of_who_needs_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(leo, "program", lambda: None)
    lack = {**ON_THE_HOST, "lab": lab.missing}[name]()
    assert lack is not None
    assert lack.startswith(f"{name}: ")
    assert "is not installed: " in lack


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_missing_rights_are_told_under_the_name_of_who_needs_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program, **_: f"/usr/bin/{program}")
    monkeypatch.setattr(leo, "program", lambda: Path("/usr/bin/mm-leo"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert (ON_THE_HOST[name]() or "").startswith(f"{name}: private namespaces need root: ")


def test_the_check_tells_each_backend_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    lines = list(check.check())
    for name in ("backend mahimahi", "backend kernel", "backend lab", "tunnel", "leo-bridge"):
        [line] = [line for line in lines if line.startswith(f"{name}: ")]
        assert line.count(f"{name.removeprefix('backend ')}: ") == 1
