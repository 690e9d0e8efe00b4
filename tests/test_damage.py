from tests.damage import damaged, damages


def test_each_file_is_damaged_in_each_way_and_the_folder_is_restored(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "skipped").write_bytes(b"x")
    contents = {}
    for damage in damages(tmp_path, skip=lambda name: name == "skipped"):
        with damaged(tmp_path, damage):
            path = tmp_path / damage.file
            contents[str(damage)] = path.read_bytes() if path.exists() else None
            (tmp_path / "written").touch()
        assert (tmp_path / "below" / "a").read_bytes() == b"abc"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "below", "skipped"]
    assert contents == {
        "b: deleted": None,
        "below/a: deleted": None,
        "below/a: empty": b"",
        "below/a: first": b"`bc",
        "below/a: middle": b"acc",
        "below/a: last": b"abb",
    }
