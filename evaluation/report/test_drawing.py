from pathlib import Path

from leogym.evaluation.made_up import made_up_results
from leogym.evaluation.report import drawing


def test_processes_draw_what_one_draws_in_the_same_order(tmp_path: Path) -> None:
    results = made_up_results(tmp_path, ["leo-single"], ["cubic"], 1)
    alone = list(drawing.drawn(results))
    assert [kind for _, kind, _ in alone] == results.suites[0].figures
    assert all(panels for _, _, panels in alone)
    assert list(drawing.drawn(results, few=0)) == alone
