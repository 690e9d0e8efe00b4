import fcntl
import os
import stat
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.common.output_file import whole_file, write_file
from leogym.traces.path import named_paths, path_trace


def _write_lines(out):
    with whole_file(out) as file:
        file.write("new")


def _write_trace(out):
    spec = named_paths.spec("sd-ny-bp")
    path_trace.write(spec.model_copy(update={"duration_s": 0.1}), out)


every_writer = pytest.mark.parametrize(
    "write",
    [_write_lines, lambda out: write_file(out, b"new"), _write_trace],
    ids=["lines", "bytes", "trace"],
)


@every_writer
def test_a_device_or_a_pipe_is_refused_and_stays(tmp_path, write):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for out in (pipe, tmp_path / "link"):
        with pytest.raises(InputError, match=f"{out}: cannot be written: is a device or a pipe: name a file"):
            write(out)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


@every_writer
def test_a_folder_is_no_file(tmp_path, write, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for out in (Path(), Path(".."), tmp_path):
        with pytest.raises(InputError, match=r": cannot be written: Is a directory"):
            write(out)
    assert list(tmp_path.iterdir()) == []


@every_writer
def test_a_symbolic_link_keeps_pointing_to_the_file_that_is_written(tmp_path, write):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there/file")
    for _ in range(2):  # without a file, and with one
        write(link)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file").stat().st_size > 0
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["file"]


@every_writer
def test_a_path_below_a_file_is_refused_by_the_name_that_the_user_gave(tmp_path, write):
    (tmp_path / "file").write_text("old")
    out = tmp_path / "file" / "out"
    with pytest.raises(InputError, match=f"^{out}: cannot be written: Not a directory"):
        write(out)


@pytest.mark.parametrize("write", [_write_lines, _write_trace], ids=["lines", "trace"])
def test_the_temporary_files_of_a_killed_process_are_removed_and_those_of_a_writer_stay(tmp_path, write):
    left = [tmp_path / ".out.12.tmp", tmp_path / ".out.12.rows.tmp"]
    writing = tmp_path / ".out.13.tmp"
    other = [tmp_path / ".out.notes.tmp", tmp_path / ".out.csv.12.tmp"]
    for path in (*left, writing, *other):
        path.touch()
    with writing.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == sorted([writing, *other, tmp_path / "out"])


def test_a_temporary_file_is_locked_while_it_is_written(tmp_path):
    with whole_file(tmp_path / "out") as file, open(file.name) as again, pytest.raises(BlockingIOError):
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
