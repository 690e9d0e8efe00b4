import subprocess

import pytest

from leogym.common import digests
from leogym.common.errors import InputError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b c").write_text("2")
    digests.write(tmp_path, ["b c", "a"])
    return tmp_path


def test_sha256sum_accepts_the_record(folder):
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", digests.NAME], cwd=folder, check=True)
    assert digests.changed(folder) == []


def test_changed_and_missing_files_are_named(folder):
    (folder / "a").write_text("3")
    (folder / "b c").unlink()
    assert digests.changed(folder) == ["a", "b c"]


def test_without_a_record_nothing_has_changed(tmp_path):
    assert digests.changed(tmp_path) == []


def test_a_damaged_record_is_refused_with_its_line(folder):
    path = folder / digests.NAME
    path.write_text(path.read_text() + "x\n")
    with pytest.raises(InputError, match=r"SHA256SUMS:3: damaged"):
        digests.changed(folder)
