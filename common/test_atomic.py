import multiprocessing
from pathlib import Path

import pytest

from leogym.common import atomic
from leogym.common.atomic import write_atomically

WRITES = 40


def _write(path: Path, letter: bytes) -> None:
    for _ in range(WRITES):
        write_atomically(path, letter * 100_000)


def test_two_processes_that_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    processes = multiprocessing.get_context("fork")
    writers = [processes.Process(target=_write, args=(path, letter)) for letter in (b"a", b"b")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            data = path.read_bytes()
            assert data in (b"a" * 100_000, b"b" * 100_000)
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_an_interrupt_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_what_a_killed_process_left_is_not_part_of_the_file(tmp_path: Path) -> None:
    (tmp_path / ".file.tmp").write_bytes(b"a longer beginning")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
