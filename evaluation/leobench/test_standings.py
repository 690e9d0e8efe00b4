from pathlib import Path

from leogym.evaluation.leobench import standings
from leogym.evaluation.leobench.result import read, read_all

RESULTS = Path(__file__).resolve().parents[2] / "docs/leobench/results"


def test_the_shipped_scores_are_those_of_the_board():
    remedy = "python -m evaluation.leobench.standings docs/leobench/results"
    assert standings.FILE.read_bytes() == standings.encode(read_all(RESULTS)), remedy


def test_a_result_has_its_place_and_its_neighbours_without_itself():
    result = read(RESULTS / "v1--dev--found.json")
    line = standings.line(result)
    assert line is not None
    assert line.startswith("place ")
    assert " of 48 on the board: below " in line
    assert "found" not in line
    entry = result.entry.model_copy(update={"name": "mine"})
    line = standings.line(result.model_copy(update={"entry": entry}))
    assert line is not None
    assert " of 49 on the board: below " in line
    assert ", above found 57.3 and " in line
    best = result.score.model_copy(update={"value": 99.0, "low": None, "high": None})
    first = standings.line(result.model_copy(update={"entry": entry, "score": best}))
    assert first == "place 1 of 49 on the board: above orbit 84.0 and vivace-kernel 72.4"


def test_a_result_that_the_board_cannot_compare_has_no_place():
    result = read(RESULTS / "v1--dev--cubic.json")
    for change in ({"status": "draft"}, {"split": "judge", "seed": 7}, {"version": "v9"}):
        judged = result.judged.model_copy(update=change)
        assert standings.line(result.model_copy(update={"judged": judged})) is None
