"""Cleaning up after killed runs only."""

import os
import subprocess

from leogym.kernel_bridge.clean import clean, leftovers


def test_only_folders_of_processes_that_are_gone_are_removed(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = [tmp_path / f"leogym-mahimahi-{gone.pid}-abc_1", tmp_path / f"leogym-run-kernel-{gone.pid}-xyz"]
    kept = [
        tmp_path / f"leogym-mahimahi-{os.getpid()}-abc",
        tmp_path / f"leogym-other-{gone.pid}-abc",
        tmp_path / "leogym-mahimahi-abc",
    ]
    for folder in (*left, *kept):
        (folder / "work").mkdir(parents=True)
    link = tmp_path / f"leogym-mahimahi-{gone.pid}-link"
    link.symlink_to(kept[0])
    told = list(clean(tmp_path))
    assert told == [f"removed {folder}, the folder of a run that was killed" for folder in left]
    assert sorted(tmp_path.iterdir()) == sorted([*kept, link])
    assert list(leftovers(tmp_path)) == []
