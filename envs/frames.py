"""Record an environment's episodes and draw the frames of its ``render_mode``."""

from collections.abc import Mapping, Sequence
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.configs.scenario import Scenario
from leogym.envs.reports import FIELDS, ReportReader

MODES = ("human", "rgb_array")
"""Render modes of a single simulation; several simulations have only ``rgb_array``."""
FPS = 33
"""Frames per second that show monitor intervals of 30 ms, the default, in real time."""

_TIME = FIELDS.index("time_s")
_RTT = FIELDS.index("rtt_ms")


class Frames:
    """Records the episodes of an environment's simulations, and draws them.

    Args:
        mode: one of ``modes``.
        modes: the modes of the environment.
        batch: the environment's `leosim.Batch` or `envs.real_tcp.RealTcpBatch`.
        interval_ms: the monitor interval in ms.

    Raises:
        InputError: there is no such mode.
    """

    def __init__(self, mode: str, modes: Sequence[str], batch: Any, interval_ms: float) -> None:
        if mode not in modes:
            raise InputError(f"render_mode: {mode!r}: unknown (there are: {', '.join(modes)})")
        # Here, because most environments draw nothing, and matplotlib takes long to import.
        from leogym.envs.rendering.renderer import Renderer
        from leogym.envs.rendering.samples import FIELDS as DRAWN

        self.fps = max(1, round(1e3 / interval_ms))
        self._human = mode == "human"
        self._batch = batch
        size, slots, _ = batch.reports.shape
        self._renderer = Renderer(size, slots)
        self._reader = ReportReader(batch.report_fields)
        self._columns = [FIELDS.index(name) for name in DRAWN]
        # The course has the path's series, so frames do not read the path from reports.
        self._no_paths = np.zeros((slots, 2))
        self._time_s = np.zeros(size)

    def begin(self, index: int, scenario: Scenario, traces: Mapping[str, leosim.PathTrace]) -> None:
        """Start with the first report of an episode of simulation ``index``."""
        self._renderer.begin(index, scenario, traces)
        self._time_s[index] = 0.0
        self._record(index)

    def record(self) -> None:
        """Record the interval that every running simulation just ended; ``human`` shows it, too."""
        for index in range(len(self._time_s)):
            self._record(index)

    def _record(self, index: int) -> None:
        table = self._reader.read_columns(self._batch.reports[index], self._no_paths).T
        time_s = float(table[:, _TIME].max())
        if time_s > self._time_s[index]:
            values = table[:, self._columns]
            # The rows of flows that do not run are older.
            values[table[:, _TIME] < time_s] = np.nan
            values[table[:, _RTT] == 0, self._columns.index(_RTT)] = np.nan
            self._renderer.add(index, time_s, values)
            self._time_s[index] = time_s
            if self._human:
                self._renderer.show(self.fps)

    def render(self) -> NDArray[np.uint8] | None:
        """Return the frame of the first simulation (height, width, 3); None for ``human``."""
        return None if self._human else self._renderer.frame(0)

    def all(self) -> tuple[NDArray[np.uint8], ...]:
        """Return one frame for each simulation."""
        return tuple(self._renderer.frame(index) for index in range(len(self._time_s)))

    def close(self) -> None:
        """Close the window."""
        self._renderer.close()


def with_frame_rate(metadata: dict[str, Any], frames: Frames | None) -> dict[str, Any]:
    """Return an environment's ``metadata`` with the speed of its ``frames``, if it draws any."""
    return metadata if frames is None else {**metadata, "render_fps": frames.fps}
