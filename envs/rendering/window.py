"""A window that shows frames, by matplotlib's interactive backend."""

import time

import numpy as np
from gymnasium import logger
from matplotlib.backend_bases import FigureManagerBase
from numpy.typing import NDArray

from leogym.envs.rendering.size import DPI


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
