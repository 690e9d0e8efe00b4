"""The simulator core.

Everything is deterministic: same scenario and seed, same bytes, on any number of threads.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__version__: str

class InputError(ValueError):
    """Bad input: one line that names source, field and rule."""

def schemes() -> dict[str, str]:
    """The schemes that the simulator runs without a policy, by name, with a sentence about each."""

def missing_announcements(scenario: str, traces: Mapping[str, PathTrace]) -> list[tuple[int, str]]:
    """Flows of a scenario (JSON) whose schemes make use of what no link of their route announces.

    Each with what that is: ``handovers`` (satcp) or ``reconfigurations`` (leocc, starquic), the metadata's
    ``handovers`` and ``reattach_s``. A flow that a policy steers is judged by its scheme's name alone.
    Raises `InputError`: the scenario is invalid.
    """

@final
class PathTrace:
    """A path trace: piecewise constant rows that replay over and over.

    Row ``i`` holds from ``time_ns[i]`` to ``time_ns[i + 1]``; the last row only ends the period.
    """

    @staticmethod
    def parse(text: str, source: str = "trace") -> PathTrace:
        """Parse the CSV ``text``. Raises `InputError`: ``source:line: field: rule``."""
    @staticmethod
    def read(path: str) -> PathTrace:
        """Read and parse a file. Raises `InputError`; also when the file cannot be read."""

    @property
    def metadata(self) -> str:
        """The JSON of the ``#`` lines."""
    @property
    def period_ns(self) -> int: ...
    @property
    def time_ns(self) -> NDArray[np.uint64]: ...
    @property
    def delay_ns(self) -> NDArray[np.uint64]:
        """One-way propagation."""
    @property
    def uplink_bps(self) -> NDArray[np.uint64]: ...
    @property
    def downlink_bps(self) -> NDArray[np.uint64]: ...
    @property
    def loss(self) -> NDArray[np.float64]: ...
    @property
    def connected(self) -> NDArray[np.bool_]: ...
    @property
    def path_id(self) -> NDArray[np.uint64]: ...
    @property
    def event(self) -> list[str]: ...

