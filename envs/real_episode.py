"""A run on real TCP with learning flows, for an environment."""

import time
from collections import Counter
from typing import NamedTuple

import leosim

from leogym.common.units import NS_PER_S
from leogym.kernel_bridge.bridge.client import Bridge, Flow, Report
from leogym.kernel_bridge.runner.plan import Plan, PlannedFlow
from leogym.kernel_bridge.runner.run import Run
from leogym.kernel_bridge.runner.run_folder import FIRST_PORT

CONNECT_TIMEOUT_NS = 30 * NS_PER_S
"""Time in which a flow may connect, counted from its start."""


class Path(NamedTuple):
    """The current state of a flow's path, for rewards."""

    capacity_bytes_per_s: float
    """Of the bottleneck."""
    base_rtt_ns: int
    """Propagation over the links, both ways."""
    buffer_bytes: int
    """Of the bottleneck."""
    flows_on_path: int
    """Running flows of any kind that cross the bottleneck."""
    bottleneck: str
    """The name of the slowest link, and among equal ones of that with the most flows."""

    @property
    def world(self) -> tuple[float, int, int, int]:
        """What `leosim.Agents.judge` takes of it."""
        return self[:4]


class Episode:
    """A run with its learning flows.

    Args:
        run: the run, which has begun.
        client: the client that steers its agents.
        learners: plan indices of the learning flows, one per slot.
        origin_ns: the run's start, on the monotonic clock.
        interval_ms: the monitor interval.
        on_grid: whether all intervals have this length. Otherwise, each report sets the next one's length.

    Attributes:
        open: slot to the bridge's flow ID, for connected flows.
        closed: slots whose flows have disconnected.
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
        """The plan of the run."""
        return self.run.plan

    def now_ns(self) -> int:
        """Return the time since the run's start."""
        return time.monotonic_ns() - self._origin_ns

    def flow(self, slot: int) -> PlannedFlow:
        """Return a slot's flow."""
        return self.plan.flows[self._learners[slot]]

    def slot_of_port(self, port: int) -> int:
        """Return the slot of the flow that uses a port."""
        return self._learners.index(port - FIRST_PORT)

    def connected(self, flow: Flow) -> int:
        """Register a connected learning flow and return its slot."""
        slot = self.slot_of_port(int(flow.remote.rpartition(":")[2]))
        self.open[slot] = flow.id
        self.began_ns[slot] = 1_000 * flow.opened_us - self._origin_ns
        return slot

    def undecided(self, slot: int, report: Report) -> int:
        """Return how many intervals ended, up to a slot's report, without a decision on the previous one.

        If the bridge is late for an interval's end on the grid, its report covers all ends since the last
        report. Without a grid, a report covers one interval.
        """
        late_us, before_us = report.late_us % self._interval_us, self._late_us.get(slot)
        self._late_us[slot] = late_us
        if before_us is None:
            return 0  # no earlier report to decide on
        ended = (
            1
            if not self._on_grid
            else round((report["interval_ns"] / 1e3 - late_us + before_us) / self._interval_us)
        )
        decided = slot in self.decided
        self.decided.discard(slot)
        return ended - decided

    def slot_of(self, flow: int) -> int | None:
        """Return the slot of an open flow by its bridge ID, or None."""
        return next((slot for slot, number in self.open.items() if number == flow), None)

    def is_near_end(self) -> bool:
        """Return whether the scenario is about to end, so that flows that stop now stop with it."""
        return self.now_ns() >= 0.99 * self.plan.duration_ns

    def is_over(self) -> bool:
        """Return whether no learning flow is running or yet to run."""
        now_ns = self.now_ns()
        to_come = (
            slot
            for slot in range(len(self._learners))
            if slot in self.open
            or (slot not in self.closed and now_ns < self.flow(slot).start_ns + CONNECT_TIMEOUT_NS)
        )
        return now_ns >= self.plan.duration_ns or not any(True for _ in to_come)

    def path(self, slot: int) -> Path:
        """Return the current state of a flow's path for rewards."""
        now_ns = self.now_ns()
        flows = Counter(
            link.name
            for flow in self.plan.flows
            if flow.start_ns <= now_ns < flow.stop_ns
            for link in self.plan.links_of(flow)
        )
        links = self.plan.links_of(self.flow(slot))[::-1]
        route = [(link.schedule, flows[link.name]) for link in links]
        capacity_bytes_per_s, base_rtt_ns, buffer_bytes, place = leosim.world(route, max(0, now_ns))
        bottleneck = links[place].name
        return Path(capacity_bytes_per_s, base_rtt_ns, buffer_bytes, flows[bottleneck], bottleneck)

    def crosses(self, slot: int, link: str) -> bool:
        """Return whether a slot's flow crosses a link."""
        return any(crossed.name == link for crossed in self.plan.links_of(self.flow(slot)))
