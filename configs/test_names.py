from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.configs import names, sampling, suite


def test_no_suite_scenario_or_sampler_shares_its_name_with_another() -> None:
    assert len(names.known()) == len(set(names.known()))
    assert set(names.known()) == {*suite.shipped(), *names.scenarios(), *sampling.names()}


@pytest.mark.parametrize("name", names.scenarios())
def test_a_scenarios_name_is_the_suite_that_its_file_is(name: str) -> None:
    path = names.scenarios()[name]
    by_name, by_file = names.as_suite(name), names.as_suite(str(path))
    assert by_file == suite.load(str(path))
    assert by_name == by_file.model_copy(update={"source": by_name.source, "file": by_name.file})
    assert by_name.source == f"configs/scenarios/{name}.yaml"
    assert names.as_suite(name).name == name
    [case] = names.as_suite(name).cases("cubic")
    assert case.scenario.flows


def test_the_scheme_under_test_takes_the_place_of_a_learning_flow() -> None:
    [case] = names.as_suite("static-100-cubic").cases("reno")
    assert sorted(flow.scheme for flow in case.scenario.flows) == ["cubic", "reno"]


def test_a_wrong_name_is_answered_by_the_nearest_and_by_where_all_are() -> None:
    with pytest.raises(
        InputError, match=r"static-100-cubik: no suite .*nearest: static-100-cubic.*evaluate --list"
    ):
        names.as_suite("static-100-cubik")
    assert "nearest: leo-single" in str(names.unknown("leo-sngle", "scenario"))
    with pytest.raises(InputError, match="astraea: a sampler: it draws scenarios"):
        names.as_suite("astraea")


def test_a_file_goes_by_its_path_whatever_its_name(tmp_path: Path) -> None:
    for name in ("geo.yaml", "geo.json", "without-ending"):
        path = tmp_path / name
        path.write_text(names.scenarios()["static-100"].read_text())
        assert names.as_suite(str(path)).source == str(path)
    with pytest.raises(InputError, match=r"nowhere\.yaml: cannot be read"):
        names.as_suite("nowhere.yaml")
