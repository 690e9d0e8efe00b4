"""One figure that draws the frames of an environment, episode after episode."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from leogym.envs.rendering.course import Course
from leogym.envs.rendering.path_map import LEFT, PathMap
from leogym.envs.rendering.place import Place
from leogym.envs.rendering.samples import Samples
from leogym.envs.rendering.size import DPI, HEIGHT, WIDTH
from leogym.envs.rendering.strips import Strips, View
from leogym.results.figure_style import MUTED, RC

_STYLE = {
    **RC,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.columnspacing": 1.4,
    "figure.facecolor": "white",
}


class Picture:
    """Draws frames of up to ``flows`` flows.

    Axes, labels and coasts are drawn when they change, lines on top of them in every frame.
    """

    def __init__(self, flows: int) -> None:
        with _styled():
            # A plain Figure, not pyplot: no global state and no display.
            self._figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI)
            self._canvas = FigureCanvasAgg(self._figure)
            self._strips = Strips(self._figure, flows)
            self._map = PathMap(self._figure)
            self._title = self._figure.text(0.02, 0.985, "", va="top", fontsize=10.5, fontweight="bold")
            self._clock = self._figure.text(0.98, 0.985, "", va="top", ha="right", fontsize=9.5, color=MUTED)
        for artist in self._moving():
            artist.set_animated(True)
        self._course: Course | None = None
        self._place: Place | None = None
        self._drawn: tuple[float | str, ...] = ()

    def _moving(self) -> Iterator[Artist]:
        for parts in (self._strips.moving(), self._map.moving()):
            yield from (artist for _, artist in parts)
        yield self._clock

    def draw(self, course: Course, place: Place | None, samples: Samples) -> NDArray[np.uint8]:
        """Return the frame of an episode at its last sample, (HEIGHT, WIDTH, 3)."""
        view = View(course, samples.time_s, *samples.table())
        fresh = course is not self._course or place is not self._place
        if fresh:
            self._begin(course, place, view.time_s)
        still = (*self._strips.show(view), self._map.show(view.time_s))
        self._clock.set_text(f"{view.time_s:.1f} s of {course.scenario.duration_s:g} s")
        if fresh or still != self._drawn:
            self._drawn = still
            with _styled():
                self._canvas.draw()
            self._background = self._canvas.copy_from_bbox(self._figure.bbox)
        self._canvas.restore_region(self._background)
        for artist in self._moving():
            self._figure.draw_artist(artist)
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()

    def _begin(self, course: Course, place: Place | None, time_s: float) -> None:
        self._course, self._place = course, place
        with _styled():
            self._title.set_text(course.scenario.name)
            self._strips.begin(course, LEFT - 0.03 if place else 0.98)
            self._map.begin(place, time_s)


@contextmanager
def _styled() -> Iterator[None]:
    with rc_context(_STYLE):
        yield
