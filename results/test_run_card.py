import leosim
import pytest

from leogym.configs.scenario import parse
from leogym.results.figure_style import DARK, INK
from leogym.results.measurement import Measurement
from tests.support.notebook_card import checked, shown


def run(*schemes: str, count: int = 1, duration_s: float = 4.0) -> Measurement:
    data = {
        "duration_s": duration_s,
        "links": {"link": {"rate_mbps": 20.0, "delay_ms": 10.0, "queue": {"bdp": 1.0}}},
        "flows": [{"scheme": name, "route": ["link"], "count": count} for name in schemes],
    }
    return Measurement.of(leosim.run([parse(data, "test").to_json()], {})[0])


def test_the_card_of_a_run_has_its_flows_and_a_figure():
    tree = checked(run("cubic", "reno")._repr_html_())
    assert "Run of 2 flows" in shown(tree)
    rows = [[cell.text for cell in row] for row in tree.iter("tr")]
    assert [row[0] for row in rows] == ["flow", "0: cubic", "1: reno"]
    assert all(float(row[1]) > 0 for row in rows[1:])
    assert len(list(tree.iter("svg"))) == 1


def test_goodput_in_the_card_is_that_of_the_run():
    measured = run("cubic")
    row = [cell.text for cell in list(checked(measured._repr_html_()).iter("tr"))[1]]
    assert float(row[1]) == pytest.approx(measured.flows[0]["goodput_mbps"], abs=0.05)


def test_the_card_of_many_flows_over_a_long_time_is_small_and_tells_what_it_leaves_out():
    text = shown(checked(run("cubic", "reno", count=60, duration_s=30.0)._repr_html_()))
    assert "The figure has the first 10 flows." in text
    assert "and 90 more flows, in .flows" in text


def test_the_card_of_an_invalid_run_says_why():
    assert "Invalid: too <slow>" in shown(
        checked(Measurement([], [], {}, {}, [], "too <slow>")._repr_html_())
    )


def test_every_colour_of_the_card_changes_on_dark_pages():
    text = run("cubic")._repr_html_()
    light, dark = (f"--c-{INK[1:]}: {colour};" for colour in (INK, DARK[INK]))
    assert text.index(light) < text.index('data-jp-theme-light="false"') < text.index(dark)
    drawn = text[text.index("<svg") :]
    assert "#" not in drawn.replace('="#', "").replace("url(#", "").replace('href="#', "")
