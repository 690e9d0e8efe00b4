"""Runs of the pool on the lab's Linux, with signals, actions and rewards computed as in the simulator.

The guest samples the senders' tcp_info every 10 ms. `interval_reports` turns samples into an agent's reports,
and `leosim.Agents` into observations and rewards. Schemes are the kernel's, because only the simulator can
``hold`` them.
"""

from dataclasses import dataclass

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.agents.clone.scenarios import Situation
from leogym.agents.clone.settings import CloneSettings
from leogym.common.errors import InputError
from leogym.kernel_bridge.bridge.client import REPORT_FIELDS
from leogym.kernel_bridge.lab import image, links, virtual_run
from leogym.kernel_bridge.runner.interval_reports import SAMPLE_MS, interval_reports
from leogym.kernel_bridge.runner.plan import Plan
from leogym.kernel_bridge.runner.run_log import FlowRecord
from leogym.kernel_bridge.runner.socket_log import Samples
from leogym.results.provenance import command_line

BACKEND = links.NAME
STANDS_FOR = {"bbr3": "bbr"}
"""Substitutes for schemes that Linux lacks."""
PACED = ("bbr",)
"""Schemes that pace themselves."""


@dataclass(frozen=True)
class LabRun:
    """A run of the pool to repeat on the kernel."""

    situation: int
    asked: str
    """The pool's scheme."""

    @property
    def scheme(self) -> str:
        """The scheme that runs on the kernel."""
        return STANDS_FOR.get(self.asked, self.asked)

    @property
    def file(self) -> str:
        """Its file name in the pool."""
        return f"situation-{self.situation:05d}-{BACKEND}-{self.asked}.parquet"

    def described(self) -> dict[str, str | int]:
        """Return its entry in the pool's index."""
        return {
            "situation": self.situation,
            "scheme": self.scheme,
            "in_place_of": self.asked,
            "file": self.file,
        }


def sample(situations: int, schemes: tuple[str, ...], count: int, seed: int) -> list[LabRun]:
    """Draw ``count`` of the pool's runs without replacement; a smaller sample is a prefix of a larger one."""
    drawn = np.random.default_rng([seed, 6]).permutation(situations * len(schemes))[:count]
    return [LabRun(number // len(schemes), schemes[number % len(schemes)]) for number in drawn.tolist()]


def require(settings: CloneSettings) -> None:
    """Refuse settings that the lab on this machine does not support.

    Raises:
        InputError: QEMU or the image is missing, the interval differs, or the guest lacks a scheme.
    """
    if (lack := links.missing()) is not None:
        raise InputError(f"settings: lab_runs: {lack}")
    if settings.interval_ms != SAMPLE_MS:
        raise InputError(
            f"settings: interval_ms: the lab samples every {SAMPLE_MS} ms, not {settings.interval_ms:g}"
        )
    runnable = {*virtual_run.SCHEMES, *STANDS_FOR}
    if unknown := sorted(set(settings.pool.schemes) - runnable):
        raise InputError(f"settings: pool.schemes: the lab's kernel has no {', '.join(unknown)}")


def watch(
    situation: Situation, scheme: str, settings: CloneSettings
) -> tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.float32]]:
    """Run a scheme of the kernel in ``situation``.

    Returns:
        For each interval: whether it had a delivery, (n,); the observation at its end, (n, 69); and its
            reward, (n,).

    Raises:
        InputError: the lab cannot run it, or the run failed.
    """
    described = situation.scenario(scheme)
    traces = {name: csv.encode() for name, csv in situation.trace_files().items()}
    records: list[FlowRecord] = []
    try:
        planned = virtual_run.check(described, traces)
        log = virtual_run.execute(described, traces, on_records=records.extend)
    except RuntimeError as error:
        raise InputError(f"{situation.name}: {scheme}: {error}") from None
    if log.invalid is not None:
        raise InputError(f"{situation.name}: {scheme}: {log.invalid}")
    sent = records[0].sent
    assert isinstance(sent, Samples), "the pool's schemes are TCP's"
    return look(interval_reports(sent, paced=scheme in PACED), planned, settings)


def look(
    reports: NDArray[np.float64], planned: Plan, settings: CloneSettings
) -> tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.float32]]:
    """Return observations and rewards of an agent in the place of a plan's first flow; see `watch`.

    All flows run as long as the plan.
    """
    agents = leosim.Agents(1, agent=settings.spec, reward=settings.reward)
    agents.start(0, 0)
    [link] = planned.chain
    time_ns = REPORT_FIELDS.index("time_ns")
    observations = np.zeros((len(reports), agents.observation_dim), np.float32)
    rewards = np.zeros(len(reports), np.float32)
    for row, report in enumerate(reports):
        agents.observe(0, report)
        observations[row] = agents.observation(0)
        world = leosim.world([(link.schedule, len(planned.flows))], int(report[time_ns]))[:3]
        rewards[row] = agents.judge([0], *world, flows_on_path=len(planned.flows))[0][0]
    return reports[:, REPORT_FIELDS.index("delivered_bytes")] > 0, observations, rewards


def file_says(run: LabRun) -> dict[str, str]:
    """Return the metadata of a run's file, in addition to that of every file of the pool."""
    manifest = image.latest().manifest
    return {
        "backend": BACKEND,
        "in_place_of": run.asked,
        "held": "false",
        "image_sha256": manifest["sha256"],
        "kernel": manifest["kernel"],
        "command": command_line(),
    }
