"""What the simulator knows and a flow does not: the competitors, the capacity, the flow's fair share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.configs.scenario import LEARNER, Scenario
from leogym.results.metrics import PAYLOAD_SHARE

LARGEST = 0.98
"""Actions stay within, so that tanh can express them."""

FULL_START_SHARE = 0.9
"""First rate that is right, as a share of the capacity."""

START_SHARE = 0.5
"""First rate of an action of 0, as a share of the rate that the first packets' spacing shows."""


class Schedule:
    """Which flows of a scenario run when."""

    def __init__(self, scenario: Scenario) -> None:
        flows = [flow for flow in scenario.flows for _ in range(flow.count)]
        self._starts_s = np.array([flow.start_s for flow in flows])
        self._stops_s = np.array(
            [scenario.duration_s if flow.stop_s is None else flow.stop_s for flow in flows]
        )
        self._is_other = np.array([flow.scheme != LEARNER for flow in flows])

    def running(self, time_s: float) -> tuple[int, int]:
        """Return the number of flows of other schemes at ``time_s``, and of all flows."""
        runs = (self._starts_s <= time_s) & (time_s < self._stops_s)
        return int((runs & self._is_other).sum()), int(runs.sum())


@dataclass(frozen=True)
class Truth:
    """The right decisions of all flows at one time, each (simulations, slots)."""

    competes: NDArray[np.bool_]
    """Whether another scheme shares the link."""
    target: NDArray[np.float32]
    """Action that turns the delivery rate of the last second into the fair share of the capacity."""
    start: NDArray[np.float32]
    """Action that turns the rate of the first packets' spacing into nearly the capacity; NaN without one."""


def truth(
    schedules: list[Schedule],
    time_s: NDArray[np.float64],
    capacity_mbps: NDArray[np.float64],
    delivered: NDArray[np.float64],
    burst_rate: NDArray[np.float64],
) -> Truth:
    """Return the right decisions at ``time_s`` (simulations,).

    ``capacity_mbps``, ``delivered`` (bytes/s over the last second) and ``burst_rate`` (bytes/s; 0: unknown):
    each (simulations, slots).
    """
    others, flows = np.array(
        [schedule.running(time) for schedule, time in zip(schedules, time_s, strict=True)]
    ).T
    capacity = capacity_mbps * 125e3 * PAYLOAD_SHARE
    fair = capacity / np.maximum(flows, 1)[:, None]
    start = np.where(
        burst_rate > 0, FULL_START_SHARE * capacity / (START_SHARE * np.maximum(burst_rate, 1)), np.nan
    )
    return Truth(
        competes=np.broadcast_to((others > 0)[:, None], capacity.shape),
        target=_action(np.where(delivered > 0, fair / np.maximum(delivered, 1), 1)),
        start=_action(start),
    )


def _action(factor: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the action whose effect is ``factor``: 4 to its power."""
    return np.clip(np.log2(np.maximum(factor, 1e-3)) / 2, -LARGEST, LARGEST).astype(np.float32)
