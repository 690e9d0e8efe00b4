"""Files that a YAML file names are found beside it, or else in the working folder."""

import re
from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.configs import file_paths, scenario, suite, sweep

SCENARIO = """
duration_s: 1
links: {a: {trace: path.csv}}
flows: [{scheme: cubic, route: [a]}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside the working folder."""
    beside, working = tmp_path / "beside", tmp_path / "working"
    beside.mkdir()
    working.mkdir()
    monkeypatch.chdir(working)
    return beside


def test_a_scenarios_trace_is_beside_it_or_in_the_working_folder(folder: Path) -> None:
    (folder / "mine.yaml").write_text(SCENARIO)
    with pytest.raises(InputError) as caught:
        scenario.load(folder / "mine.yaml")
    place = f"{folder / 'mine.yaml'}: links.a.trace: path.csv"
    assert str(caught.value) == f"{place}: no such file in {folder} nor in {Path.cwd()}"
    Path("path.csv").touch()
    assert scenario.load(folder / "mine.yaml").traces == {"path.csv"}
    (folder / "path.csv").touch()
    assert scenario.load(folder / "mine.yaml").traces == {str(folder / "path.csv")}
    (folder / "mine.yaml").rename("mine.yaml")
    assert scenario.load(Path("mine.yaml")).traces == {"path.csv"}


def test_the_traces_of_a_suites_values_are_beside_it(folder: Path) -> None:
    (folder / "suite.yaml").write_text(
        """
name: mine
title: Mine
grid: {path: [a.csv, b.csv, sd-ny-isl], day: [1]}
scenario:
  duration_s: 1
  links: {a: {trace: $path}, b: {trace: day-$day.csv}}
  flows: [{scheme: $scheme, route: [a, b]}]
"""
    )
    for name in ("a.csv", "b.csv", "day-1.csv"):
        (folder / name).touch()
    cases = suite.load(str(folder / "suite.yaml")).cases("cubic")
    day = str(folder / "day-1.csv")
    expected = [{str(folder / "a.csv"), day}, {str(folder / "b.csv"), day}, {"sd-ny-isl", day}]
    assert [case.scenario.traces for case in cases] == expected


@pytest.mark.parametrize("name", ["day-$day.csv", "day-1.csv"])
def test_a_path_from_the_root_is_as_written_or_one_line(name: str, folder: Path) -> None:
    place = folder / name
    (folder / "suite.yaml").write_text(
        f"""
name: mine
title: Mine
grid: {{day: [1]}}
scenario:
  duration_s: 1
  links: {{a: {{trace: "{place}"}}}}
  flows: [{{scheme: $scheme, route: [a]}}]
"""
    )
    with pytest.raises(InputError, match=rf"links\.a\.trace: {re.escape(str(place))}: no such file in "):
        suite.load(str(folder / "suite.yaml"))
    (folder / "day-1.csv").touch()
    [case] = suite.load(str(folder / "suite.yaml")).cases("cubic")
    assert case.scenario.traces == {str(folder / "day-1.csv")}


def test_the_settings_of_a_sweep_and_the_paths_of_a_sampler_are_beside_them(folder: Path) -> None:
    (folder / "a.csv").touch()
    (folder / "base.yaml").write_text("scenarios: {sampler: leo, paths: [a.csv, sd-ny-bp]}\n")
    (folder / "sweep.yaml").write_text(
        "{name: x, agent: ppo, config: base.yaml, search: {gamma: {choice: [0.9]}}}"
    )
    base = sweep.read(folder / "sweep.yaml").config
    assert base == str(folder / "base.yaml")
    assert file_paths.read(Path(base))["scenarios"]["paths"] == [str(folder / "a.csv"), "sd-ny-bp"]


def test_an_error_names_all_missing_keys_and_all_wrong_ones(folder: Path) -> None:
    file = folder / "sweep.yaml"
    file.write_text("{trials: 0, search: {}}")
    with pytest.raises(InputError, match=r"sweep.yaml: name: Field required \(also wrong: trials\)$"):
        sweep.read(file)
    (folder / "suite.yaml").write_text("{repeats: 0, scenario: {}}")
    with pytest.raises(InputError, match=r"name, title: Field required \(also wrong: repeats\)$"):
        suite.load(str(folder / "suite.yaml"))
    file.write_text("{name: x, search: {gamma: {choice: [1]}}}")
    with pytest.raises(InputError, match=r"sweep.yaml: .*give one of agent and agents"):
        sweep.read(file)