@final
class Policy:
    """An exported policy: ``policy.onnx`` with ``policy.json`` beside it."""

    @staticmethod
    def load(folder: str) -> Policy:
        """Load ``folder``/policy.onnx and policy.json. Raises `InputError`, also for another spec version."""
    @property
    def spec(self) -> str:
        """The agent specification it was trained for, such as ``astraea``."""
    @property
    def interval_ms(self) -> float:
        """The monitor interval it was trained at."""
    @property
    def memory_dim(self) -> int:
        """Numbers that it remembers of a flow between two actions; 0 unless it is recurrent."""
    def act(
        self, observations: NDArray[np.float32], memories: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Map (n, observation_dim) to (n, action_dim).

        Args:
            observations: one row a flow.
            memories: (n, memory_dim), zeros for flows that begin; overwritten by what is remembered until the
                next call. None stands for zeros.
        """

@final
class Sgp4:
    """SGP4 propagation of many satellites at many times, with the constants of WGS 72."""

    def __init__(self, elements: NDArray[np.float64]) -> None:
        """Initialise satellites.

        Args:
            elements: (satellites, 8): epoch in Julian years since 2000-01-01 12:00 UTC, inclination, right
                ascension of the ascending node, eccentricity, argument of perigee, mean anomaly (radians),
                Kozai's mean motion (rad/min), B* (per Earth radius).

        Raises:
            InputError: the satellite whose elements describe no orbit.
        """
    def positions_km(self, minutes: NDArray[np.float64], satellite: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return TEME positions (n, 3) of satellites (n,), ``minutes`` (n,) after each one's own epoch.

        Raises:
            InputError: a satellite that has decayed by then, or an index out of range.
        """

@final
class RunLog:
    """What a run measured. Series are in long form, sorted by time and then flow or link."""

    @property
    def flows(self) -> list[dict[str, Any]]:
        """One dict a flow.

        Keys: flow, scheme, start_s, stop_s, goodput_mbps, capacity_mbps, normalized_goodput, rtt_mean_ms,
        rtt_p95_ms, base_rtt_mean_ms, delay_inflation, loss_rate, retransmit_rate, power, sent_packets,
        delivered_packets, retransmitted_packets, lost_packets, rtos,
        transfer_bytes (None: without end), completion_s (from start_s to the last byte acknowledged; None:
        not yet).
        """
    @property
    def links(self) -> list[dict[str, Any]]:
        """One dict a link; offered = delivered + dropped + lost + queued + in flight.

        Keys: link, offered_packets, delivered_packets, dropped_packets, marked_packets, lost_packets,
        queued_packets, in_flight_packets.
        """
    @property
    def flow_series(self) -> dict[str, NDArray[Any]]:
        """Columns of a row a running flow and interval; a row closes its interval.

        time_s, flow (u32), goodput_mbps, send_mbps, rtt_ms (nan without a sample), base_rtt_ms,
        cwnd_packets, in_flight_packets, pacing_mbps (nan when unpaced), lost_packets,
        retransmitted_packets.
        """
    @property
    def link_series(self) -> dict[str, NDArray[Any]]:
        """Columns of a row a link and interval; a row closes its interval.

        time_s, link (u32, an index of link_names), capacity_mbps (mean; outages count as zero), delay_ms,
        queue_packets, connected (throughout), dropped_packets, delivered_mbps.
        """
    @property
    def link_names(self) -> list[str]: ...

def loss_seeds(scenario: str) -> dict[str, int]:
    """Return the seeds of a scenario's random losses, by link: who draws from them elsewhere loses the same.

    Raises:
        InputError: a scenario that does not parse.
    """

def losses(probability: float, seed: int, packets: int) -> list[int]:
    """Return which of the first packets that leave a link's queue are lost, counted from 0, in order.

    Raises:
        InputError: a probability below 0 or not below 1.
    """

def run(
    scenarios: Sequence[str],
    traces: Mapping[str, PathTrace],
    policies: Mapping[str, Policy] = ...,
    *,
    interval_ms: float = 30.0,
    series_ms: float = 100.0,
    threads: int = 1,
) -> list[RunLog]:
    """Run scenarios (JSON of `configs.scenario.Scenario`) to their end, in parallel, the GIL released.

    Args:
        scenarios: one JSON text each.
        traces: every path trace that a scenario's links name.
        policies: scheme name to policy: flows of that scheme are steered by it, every ``interval_ms``.
        interval_ms: the monitor interval of policies.
        series_ms: the interval of the series; 0 keeps none.
        threads: 0 takes one a core.

    Raises:
        InputError: a scenario that does not parse, a trace or scheme that is not there.
    """

@final
class Simulation:
    """One simulation that its owner advances, taking the series as it goes: a long run need not hold it.

    Dividing a run changes nothing: the series that `advance` returns, one after the other, and the last
    `run_log` are those of `run`.
    """

    def __init__(
        self,
        scenario: str,
        traces: Mapping[str, PathTrace],
        policies: Mapping[str, Policy] = ...,
        *,
        interval_ms: float = 30.0,
        series_ms: float = 100.0,
    ) -> None:
        """Build it; arguments and errors are those of `run`."""
    @property
    def time_s(self) -> float:
        """Simulated time."""
    @property
    def finished(self) -> bool:
        """The scenario's end is reached."""
    @property
    def flow_schemes(self) -> list[str]:
        """The scheme of each flow."""
    @property
    def link_names(self) -> list[str]: ...
    def advance(self, seconds: float) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Simulate on for ``seconds``, or to the end, the GIL released.

        Returns:
            The columns of `RunLog.flow_series` and of `RunLog.link_series` since the last call; the
            simulation keeps no copy.
        """
    def run_log(self) -> RunLog:
        """What was measured so far; its series hold only rows that `advance` has not returned."""

@final
class Agents:
    """The learning side of flows that run elsewhere, such as on real TCP: what a `Batch` does for its own.

    Each flow has a slot. Reports, observations, actions and rewards are those of a `Batch`.
    """

    def __init__(self, slots: int, *, agent: str = "astraea", reward: str = "astraea") -> None: ...
    @property
    def observation_dim(self) -> int: ...
    @property
    def action_dim(self) -> int: ...
    @property
    def global_dim(self) -> int: ...
    @property
    def sets_intervals(self) -> bool:
        """Whether each interval is as long as the report before it says, as Aurora's half an RTT."""
    def start(self, slot: int, extra_delay_ns: int) -> None:
        """Begin a flow that has so much one-way delay on top of its links'; forget the slot's flow before."""
    def observe(self, slot: int, report: NDArray[np.float64]) -> None:
        """Take a report, of shape (len(Batch.report_fields),), of the interval that just ended."""
    def next_interval_ns(self, slot: int) -> int | None:
        """Return how long the interval after the latest report is to be; None where it does not say."""
    def observation(self, slot: int) -> NDArray[np.float32]:
        """Return the observation, of shape (observation_dim,)."""
    def judge(
        self,
        slots: Sequence[int],
        capacity_bytes_per_s: float,
        base_delay_ns: int,
        buffer_bytes: int,
        flows_on_path: int = 0,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the slots' rewards, (slots,), and the global state, (global_dim,), after an interval.

        Args:
            slots: those of the flows whose interval just ended.
            capacity_bytes_per_s: of the bottleneck; in an outage, what the link would have.
            base_delay_ns: one-way propagation over the links now.
            buffer_bytes: of the bottleneck.
            flows_on_path: that run now, whoever steers them; 0 where nobody counts, as if each were alone.
        """
    def act(self, slot: int, action: NDArray[np.float32]) -> tuple[int, int]:
        """Return what an action, of shape (action_dim,), means now: window in packets, pacing in bytes/s.

        A pacing rate of 0 leaves the flow unpaced.
        """

@final
class Batch:
    """Independent simulations stepped together, one monitor interval at a time.

    Every array property is a view of the batch's own memory: the same object for the batch's life,
    overwritten by `reset` and `step`; nobody else may write it. Learning flows (scheme ``agent``) take the
    slots 0, 1, … in the order of the scenario.
    """

    def __init__(
        self,
        size: int,
        *,
        slots: int = 1,
        agent: str = "astraea",
        reward: str = "astraea",
        interval_ms: float = 30.0,
        series_ms: float = 0.0,
        threads: int = 1,
        watch: bool = False,
        hold: int = 0,
    ) -> None:
        """Make a batch; with ``watch`` the flows of classic schemes take the slots.

        Then observations and rewards are those of an agent in the scheme's place, and actions have no effect.
        The first ``hold`` schemes are in an agent's place altogether: their windows move only at the ends of
        intervals that brought a delivery, and are paced at a window an RTT.
        """
    @staticmethod
    def agents() -> list[str]:
        """Names of the agent specifications: observation and action together."""
    @staticmethod
    def rewards() -> list[str]: ...
    @property
    def observation_dim(self) -> int: ...
    @property
    def action_dim(self) -> int: ...
    @property
    def global_dim(self) -> int: ...
    @property
    def report_fields(self) -> list[str]: ...
    @property
    def observations(self) -> NDArray[np.float32]:
        """(size, slots, observation_dim)."""
    @property
    def rewards_view(self) -> NDArray[np.float32]:
        """(size, slots): reward of the step for every flow that was active before it, else 0."""
    @property
    def global_states(self) -> NDArray[np.float32]:
        """(size, global_dim): the centralised critic's state."""
    @property
    def active(self) -> NDArray[np.bool_]:
        """(size, slots): the flow runs and its next action counts.

        True to False: it stopped; False to True: it joined.
        """
    @property
    def finished(self) -> NDArray[np.bool_]:
        """(size,): the end is reached, or no learning flow runs or will; `step` leaves it until `reset`."""
    @property
    def reports(self) -> NDArray[np.float64]:
        """(size, slots, len(report_fields)): the raw interval reports."""
    @property
    def time_s(self) -> NDArray[np.float64]:
        """(size,): simulated time."""
    def reset(
        self,
        index: int,
        scenario: str,
        traces: Mapping[str, PathTrace],
        policies: Mapping[str, Policy] = ...,
    ) -> None:
        """Start simulation ``index`` anew and run it until its first learning flow has its first report."""
    def step(self, actions: NDArray[np.float32]) -> None:
        """Apply actions, advance every unfinished simulation by one monitor interval.

        While no learning flow runs but one is yet to come, a simulation advances until that one has joined.

        Args:
            actions: (size, slots, action_dim), each in [-1, 1]; those of inactive flows are ignored.

        Raises:
            InputError: another shape, not C-contiguous, or NaN.
        """
    def run_log(self, index: int) -> RunLog:
        """What simulation ``index`` measured so far."""
