import subprocess
from pathlib import Path

import pytest

from leogym.common import lock, output_folder
from leogym.common.errors import InputError


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


@pytest.mark.parametrize("content", output_folder.MARKS)
def test_a_folder_of_each_content_is_refused_for_all_others(content: str, tmp_path: Path) -> None:
    for pattern in output_folder.MARKS[content]:
        folder = tmp_path / pattern.replace("*", "a")
        output_folder.require(folder, content)
        mark = folder / pattern.replace("[0-9]", "1").replace("*", "dev")
        mark.parent.mkdir(parents=True)
        mark.touch()
        assert output_folder.content_of(folder) == content
        output_folder.require(folder, content)
        for other in output_folder.MARKS.keys() - {content}:
            with pytest.raises(InputError, match=f"holds {content}: {other} needs a separate folder"):
                output_folder.require(folder, other)
        mark.unlink()
        for other in output_folder.MARKS:
            output_folder.require(folder, other)


def test_a_locked_folder_is_ignored_from_the_start(repository: Path) -> None:
    with lock.held(repository / "out"):
        assert untracked(repository) == []
    assert not (repository / "out").exists()


@pytest.mark.parametrize("content", output_folder.REPLACED)
def test_a_users_own_files_are_not_replaced(content: str, tmp_path: Path) -> None:
    for index, pattern in enumerate(output_folder.REPLACED[content]):
        folder = tmp_path / str(index)
        own = folder / pattern.replace("*", "mine")
        own.parent.mkdir(parents=True)
        output_folder.require(folder, content)
        own.touch()
        with pytest.raises(InputError, match=f"{own}: .*{content} would replace this file of yours"):
            output_folder.require(folder, content)
        output_folder.ignore(folder)  # a folder that LeoGym made, of a run that was killed
        output_folder.require(folder, content)
        (folder / output_folder.IGNORED).unlink()
        (folder / output_folder.MARKS[content][0]).touch()
        output_folder.require(folder, content)


def test_a_users_own_folder_of_a_hosts_name_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    output_folder.require(tmp_path, "a run of programs", "client/*")
    (tmp_path / "client" / "main.c").touch()
    with pytest.raises(InputError, match=r"main\.c: .* would replace this file of yours"):
        output_folder.require(tmp_path, "a run of programs", "client/*")
