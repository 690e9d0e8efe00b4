import os
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from leogym.common.atomic import write_atomically
from tests import kills
from tests.kills import Write


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def calls(writes):
    return [(write.call, write.path) for write in writes]


def test_every_change_of_a_folder_is_seen_in_its_order(folder, tmp_path):
    def work():
        (folder / "a").mkdir()
        (folder / "a" / "text").write_text("1")
        (tmp_path / "elsewhere").write_text("2")
        os.chdir(folder)
        os.rename("a/text", "a/other")
        Path("a/other").unlink()
        Path("a").rmdir()

    assert calls(kills.writes(work, folder)) == [
        ("mkdir", "a"),
        ("open", "a/text"),
        ("write", "a/text"),
        ("rename", "a/text"),
        ("unlink", "a/other"),
        ("unlink" if os.uname().machine != "x86_64" else "rmdir", "a"),
    ]


@pytest.mark.parametrize("where", ["thread", "process", "c"])
def test_writes_of_threads_children_and_libraries_count(folder, where):
    def work():
        if where == "thread":
            thread = threading.Thread(target=(folder / "file").write_text, args=("1",))
            thread.start()
            thread.join()
        elif where == "process":
            subprocess.run(["sh", "-c", f"echo 1 > {folder}/file"], check=True)
        else:
            sqlite3.connect(folder / "file").execute("CREATE TABLE t (n)")

    assert {("open", "file"), ("write", "file")} <= set(calls(kills.writes(work, folder)))


def write_three(folder):
    for number in range(3):
        write_atomically(folder / "file", f"{number}".encode() * 10_000)


def test_a_kill_at_a_write_leaves_what_a_copy_before_that_write_has(folder, tmp_path):
    snapshots = kills.snapshots(lambda: write_three(folder), folder, tmp_path / "copies")
    assert [write.call for write in snapshots] == ["open", "write", "fsync", "rename", "fsync"] * 3
    copies = {int(path.name) for path in (tmp_path / "copies").iterdir()}
    # Nothing changes at fsync.
    assert copies == {
        number for number, write in enumerate(snapshots) if number and snapshots[number - 1].call != "fsync"
    } | {0}
    for number in copies:
        kills.put_back(tmp_path / "copies" / "0", folder)
        ended = kills.stopped_at(lambda: write_three(folder), folder, number)
        assert (ended.status, len(ended.writes)) == (-signal.SIGKILL, number + 1)
        assert kills.contents(folder) == kills.contents(tmp_path / "copies" / str(number))


def test_another_signal_reaches_the_program_at_the_write(folder):
    def work():
        signal.signal(signal.SIGINT, lambda *_: os._exit(7))
        write_three(folder)

    ended = kills.stopped_at(work, folder, 3, signal.SIGINT)
    assert ended.status == 7
    assert kills.contents(folder) == {"file": b"0" * 10_000}


def test_the_chosen_writes_are_of_every_kind_and_from_everywhere():
    writes = [Write("write", f"{number:03d}") for number in range(100)] + [
        Write("unlink", "a"),
        Write("fsync", "b"),
    ]
    chosen = kills.of_each_kind(writes, 12)
    assert {99, 100, 101} <= set(chosen)
    assert len(chosen) in (11, 12)
    assert np.diff(chosen).max() < 15
    assert kills.of_each_kind(writes, 2, "[a-z]") == [100, 101]
    with pytest.raises(AssertionError, match="3 kinds"):
        kills.of_each_kind(writes, 2)


def test_a_program_that_fails_is_not_taken_for_one_that_ends(folder, capfd):
    with pytest.raises(AssertionError, match="status 3"):
        kills.writes(lambda: 3, folder)
    assert kills.in_child(lambda: 1 / 0) == 1
    assert "ZeroDivisionError" in capfd.readouterr().err
