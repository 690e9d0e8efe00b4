import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from leogym.kernel_bridge import check, tunnel
from leogym.kernel_bridge.check import clean, leftovers
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
    for name in ("backend mahimahi", "backend kernel", "backend lab", "tunnel", "leo-bridge", "leo-app"):
        [line] = [line for line in lines if line.startswith(f"{name}: ")]
        assert line.count(f"{name.removeprefix('backend ')}: ") == 1


def test_only_folders_of_processes_that_are_gone_are_removed(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    left_folders = [
        tmp_path / f"leogym-mahimahi-{ended.pid}-abc_1",
        tmp_path / f"leogym-run-kernel-{ended.pid}-xyz",
    ]
    other_folders = [
        tmp_path / f"leogym-mahimahi-{os.getpid()}-abc",
        tmp_path / f"leogym-other-{ended.pid}-abc",
        tmp_path / "leogym-mahimahi-abc",
    ]
    for folder in (*left_folders, *other_folders):
        (folder / "work").mkdir(parents=True)
    link = tmp_path / f"leogym-mahimahi-{ended.pid}-link"
    link.symlink_to(other_folders[0])
    lines = list(clean(tmp_path))
    assert lines == [f"removed {folder}, the folder of a run that was killed" for folder in left_folders]
    assert sorted(tmp_path.iterdir()) == sorted([*other_folders, link])
    assert list(leftovers(tmp_path)) == []
