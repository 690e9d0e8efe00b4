import itertools

import leosim
import pytest
from matplotlib.lines import Line2D

from leogym.results.figure_style import canvas, legend_above, looks

LEARNED = ["astraea", "aurora", "orca", "clone", "sage-authors", "orbit"]


def _mine(number):
    return [f"mine-{index}" for index in range(number)]


@pytest.mark.parametrize(
    "schemes", [[*leosim.schemes(), *LEARNED], [*leosim.schemes(), *_mine(20)], _mine(60)]
)
def test_no_two_schemes_look_alike_with_or_without_colour(schemes):
    assert len(schemes) >= 32
    scheme_looks = looks(schemes)
    assert len({(look.color, look.marker) for look in scheme_looks.values()}) == len(schemes)
    assert len({(look.marker, look.dash) for look in scheme_looks.values()}) == len(schemes)
    assert len({(look.color, look.dash, look.hatch) for look in scheme_looks.values()}) == len(schemes)


def test_a_scheme_looks_the_same_whoever_is_there():
    everyone = looks([*leosim.schemes(), *LEARNED])
    for few in itertools.combinations(["cubic", "reno", "leocc", "clone", "hybla"], 3):
        assert {name: everyone[name] for name in few} == looks(list(few))
    assert looks(["cubic", "policy"])["policy"] == looks(["policy", "cubic", "reno"])["policy"]


def test_few_schemes_have_colours_of_their_own():
    for number in range(20):
        schemes = ["cubic", "reno", "astraea", f"mine-{number}"]
        assert len({look.color for look in looks(schemes).values()}) == 4


@pytest.mark.parametrize("number", [3, 32, 40])
def test_a_legend_is_complete_and_inside_the_page(number):
    names = [*leosim.schemes(), *LEARNED, *_mine(40)][:number]
    names[-1] = "a-policy-of-a-very-long-name-that-no-single-line-of-this-figure-has-room-for"
    look = looks(names)
    with canvas(4.3, 3.5) as (figure, [axes]):
        axes.set(xlabel="x", ylabel="y", title="t")
        handles = [Line2D([], [], color=look[name].color, label=name) for name in names]
        legend_above(figure, handles)
        figure.draw_without_rendering()
        [legend] = figure.legends
        assert ["".join(text.get_text().split("\n")) for text in legend.get_texts()] == names
        box, page = legend.get_window_extent(), figure.bbox
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert box.y1 <= page.y1
        # The axes keep their place below the legend, and most of their height.
        inner = axes.get_window_extent()
        assert inner.y1 < box.y0
        assert inner.height > 0.55 * 3.5 * figure.dpi
