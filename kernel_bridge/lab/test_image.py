"""The image's content: archives and modules that the kernel accepts."""

import gzip
import json
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.lab import image, modules
from leogym.kernel_bridge.lab.image import uncompressed
from leogym.kernel_bridge.lab.initramfs import File, archive


def test_cpio_reads_the_archive_as_it_was_meant(tmp_path):
    files = {"a/b/file": File(b"odd", 0o755), "link": File(b"a/b/file", is_link=True)}
    data = archive(files, {"tmp": 0o1777})
    read = _parsed(data)
    assert read == {
        "a": (0o040755, b""),
        "a/b": (0o040755, b""),
        "a/b/file": (0o100755, b"odd"),
        "link": (0o120777, b"a/b/file"),
        "tmp": (0o041777, b""),
    }
    assert archive(files, {"tmp": 0o1777}) == data


def _parsed(data):
    """Parse an archive by buffer-format.rst: magic, 13 fields of 8 hex digits, name, data."""
    entries, position = {}, 0
    while True:
        assert data[position : position + 6] == b"070701"
        fields = [int(data[position + 6 + 8 * i : position + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[position + 110 : position + 110 + name_size - 1].decode()
        begin = -(-(position + 110 + name_size) // 4) * 4
        position = -(-(begin + size) // 4) * 4
        if name == "TRAILER!!!":
            return entries
        entries[name] = (mode, data[begin : begin + size])


def test_modules_come_after_those_that_they_need(tmp_path):
    for name, needs in (("top", "middle,bot-tom"), ("middle", "bot-tom"), ("bot-tom", ""), ("other", "")):
        text = b"\0license=GPL\0depends=" + needs.encode() + b"\0name=x\0"
        (tmp_path / f"{name}.ko.xz").write_bytes(lzma.compress(text))
    loaded = modules.with_dependencies(tmp_path, ["top", "not_a_module"])
    assert list(loaded) == ["bot_tom", "middle", "top"]


def test_a_folder_without_modules_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no kernel modules"):
        modules.with_dependencies(tmp_path)


def test_a_compressed_kernel_is_found_behind_its_loader():
    kernel = b"\x7fELF" + bytes(range(256)) * 9
    for pack in (lzma.compress, gzip.compress):
        assert uncompressed(b"loader" * 99 + pack(kernel)) == kernel
    if shutil.which("zstd"):
        packed = subprocess.run(["zstd", "-cq"], input=kernel, capture_output=True, check=True).stdout
        assert uncompressed(b"loader" * 99 + packed + b"loader") == kernel
    assert uncompressed(kernel) == kernel


@pytest.mark.parametrize(
    ("shell", "rule"), [("/bin/ls", "must be a static busybox"), ("text", r"neither a program \(ELF\) nor")]
)
def test_a_shell_that_the_guest_cannot_run_is_one_line(shell, rule, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("BUSYBOX=y")
    kernel = image.OwnKernel(Path("text"), tmp_path, Path(shell))
    with pytest.raises(InputError, match=f"lab build: --shell: .*{rule}"):
        image._parts(kernel, tmp_path)


def test_a_kernel_that_only_zstd_unpacks_needs_the_program(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        InputError, match=r"^lab: zstd, which unpacks this kernel, is not installed: scripts/lab"
    ):
        uncompressed(b"loader" * 99 + b"\x28\xb5\x2f\xfd" + bytes(99))


def test_the_version_of_bbr_is_in_its_module():
    assert image.bbr_version(b"x\0version=3\0description=TCP BBR\0") == 3
    assert image.bbr_version(b"x\0description=TCP BBR\0vermagic=6.1.0\0") == 1


def test_all_images_but_those_to_keep_are_removed_and_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    assert image.folders() == []
    places = [tmp_path / "lab" / f"{number:016x}" for number in (3, 1, 2)]
    for place in (*places, tmp_path / "lab" / "apt"):
        place.mkdir(parents=True)
        (place / "kernel").write_bytes(b"12345")
    (tmp_path / "lab" / "latest").write_text(f"{places[1].name}\n")
    assert image.folders() == [places[2], places[0], places[1]], "the one that was built last is the last"
    assert image.remove_others([places[1], places[2]]) == (1, 5)
    assert sorted(path.name for path in (tmp_path / "lab").iterdir()) == [
        places[1].name,
        places[2].name,
        "apt",
        "latest",
    ]


def test_another_installations_image_does_not_replace_that_of_this_project(monkeypatch, tmp_path):
    monkeypatch.setenv("LEOGYM_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"^lab: no image yet: "):
        image.latest()
    for number, project in ((1, image._project([])), (2, "another")):
        place = tmp_path / "lab" / f"{number:016x}"
        place.mkdir(parents=True)
        (place / "manifest.json").write_text(json.dumps({"project_sha256": project, "files": {}}))
        (tmp_path / "lab" / "latest").write_text(f"{place.name}\n")
    assert image.latest().kernel.parent.name == f"{1:016x}"
    (tmp_path / "lab" / f"{1:016x}" / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"^lab: the project has changed since its image: "):
        image.latest()
