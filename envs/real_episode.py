"""One run on real TCP with its learning flows, as an environment sees it while it goes on."""

from __future__ import annotations

import time

import leosim

from configs.units import NS_PER_S
from kernel_bridge.bridge.client import Bridge, Flow, Report
from kernel_bridge.runner.plan import Plan, PlannedFlow
from kernel_bridge.runner.run import Run
from kernel_bridge.runner.run_folder import FIRST_PORT

CONNECTING_NS = 30 * NS_PER_S
"""A flow that has not connected so long after its start is not waited for."""


class Episode:
    """A run with its learning flows.

    Args:
        run: it has begun.
        client: steers its agents.
        learners: the numbers of the learning flows in the plan, one a slot.
        origin_ns: the run's start, on the monotonic clock.
        interval_ms: the monitor interval.
        on_grid: whether all intervals are so long; else each is as long as the report before it says.

    Attributes:
        open: slot to the bridge's number of its flow, of the flows that are connected.
        closed: slots whose flow was connected, and is no more.
        began_ns: when a slot's flow connected, from the run's start.
        decided: slots with a decision on their last report.
    """

    def __init__(
        self,
        run: Run,
        client: Bridge,
        learners: list[int],
        origin_ns: int,
        interval_ms: float,
        *,
        on_grid: bool = True,
    ) -> None:
        self.run, self.client, self._origin_ns = run, client, origin_ns
        self._learners = learners
        self._interval_us, self._on_grid = round(1e3 * interval_ms), on_grid
        self._late_us: dict[int, int] = {}
        self.open: dict[int, int] = {}
        self.closed: set[int] = set()
        self.began_ns: dict[int, int] = {}
        self.decided: set[int] = set()

    @property
    def plan(self) -> Plan:
        """What is run."""
        return self.run.plan

    def now_ns(self) -> int:
        """Return the time since the run's start."""
        return time.monotonic_ns() - self._origin_ns

    def flow(self, slot: int) -> PlannedFlow:
        """Return a slot's flow."""
        return self.plan.flows[self._learners[slot]]

    def slot_of_port(self, port: int) -> int:
        """Return the slot of the flow that goes to a port."""
        return self._learners.index(port - FIRST_PORT)

    def connected(self, flow: Flow) -> int:
        """Take note of a learning flow; return its slot."""
        slot = self.slot_of_port(int(flow.remote.rpartition(":")[2]))
        self.open[slot] = flow.id
        self.began_ns[slot] = 1_000 * flow.opened_us - self._origin_ns
        return slot

    def undecided(self, slot: int, report: Report) -> int:
        """Return how many intervals ended with a slot's report that nobody decided for before.

        Intervals end on a grid. Where the bridge comes to an end late, its report covers the ends since, too.
        Those that are as long as the reports before them say have no grid: a report is of one of them.
        """
        late_us, before_us = report.late_us % self._interval_us, self._late_us.get(slot)
        self._late_us[slot] = late_us
        if before_us is None:
            return 0  # there was nothing to decide on
        ended = (
            1
            if not self._on_grid
            else round((report["interval_ns"] / 1e3 - late_us + before_us) / self._interval_us)
        )
        decided = slot in self.decided
        self.decided.discard(slot)
        return ended - decided

    def slot_of(self, flow: int) -> int | None:
        """Return the slot of the flow that has this number at the bridge; None if it is not open."""
        return next((slot for slot, number in self.open.items() if number == flow), None)

    def is_near_end(self) -> bool:
        """Return whether what ends now ends with the scenario, and not before."""
        return self.now_ns() >= 0.99 * self.plan.duration_ns

    def is_over(self) -> bool:
        """Return whether no learning flow runs, or will."""
        now_ns = self.now_ns()
        to_come = (
            slot
            for slot in range(len(self._learners))
            if slot in self.open
            or (slot not in self.closed and now_ns < self.flow(slot).start_ns + CONNECTING_NS)
        )
        return now_ns >= self.plan.duration_ns or not any(True for _ in to_come)

    def running(self) -> int:
        """Return how many flows run now, whoever steers them."""
        now_ns = self.now_ns()
        return sum(flow.start_ns <= now_ns < flow.stop_ns for flow in self.plan.flows)

    def world(self, slot: int) -> tuple[float, int, int]:
        """Return what rewards see of a flow's path now, as `leosim.Agents.judge` takes it.

        Returns:
            Capacity of the bottleneck in bytes/s, one-way delay of the links in ns, the bottleneck's buffer
            in bytes.
        """
        links = self.plan.links_of(self.flow(slot))
        return leosim.world([link.schedule for link in reversed(links)], max(0, self.now_ns()))
