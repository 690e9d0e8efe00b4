"""Cleaning up after killed runs only."""

import os
import subprocess

from leogym.kernel_bridge.clean import clean, leftovers


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
