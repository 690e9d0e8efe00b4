"""The runs behind the scores: paths, phases and wrong hints, all drawn from one seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import leosim
import numpy as np

from leogym.results.measurement import Column
from studies.detection.matching import Score, score
from studies.detection.truth import STEP_MS, AnnouncedPath

ANNOUNCED = ("leocc", "starquic", "satcp", "satcp-0.3s")
"""Schemes that act on a path's announcements: their path changes are in the run log (``path_change_s``)."""

PROBE = "1 Mbit/s"
"""Of a flow whose application leaves the queue empty."""


@dataclass(frozen=True)
class Detector:
    """Detects the path changes of a run."""

    name: str
    flow: dict[str, Any]
    """The flow whose series it reads, without its route."""
    announced: bool
    """Whether it acts on announcements."""

    def change_times_s(self, series: dict[str, Column]) -> list[float]:
        """Return when it detects a path change, in s, from the series of a run with this flow alone."""
        if self.announced:
            times_s = series["path_change_s"]
            return np.unique(times_s[np.isfinite(times_s)]).tolist()
        return leosim.base_rtt_steps(series["time_s"], series["rtt_ms"])


DETECTORS = (
    *(Detector(scheme, {"scheme": scheme}, announced=True) for scheme in ANNOUNCED),
    Detector(f"RTT alone, {PROBE}", {"scheme": "cubic", "rate_mbps": 1.0}, announced=False),
    *(Detector(f"RTT alone, {scheme}", {"scheme": scheme}, announced=False) for scheme in ("cubic", "bbr3")),
)
"""The estimator reads a flow that leaves the queue empty, one that fills it and one that seldom does."""


ERRORS_S = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0)
"""Lateness of the hints. With a period of 15 s, the grid cannot be off by more than 7.5 s."""
PATHS = {"leo": ("sd-ny-isl", "sd-ny-bp", "ny-ldn-isl"), "starlink": ("starlink",)}
"""Groups of paths. Repeats take turns; a path without an orbit is drawn anew for each."""
SERIES_MS = 10.0
"""Rows of the run log: as often as the public measurements ping."""
BEGIN_S = 5.0
"""Earlier detections and changes do not count: flows start up."""
_LEO: dict[str, Any] = {"rate_mbps": 10.0, "queue": {"kind": "droptail", "bdp": 1.0}}
_STARLINK: dict[str, Any] = {"queue": {"kind": "head_drop", "packets": 500}}


@dataclass(frozen=True)
class Settings:
    """The settings of a scoring."""

    repeats: int = 12
    duration_s: float = 65.0
    window_s: float = 1.5
    seed: int = 1


@dataclass(frozen=True)
class Scored:
    """A run's score."""

    group: str
    path: str
    detector: str
    error_s: float | None
    """How late the hints are; None: it hears none."""
    repeat: int
    power: float
    score: Score


@dataclass(frozen=True)
class Phase:
    """A repeat on a group of paths: the same phase for all detectors and hints."""

    group: str
    path: str
    repeat: int
    offset_s: float
    seed: int

    @classmethod
    def drawn(cls, settings: Settings, group: str, repeat: int, period_s: Callable[[str], float]) -> Phase:
        """Draw a repeat's phase; it depends on the seed, the group and the repeat alone."""
        drawn = np.random.default_rng([settings.seed, sorted(PATHS).index(group), repeat])
        seed = int(drawn.integers(1, 2**31))
        path = PATHS[group][repeat % len(PATHS[group])]
        path = path if group == "leo" else f"{path}@{seed}"
        offset_s = round(float(drawn.uniform(0.0, period_s(path))), 3)
        return cls(group, path, repeat, offset_s, seed)

    def scenario(self, settings: Settings, detector: Detector) -> str:
        """Return the scenario of one flow, as JSON."""
        link = {"trace": self.path, "offset_s": self.offset_s, **(_LEO if self.group == "leo" else _STARLINK)}
        return json.dumps(
            {
                "name": f"{self.path}/{detector.name}",
                "duration_s": settings.duration_s,
                "seed": self.seed,
                "links": {"path": link},
                "flows": [{**detector.flow, "route": ["path"]}],
            }
        )


def scores(
    settings: Settings, jobs: int = 1, advance: Callable[[float], None] = lambda repeats: None
) -> tuple[list[Scored], dict[str, str]]:
    """Run all detectors over all phases and hints.

    Args:
        settings: of the scoring.
        jobs: threads of the simulator; the result does not depend on it.
        advance: is called with 1 after each repeat on each group of `PATHS`.

    Returns:
        The scores, and the SHA-256 of each path trace by its name.
    """
    loaded: dict[str, AnnouncedPath] = {}

    def load(name: str) -> AnnouncedPath:
        return loaded[name] if name in loaded else loaded.setdefault(name, AnnouncedPath.load(name))

    scored: list[Scored] = []
    for group in PATHS:
        for repeat in range(settings.repeats):
            phase = Phase.drawn(settings, group, repeat, lambda name: load(name).period_s)
            scored += _of_phase(settings, phase, load(phase.path), jobs)
            advance(1)
    return scored, {name: hashlib.sha256(path.csv).hexdigest() for name, path in loaded.items()}


def _of_phase(settings: Settings, phase: Phase, path: AnnouncedPath, jobs: int) -> Iterator[Scored]:
    margin_s = settings.window_s
    changes = path.changes(phase.offset_s, -margin_s, settings.duration_s + margin_s)
    steps = [step_ms >= STEP_MS for step_ms in changes.step_ms]
    for error_s in ERRORS_S:
        riding = [detector for detector in DETECTORS if detector.announced or not error_s]
        logs = leosim.run(
            [phase.scenario(settings, detector) for detector in riding],
            {phase.path: path.announcing(error_s, phase.seed)},
            series_ms=SERIES_MS,
            threads=jobs,
        )
        for detector, log in zip(riding, logs, strict=True):
            run_score = score(
                detector.change_times_s(log.flow_series),
                changes.time_s,
                steps,
                settings.window_s,
                (BEGIN_S, settings.duration_s - margin_s),
            )
            yield Scored(
                phase.group,
                phase.path,
                detector.name,
                error_s if detector.announced else None,
                phase.repeat,
                float(log.flows[0]["power"]),
                run_score,
            )
