import struct

import pytest

from leogym.kernel_bridge.lab import machine

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
