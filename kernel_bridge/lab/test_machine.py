import hashlib
import os
import struct
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from leogym.kernel_bridge.lab import machine, qemu

SECTION = b"\x0ctimer/icount\x00\x00\x00\x01"


def restarted(tmp_path, stream):
    file = tmp_path / "guest"
    file.write_bytes(stream)
    machine.restart_count(file)
    return file.read_bytes()


def stream(bias, count):
    return b"memory" + SECTION + struct.pack(">qq", bias, count) + b"devices"


def test_a_count_that_record_mode_cannot_resume_moves_into_the_bias(tmp_path):
    assert restarted(tmp_path, stream(5, 2**31)) == stream(5 + 2**31, 0)


def test_a_count_that_it_can_resume_stays(tmp_path):
    assert restarted(tmp_path, stream(5, 2**31 - 1)) == stream(5, 2**31 - 1)


@pytest.mark.parametrize("unknown", [b"memory", stream(0, 1) * 2], ids=["none", "two"])
def test_a_file_without_one_count_is_an_error(tmp_path, unknown):
    with pytest.raises(ValueError, match="not one count of instructions"):
        restarted(tmp_path, unknown)


def test_a_first_run_takes_the_guest_that_a_parallel_one_saved_meanwhile(tmp_path, monkeypatch):
    @contextmanager
    def held(folder, *, wait):
        assert folder.parent == tmp_path
        assert wait
        place.touch()
        yield

    place = tmp_path / f"ready-{hashlib.sha256(b'QEMU').hexdigest()[:8]}"
    monkeypatch.setattr(qemu, "missing", lambda: None)
    monkeypatch.setattr(qemu, "version", lambda: "QEMU")
    monkeypatch.setattr(machine.lock, "held", held)
    image = SimpleNamespace(initramfs=tmp_path / "initramfs")
    assert machine.ready(image) == place


def test_a_guest_that_fails_while_it_starts_is_ended(tmp_path, monkeypatch):
    def fail(pid, _):
        pids.append(pid)
        raise OSError("no such core")

    pids: list[int] = []
    asleep = [sys.executable, "-c", "import signal; signal.pause()"]
    monkeypatch.setattr(qemu, "_command", lambda *_: [*asleep, qemu.ICOUNT])
    monkeypatch.setattr(os, "sched_setaffinity", fail)
    with pytest.raises(OSError, match="no such core"):
        qemu.Guest(SimpleNamespace(), tmp_path, seed=1, job=tmp_path / "job")
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
