from pathlib import Path

import pytest

from leogym import evaluation
from leogym.common.errors import InputError
from leogym.evaluation.report import card
from tests.support.notebook_card import checked, shown
from tests.support.sample_results import sample_results

SCHEMES = ["cubic", "reno", "astraea"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("card") / "evaluation"
    sample_results(folder, ["leo-single", "leo-pair"], SCHEMES, 3)
    return folder


def test_a_folder_is_shown_with_intervals_the_best_and_a_figure_of_each_suite(folder):
    loaded = evaluation.load(folder)
    tree = checked(loaded._repr_html_())
    assert "leo-single: sd-ny-isl" in shown(tree)
    row = loaded.interval("leo-single", "sd-ny-isl", "astraea", "goodput_mbps")
    assert row is not None
    assert f"[{row['ci_low']:.1f}, {row['ci_high']:.1f}]" in shown(tree)
    assert f"{row['mean']:.1f}" in [one.text for one in tree.iter("b")]
    panels = [len(list(one.iter("svg"))) for one in tree.iter("div") if one.get("class") == "panels"]
    assert len(panels) == 2
    assert min(panels) > 0


def test_suites_for_which_there_is_no_room_are_named(folder, monkeypatch):
    loaded = evaluation.load(str(folder))
    monkeypatch.setattr(card, "_ROOM_BYTES", 12_000)
    tree = checked(loaded._repr_html_())
    assert not list(tree.iter("svg")), "tables fit, figures do not"
    monkeypatch.setattr(card, "_ROOM_BYTES", 100)
    assert "No room for leo-single, leo-pair: report.html has them." in shown(checked(loaded._repr_html_()))


def test_a_folder_without_an_evaluation_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"run\.json"):
        evaluation.load(tmp_path)
