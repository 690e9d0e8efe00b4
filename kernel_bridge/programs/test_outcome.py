import json
from pathlib import Path

import pytest

from leogym.kernel_bridge.programs import outcome


def test_a_run_in_an_earlier_runs_folder_removes_its_record_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, own = tmp_path / "result.json", tmp_path / "notes"
    record.write_text(json.dumps({"description": {"hosts": {"client": {}, "server": {}}}}))
    for folder in (tmp_path / "client", tmp_path / "server", own):
        folder.mkdir()
    had_record = []
    remove = outcome.shutil.rmtree

    def removed(folder: Path, *, ignore_errors: bool) -> None:
        had_record.append(record.exists())
        remove(folder, ignore_errors=ignore_errors)

    monkeypatch.setattr(outcome.shutil, "rmtree", removed)
    outcome._remove_earlier(tmp_path)
    assert had_record == [False, False]
    assert list(tmp_path.iterdir()) == [own]
