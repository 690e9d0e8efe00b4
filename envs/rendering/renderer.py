"""Record episodes and draw them: the part that environments call."""

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import leosim
import numpy as np
from gymnasium import logger
from gymnasium.error import ResetNeeded
from matplotlib.backend_bases import FigureManagerBase
from numpy.typing import NDArray

from leogym.configs.scenario import Scenario
from leogym.envs.rendering.course import Course, course
from leogym.envs.rendering.picture import Picture
from leogym.envs.rendering.place import Place, places
from leogym.envs.rendering.samples import Samples
from leogym.envs.rendering.size import DPI


class Episode:
    """An episode that can be drawn."""

    def __init__(self, scenario: Scenario, traces: Mapping[str, leosim.PathTrace]) -> None:
        self.samples = Samples()
        self._scenario = scenario
        self._traces = traces

    @cached_property
    def course(self) -> Course:
        """The path's course; computed for the first frame, because many episodes are never drawn."""
        return course(self._scenario, self._traces)

    @cached_property
    def _places(self) -> dict[str, Place]:
        return places(self._scenario, self._traces)

    def place(self) -> Place | None:
        """Return the place of the first link that has one, on the first learning flow's route now."""
        route = self.course.route(self.samples.time_s)
        return next((self._places[link] for link in route if link in self._places), None)


class Renderer:
    """The pictures of an environment's ``size`` simulations with up to ``flows`` learning flows each."""

    def __init__(self, size: int, flows: int) -> None:
        self._flows = flows
        self._episodes: list[Episode | None] = [None] * size
        self._pictures: list[Picture | None] = [None] * size
        self._window: Window | None = None

    def begin(self, index: int, scenario: Scenario, traces: Mapping[str, leosim.PathTrace]) -> None:
        """Start an episode of simulation ``index`` over ``scenario``."""
        self._episodes[index] = Episode(scenario, traces)

    def add(self, index: int, time_s: float, values: NDArray[np.float64]) -> None:
        """Add measurements to the episode of simulation ``index``; see `Samples.add`."""
        episode = self._episodes[index]
        assert episode is not None
        episode.samples.add(time_s, values)

    def frame(self, index: int) -> NDArray[np.uint8]:
        """Return the frame of simulation ``index``, (height, width, 3).

        Raises:
            ResetNeeded: it has no episode.
        """
        episode = self._episodes[index]
        if episode is None:
            raise ResetNeeded("call reset before render")
        picture = self._pictures[index]
        if picture is None:
            picture = self._pictures[index] = Picture(self._flows)
        return picture.draw(episode.course, episode.place(), episode.samples)

    def show(self, fps: float) -> None:
        """Show the frame of the only simulation in a window, at most ``fps`` a second."""
        if self._window is None:
            self._window = Window(fps)
        if self._window.is_open:
            self._window.show(self.frame(0))

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the pictures, which the next frame draws again, and the window of the original."""
        return self.__dict__ | {"_pictures": [None] * len(self._pictures), "_window": None}


class Window:
    """A window on the user's screen, which shows ``fps`` frames a second.

    It opens with the first frame. Without a display it warns once, and shows nothing.
    """

    def __init__(self, fps: float) -> None:
        self._interval_s = 1 / fps
        self._due_s = 0.0
        self._figure = None
        self.is_open = True
        """Whether frames are worth drawing: there is a display, and the user has not closed the window."""

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame (height, width, 3)."""
        if self._figure is None:
            self._open(frame)
        if self._figure is not None:
            self._image.set_data(frame)
            self._figure.canvas.draw_idle()
            # The window answers the user while it waits.
            wait_s = max(1e-3, self._due_s - time.monotonic())
            self._figure.canvas.start_event_loop(min(wait_s, self._interval_s))
            self._due_s = time.monotonic() + self._interval_s

    def _open(self, frame: NDArray[np.uint8]) -> None:
        # Only here, because pyplot looks for a display when it makes a figure.
        from matplotlib import pyplot

        height, width = frame.shape[:2]
        try:
            figure = pyplot.figure("LeoGym", figsize=(width / DPI, height / DPI), dpi=DPI)
        except ImportError as error:  # the backend that the user chose needs a display
            self._refuse(str(error))
            return
        manager = figure.canvas.manager
        if manager is None or type(manager) is FigureManagerBase:
            pyplot.close(figure)
            self._refuse(f"matplotlib's backend {pyplot.get_backend()} has no windows")
            return
        self._figure, self._image = figure, figure.figimage(frame)
        figure.canvas.mpl_connect("close_event", lambda _: self._closed())
        manager.show()

    def _refuse(self, reason: str) -> None:
        self.is_open = False
        logger.warn(
            f"render_mode: 'human': no display, so no window is shown ({reason}): use 'rgb_array' for frames"
        )

    def _closed(self) -> None:
        self._figure, self.is_open = None, False

    def close(self) -> None:
        """Close the window."""
        if self._figure is not None:
            from matplotlib import pyplot

            pyplot.close(self._figure)
            self._figure = None
