import errno
import os
import signal
import subprocess
import sys
import threading

import pytest

from leogym.common import lock, output_folder
from leogym.common.errors import InputError

HOLDER = """
import sys
from pathlib import Path
from leogym.common import lock
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "out")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_is_told_who_has_it_in_one_line(holder, tmp_path):
    message = rf"out: --out: another process \({holder.pid} on "
    with pytest.raises(InputError, match=message) as raised, lock.held(tmp_path / "out"):
        pass
    assert "\n" not in str(raised.value)


def test_a_killed_process_has_it_no_more(holder, tmp_path):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with lock.held(tmp_path / "out"):
        pass


@pytest.mark.parametrize("error", [FileExistsError, FileNotFoundError])
def test_a_folder_that_its_holder_removes_meanwhile_is_made_again(tmp_path, monkeypatch, error):
    make, lost = output_folder.make, [error(errno.ENOENT, "gone")] * 2

    def make_after(folder):
        if lost:
            raise lost.pop()
        return make(folder)

    monkeypatch.setattr(output_folder, "make", make_after)
    with lock.held(tmp_path / "out"):
        assert (tmp_path / "out" / lock.NAME).exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="out: --out: cannot be written"), lock.held(tmp_path / "out"):
        pass


def test_who_waits_has_it_after_the_other(holder, tmp_path):
    entered = threading.Event()

    def wait() -> None:
        with lock.held(tmp_path / "out", wait=True):
            entered.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not entered.is_set()
    holder.communicate("")
    waiting.join()
    assert entered.is_set()


def test_a_context_that_fails_takes_back_the_folders_it_made_but_nothing_that_was_written(tmp_path):
    folder = tmp_path / "a" / "b"
    with pytest.raises(ZeroDivisionError), lock.held(folder):
        raise ZeroDivisionError
    assert not (tmp_path / "a").exists()
    with pytest.raises(ZeroDivisionError), lock.held(folder):
        1 / (folder / "file").write_bytes(b"")
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [".gitignore", "file"]


def test_a_folder_that_is_a_file_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: --out: cannot be written"), lock.held(tmp_path / "file"):
        pass
    assert (tmp_path / "file").is_file()
