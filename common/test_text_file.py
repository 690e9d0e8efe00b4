import bz2
import gzip
import lzma

import pytest

from leogym.common import text_file
from leogym.common.errors import InputError

MOST_BYTES = 100


def read(tmp_path, data):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    return text_file.read(path, MOST_BYTES)


def test_a_byte_order_mark_and_carriage_returns_are_not_part_of_the_text(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbf1\r\n2\n") == "1\n2\n"


@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "UTF-16"), ("utf-32", "UTF-32")])
def test_another_encoding_is_refused_by_its_name(tmp_path, encoding, name):
    with pytest.raises(InputError, match=rf"a\.txt:1: file: {name} text: save it as UTF-8"):
        read(tmp_path, "1\n".encode(encoding))


@pytest.mark.parametrize(
    ("pack", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")]
)
def test_a_packed_file_is_refused_with_the_way_to_its_text(tmp_path, pack, name):
    with pytest.raises(InputError, match=rf"a\.txt:1: file: is {name}: unpack it with "):
        read(tmp_path, pack(b"1\n"))


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(tmp_path):
    with pytest.raises(InputError, match=r"a\.txt:2: file: not UTF-8 text"):
        read(tmp_path, b"1\n\xff\n")


def test_a_file_that_is_too_large_is_refused(tmp_path):
    assert len(read(tmp_path, b"1" * MOST_BYTES)) == MOST_BYTES
    with pytest.raises(InputError, match="more than the 100 bytes"):
        read(tmp_path, b"1" * (MOST_BYTES + 1))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        text_file.read(tmp_path / "b", MOST_BYTES)
