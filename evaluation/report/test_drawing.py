import multiprocessing
from dataclasses import replace

import pytest

from leogym.evaluation.report import drawing
from tests.support.sample_results import sample_results


def test_processes_draw_what_one_draws_in_the_same_order(tmp_path):
    results = sample_results(tmp_path, ["leo-single"], ["cubic"], 1)
    with drawing.begun(results) as drawn:
        alone = list(drawn)
    assert [kind for _, kind, _ in alone] == results.suites[0].figures
    assert all(panels for _, _, panels in alone)
    with drawing.begun(results, few=0) as drawn:
        assert list(drawn) == alone


def test_a_quick_report_has_the_first_panels_of_each_kind(tmp_path):
    quick = sample_results(tmp_path, ["leo-single"], ["cubic"], 1)
    config = {**quick.description["config"], "quick": False}
    whole = replace(quick, description={**quick.description, "config": config})
    with drawing.begun(whole) as drawn, drawing.begun(quick) as drawn_quick:
        for (_, _, panels), (_, _, quick_panels) in zip(drawn, drawn_quick, strict=True):
            assert len(panels) == 6, "a panel for each path"
            assert quick_panels == panels[: drawing.QUICK_PANELS]


def test_an_error_beside_the_drawing_ends_it(tmp_path):
    results = sample_results(tmp_path, ["leo-single", "leo-pair"], ["cubic"], 1)
    with pytest.raises(ValueError, match="beside"), drawing.begun(results, few=0):
        raise ValueError("beside")
    assert multiprocessing.active_children() == []
