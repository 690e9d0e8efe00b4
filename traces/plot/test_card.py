import leosim

from leogym import traces
from tests.support.notebook_card import checked, shown
from tests.support.scenarios import path_trace

ROWS = "0,20,10,10,0,1,0,", "1,21,10,5,0,0,0,unreachable", "2,21,10,10,0,1,0,"
IMPORTED = path_trace(*ROWS, name="a <b>")


def test_a_named_path_is_shown_with_its_sites_handovers_and_a_picture():
    tree = checked(traces.load("sd-ny-isl")._repr_html_())
    text = shown(tree)
    assert "Path trace sd-ny-isl" in text
    assert "San Diego – New York" in text
    assert "The map shows the routes of the first 180 s." in text
    events = traces.load("sd-ny-isl").event
    assert f"{sum(event.startswith('hard') for event in events)} hard" in text
    assert len(list(tree.iter("img"))) == 1


def test_an_imported_trace_is_shown_without_a_map():
    text = shown(checked(leosim.PathTrace.parse(IMPORTED)._repr_html_()))
    assert "Path trace a <b>" in text
    assert "50.000%" in text
    assert "map" not in text
