"""The window, on a backend of matplotlib that is this module: interactive, but without a screen."""

import os
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backend_bases import CloseEvent, FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from leogym.envs.rendering.renderer import Window
from leogym.envs.rendering.size import HEIGHT, WIDTH

frames: list[np.ndarray] = []


class FigureManager(FigureManagerBase):
    def show(self) -> None:
        pass

    def destroy(self) -> None:
        self.canvas.callbacks.process("close_event", CloseEvent("close_event", self.canvas))


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager

    def draw_idle(self, *args: object, **kwargs: object) -> None:
        self.draw()
        frames.append(np.asarray(self.buffer_rgba())[:, :, :3].copy())

    def start_event_loop(self, timeout: float = 0) -> None:
        assert timeout > 0, "0 waits for ever"


def frame(value: int) -> np.ndarray:
    return np.full((HEIGHT, WIDTH, 3), value, np.uint8)


@pytest.fixture
def screen() -> None:
    from matplotlib import pyplot

    before = mpl.get_backend()
    pyplot.switch_backend(f"module://{__name__}")
    frames.clear()
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_a_window_shows_each_frame_pixel_for_pixel(screen):
    window = Window(fps=1000)
    for value in (10, 200):
        window.show(frame(value))
    assert [np.unique(frame).tolist() for frame in frames] == [[10], [200]]
    assert frames[0].shape == (HEIGHT, WIDTH, 3)


def test_a_closed_window_is_not_opened_again(screen):
    from matplotlib import pyplot

    window = Window(fps=1000)
    window.show(frame(1))
    pyplot.close("all")
    assert not window.is_open


def test_closing_leaves_no_figure(screen):
    from matplotlib import pyplot

    window = Window(fps=1000)
    window.show(frame(1))
    assert len(pyplot.get_fignums()) == 1
    window.close()
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("backend", [None, "tkagg"])
def test_without_a_display_the_episode_goes_on_after_one_line(backend):
    program = (
        "import gymnasium, leogym\n"
        "env = gymnasium.make('leo/Flow-v0', render_mode='human')\n"
        "env.reset(seed=1)\n"
        "for _ in range(3): env.step(env.action_space.sample())\n"
        "assert env.render() is None\n"
        "env.close()\n"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    if backend is not None:
        environment["MPLBACKEND"] = backend
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.count("no display, so no window is shown") == 1


def test_a_window_without_a_display_warns_once_and_is_not_open():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    window = Window(fps=30)
    with pytest.warns(UserWarning, match="render_mode: 'human': no display"):
        window.show(frame(1))
    assert not window.is_open
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        window.close()
    assert pyplot.get_fignums() == []
