import json
from pathlib import Path

import leosim
import pytest

from leogym.results import provenance


def test_a_description_is_json_and_names_command_versions_seed_config_and_traces():
    record = provenance.describe({"a": 1}, 7, {"b": "2", "a": "1"})
    assert json.loads(json.dumps(record)) == record
    assert record["config"] == {"a": 1}
    assert record["seed"] == 7
    assert record["build"] == leosim.BUILD
    assert list(record["traces"]) == ["a", "b"]
    assert record["versions"]["numpy"][0].isdigit()
    assert {"python", "leogym", "leosim", "torch"} <= set(record["versions"])


def test_a_command_is_quoted_for_a_shell_and_relative_to_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = [str(tmp_path / "evaluate.py"), "my suite.yaml", "--out", str(tmp_path / "runs" / "x")]
    command = provenance.command_line(argv, ["python", *argv])
    assert command == "python evaluate.py 'my suite.yaml' --out runs/x"


def test_a_module_is_shown_as_it_was_called(tmp_path):
    argv = [str(tmp_path / "traces" / "__main__.py"), "list"]
    assert provenance.command_line(argv, ["python", "-m", "traces", "list"]) == "python -m traces list"


@pytest.mark.parametrize("start", [["/bin/leogym"], ["-m", "leogym"]])
def test_a_command_of_leogym_is_shown_as_it_is_typed(start):
    command = provenance.command_line(["leogym traces", "list"], ["python", *start, "traces", "list"])
    assert command == "leogym traces list"


def test_the_home_folder_is_not_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert provenance.anonymous(f"astraea={tmp_path}/runs/policy") == "astraea=~/runs/policy"


def test_without_git_the_commit_is_none(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() is None


def test_a_copy_inside_another_repository_does_not_take_that_ones_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_REPOSITORY", Path(provenance.__file__).parent)
    assert provenance.commit() is None


def test_a_wheel_has_the_commit_that_it_was_built_from(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_WHEELS_COMMIT", tmp_path / "commit")
    (tmp_path / "commit").write_text("0123abc-dirty\n")
    assert provenance.commit() == "0123abc-dirty"
