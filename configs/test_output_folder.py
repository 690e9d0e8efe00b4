import subprocess
from pathlib import Path

import pytest

from leogym.configs import lock, output_folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def untracked(repository: Path) -> list[str]:
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_git_ignores_a_folder_that_is_made_but_not_one_that_was_there(repository: Path) -> None:
    output_folder.make(repository / "a" / "new")
    (repository / "old").mkdir()
    output_folder.make(repository / "old")
    for folder in ("a/new", "old"):
        (repository / folder / "file").touch()
    assert untracked(repository) == ["?? old/file"]


def test_a_folder_without_outputs_is_removed_with_its_list(tmp_path: Path) -> None:
    output_folder.make(tmp_path / "empty")
    output_folder.remove_if_empty(tmp_path / "empty")
    assert not (tmp_path / "empty").exists()
    output_folder.make(tmp_path / "full")
    (tmp_path / "full" / "file").touch()
    output_folder.remove_if_empty(tmp_path / "full")
    assert (tmp_path / "full" / "file").exists()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / ".gitignore").write_text("mine\n")
    output_folder.remove_if_empty(tmp_path / "own")
    assert (tmp_path / "own" / ".gitignore").exists()


def test_a_locked_folder_is_ignored_from_the_start(repository: Path) -> None:
    with lock.held(repository / "out"):
        assert untracked(repository) == []
    assert not (repository / "out").exists()
