import sys
from graphlib import CycleError
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import layers  # noqa: E402


def test_no_room_imports_one_above_it():
    for room, used in layers.rooms(layers.packages()).items():
        above = set(layers.ROOMS[layers.ROOMS.index(room) :])
        assert not used & above, f"{room} imports {used & above}"


def test_nothing_imports_a_study():
    for path in layers.sources():
        if not path.is_relative_to(ROOT / "studies"):
            assert not any(name.split(".")[0] == "studies" for name in layers.imported(path)), path


def test_no_packages_import_each_other_in_a_circle():
    computed = layers.layers(layers.packages())
    assert sum(map(len, computed)) == len(layers.packages()) > 30


def test_a_circle_is_found():
    with pytest.raises(CycleError):
        layers.layers({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_the_architecture_has_the_rooms_in_their_order():
    text = (ROOT / "docs" / "architecture.md").read_text()
    places = [text.index(f"| `{room}/` |") for room in layers.ROOMS]
    assert places == sorted(places)


def test_nothing_is_loaded_by_path():
    loaders = ("spec_from_file_location", "SourceFileLoader")
    paths = [path for path in layers.sources() if any(word in path.read_text() for word in loaders)]
    assert not paths


def test_no_source_file_is_longer_than_500_lines():
    kinds = {".py", ".rs", ".c", ".h", ".sh", ".js"}
    folders = [ROOT / name for name in (*layers.ROOMS, "core", "scripts", "tests")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in kinds]
    assert not [path for path in files if len(path.read_text().splitlines()) > 500]
