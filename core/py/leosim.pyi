"""The simulator core.

The output depends only on the scenario and its seed, not on the number of threads.

Long computations look at signals at least every 100 ms of CPU time. If a signal's handler raises, such as
that of Ctrl-C, the computation ends with that exception. Python runs handlers on its main thread only.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__version__: str

BUILD: str
"""Digest of what determines this build's numbers: sources, locked dependencies, compiler, target and flags.

The same on every machine that builds the same.
"""

class InputError(ValueError):
    """Invalid input: one line that names source, field and rule."""

def schemes() -> dict[str, str]:
    """Return the schemes that the simulator runs without a policy, each with a sentence."""

def stack_schemes() -> dict[str, str]:
    """Return the schemes of this build's QUIC stacks, each with a sentence: none without `quic`."""

def broken_rule(part: str, json: str) -> tuple[str, str] | None:
    """Return the first rule that a scenario's part breaks, after the path of its field; None if it is valid.

    ``part`` is ``Scenario``, ``Link``, ``Queue``, ``Flow`` or ``Arrivals``. Dots join the keys and indices of
    a path; it is empty for the part itself.
    """

def missing_announcements(scenario: str, traces: Mapping[str, PathTrace]) -> list[tuple[int, str]]:
    """Return the flows of a scenario (JSON) whose schemes need an announcement that their route lacks.

    Each comes with the missing metadata: ``handovers`` (satcp) or ``reconfigurations`` (leocc, starquic; the
    metadata's ``reattach_s``). Only the scheme's name counts, even if a policy steers the flow.

    Raises:
        InputError: the scenario is invalid.
    """

@final
class PathTrace:
    """A path trace: piecewise constant rows that repeat periodically.

    Row ``i`` holds from ``time_ns[i]`` to ``time_ns[i + 1]``; the last row only ends the period. Each
    direction has its columns: up is from the path's first site to its second. Version 1 has the same delay,
    loss and connection in both.
    """

    @staticmethod
    def parse(text: str, source: str = "trace") -> PathTrace:
        """Parse the CSV ``text``; an `InputError` reads ``source:line: field: rule``."""
    @staticmethod
    def read(path: str) -> PathTrace:
        """Read and parse a file; raises `InputError` if that fails."""

    @property
    def metadata(self) -> str:
        """The JSON in the ``#`` lines."""
    @property
    def period_ns(self) -> int: ...
    @property
    def version(self) -> int:
        """The file's version of the format: 1 or 2."""
    @property
    def time_ns(self) -> NDArray[np.uint64]: ...
    @property
    def up_delay_ns(self) -> NDArray[np.uint64]:
        """Propagation from the first site to the second."""
    @property
    def down_delay_ns(self) -> NDArray[np.uint64]: ...
    @property
    def uplink_bps(self) -> NDArray[np.uint64]: ...
    @property
    def downlink_bps(self) -> NDArray[np.uint64]: ...
    @property
    def up_loss(self) -> NDArray[np.float64]: ...
    @property
    def down_loss(self) -> NDArray[np.float64]: ...
    @property
    def up_connected(self) -> NDArray[np.bool_]: ...
    @property
    def down_connected(self) -> NDArray[np.bool_]: ...
    @property
    def delay_ns(self) -> NDArray[np.uint64]:
        """One-way propagation; raises `InputError` if the directions differ."""
    @property
    def loss(self) -> NDArray[np.float64]:
        """Loss of each direction; raises `InputError` if the directions differ."""
    @property
    def connected(self) -> NDArray[np.bool_]:
        """Whether both directions are up; raises `InputError` if the directions differ."""
    @property
    def path_id(self) -> NDArray[np.uint64]: ...
    @property
    def event(self) -> list[str]: ...

@final
class Policy:
    """An exported policy: ``policy.onnx`` and ``policy.json``."""

    @staticmethod
    def load(folder: str) -> Policy:
        """Load a policy from ``folder``; raises `InputError`, also for another spec version."""
    @staticmethod
    def restore(folder: str, description: bytes, network: bytes) -> Policy:
        """Return the policy of ``policy.json`` and ``policy.onnx``, which a pickle holds.

        ``folder`` is for messages.
        """
    @property
    def spec(self) -> str:
        """The agent specification it was trained for, such as ``astraea``."""
    @property
    def interval_ms(self) -> float:
        """The monitor interval used in training."""
    @property
    def known_ranges(self) -> dict[str, tuple[float, float]] | None:
        """The ranges beyond which its flows fall back to CUBIC; none without a guard."""
    @property
    def memory_dim(self) -> int:
        """Size of the hidden state per flow; 0 unless the policy is recurrent."""
    def act(
        self, observations: NDArray[np.float32], memories: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Map observations (n, observation_dim) to actions (n, action_dim).

        Args:
            observations: one row per flow.
            memories: hidden states (n, memory_dim), updated in place; zeros for new flows. None means zeros.
        """

@final
class Sgp4:
    """SGP4 propagation of many satellites at many times, with WGS 72 constants."""

    def __init__(self, elements: NDArray[np.float64]) -> None:
        """Initialize satellites.

        Args:
            elements: (satellites, 8): epoch in Julian years since 2000-01-01 12:00 UTC, inclination, right
                ascension of the ascending node, eccentricity, argument of perigee, mean anomaly (radians),
                Kozai's mean motion (rad/min), B* (per Earth radius).

        Raises:
            InputError: the elements of a satellite describe no orbit.
        """
    def positions_km(self, minutes: NDArray[np.float64], satellite: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return TEME positions (n, 3) of satellites (n,), ``minutes`` (n,) after the epoch of each.

        Raises:
            InputError: a satellite has decayed by then, or an index is out of range.
        """

@final
class RunLog:
    """All measurements of a run. Series are in long form, sorted by time, then flow or link."""

    @property
    def flows(self) -> list[dict[str, Any]]:
        """One dict per flow; `run_log_columns` describes the keys."""
    @property
    def links(self) -> list[dict[str, Any]]:
        """One dict per link; `run_log_columns` describes the keys."""
    @property
    def flow_series(self) -> dict[str, NDArray[Any]]:
        """Columns with one row per running flow and interval, at the interval's end."""
    @property
    def link_series(self) -> dict[str, NDArray[Any]]:
        """Columns with one row per link and interval, at the interval's end."""
    @property
    def bbr_series(self) -> dict[str, NDArray[Any]]:
        """Columns with one row per running flow of a BBR scheme and interval, at the interval's end."""
    @property
    def link_names(self) -> list[str]: ...
    @property
    def invalid(self) -> str | None:
        """Why the run is invalid: a QUIC stack lost its connection; None if valid."""

def run_log_columns() -> dict[str, list[tuple[str, str, str, str]]]:
    """Return the columns of the run log's tables: ``flows``, ``links`` and the series.

    Each column is (name, Rust type, unit, meaning); the unit is empty for names, indices and ratios.
    """

@final
class LinkPlan:
    """The plan of a scenario's link over the run, as the simulator uses it.

    Arrays over spans have shape (n,). Span i lasts from ``start_ns[i]`` to ``start_ns[i + 1]``, the last one
    to the end of the run. Adjacent spans differ. Those of the reverse direction begin with ``back_``.
    """

    @property
    def name(self) -> str: ...
    @property
    def start_ns(self) -> NDArray[np.int64]:
        """Start of each span, relative to the start of the run; the first is 0."""
    @property
    def delay_ns(self) -> NDArray[np.int64]:
        """One-way propagation."""
    @property
    def rate_bps(self) -> NDArray[np.int64]:
        """Capacity for IP packets; during an outage, the rate without it."""
    @property
    def loss(self) -> NDArray[np.float64]:
        """Combined loss probability of link and path trace."""
    @property
    def connected(self) -> NDArray[np.bool_]: ...
    @property
    def back_delay_ns(self) -> NDArray[np.int64]: ...
    @property
    def back_connected(self) -> NDArray[np.bool_]: ...
    @property
    def varies(self) -> bool:
        """Whether the link has more than one span."""
    @property
    def loss_seed(self) -> int:
        """Seed of its random losses, for `losses`."""
    @property
    def limit_packets(self) -> int | None:
        """Queue size in packets (set or the discipline's default); None if not limited in packets."""
    @property
    def limit_bytes(self) -> int | None:
        """Queue size in bytes (set or the discipline's default); None if not limited in bytes."""
    def delay_at(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the delay at each time; times before the run get the initial delay."""
    def back_delay_at(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the reverse direction's delay at each time."""
    def capacity_bits(self, from_ns: NDArray[np.int64], to_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bits that the link can carry from each ``from_ns`` to each ``to_ns``."""
    def stays_connected(self, from_ns: NDArray[np.int64], to_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each interval is free of outages."""

def plan_links(scenario: str, traces: dict[str, PathTrace]) -> list[LinkPlan]:
    """Plan the links of a scenario, sorted by name.

    Raises:
        InputError: the scenario is invalid, or a path trace is missing or never has capacity.
    """

def world(route: Sequence[tuple[LinkPlan, int]], time_ns: int) -> tuple[float, int, int, int]:
    """Return the path state for rewards, as `Agents.judge` takes it, and where the bottleneck is.

    The bottleneck is the slowest link, and among equal ones the first of those with the most flows.

    Args:
        route: links, each with the number of flows on it.
        time_ns: from the scenario's start.

    Returns:
        Bottleneck capacity in bytes/s, propagation both ways in ns, bottleneck buffer in bytes, and the
            bottleneck's index in ``route``.

    Raises:
        InputError: ``route`` is empty.
    """

def base_rtt_steps(time_s: NDArray[np.float64], rtt_ms: NDArray[np.float64]) -> list[float]:
    """Return when the base RTT stepped, in s, from RTT samples alone: when each step was certain.

    Two slots (an RTT, at least 50 ms) must agree: both smallest RTTs are above the band of the second before
    by 3 ms and its width, or both below everything of the five seconds before by 2 ms.

    Args:
        time_s: (n,) times that do not decrease, from 0.
        rtt_ms: (n,) samples; NaN ones are ignored.

    Raises:
        InputError: a time decreases, an RTT is negative, or there are not as many of both.
    """

def losses(probability: float, seed: int, packets: int) -> list[int]:
    """Return the indices (from 0) of lost packets among the first ``packets`` that leave a link's queue.

    Raises:
        InputError: the probability is not in [0, 1).
    """

def plan_workloads(scenario: str) -> list[tuple[str, int] | None]:
    """Return the workload of each flow of a scenario's JSON, for `kernel_bridge/workloads`.

    Returns:
        The JSON that ``leo-app`` reads, and the number of connections; None for a flow without a workload.

    Raises:
        InputError: the scenario is invalid.
    """

def play_video(
    video: str, downloads_ns: Sequence[int]
) -> tuple[list[float], list[float], dict[str, float | None]]:
    """Play a video whose chunks take the given times from request to arrival.

    Args:
        video: JSON of a `configs.scenario.Video`.
        downloads_ns: one time per chunk.

    Returns:
        Each chunk's bitrate in Mbit/s, the buffer in s after its arrival, and the columns of the run log.

    Raises:
        InputError: the video is invalid.
    """

def google_congestion_control(
    bitrates_bps: Sequence[int], reports: Sequence[tuple[int, int, Sequence[tuple[int, int, int, int]]]]
) -> list[tuple[float, float, int, int]]:
    """Run the controller of the scheme ``gcc`` over recorded arrivals.

    Args:
        bitrates_bps: at the start, least and most.
        reports: arrival at the sender in ns, RTT in ns, and the packets of each report: number, departure and
            arrival in ns, bytes.

    Returns:
        After each report the modified trend and its threshold in ms, -1, 0 or 1 for under-use, normal or
        over-use, and the target bitrate in bit/s.
    """

def run(
    scenarios: Sequence[str],
    traces: Mapping[str, PathTrace],
    policies: Mapping[str, Policy] = ...,
    *,
    interval_ms: float = 30.0,
    series_ms: float = 100.0,
    threads: int = 1,
    check: Callable[[], object] | None = None,
) -> list[RunLog]:
    """Run scenarios (JSON of `configs.scenario.Scenario`) to their end, in parallel and without the GIL.

    Args:
        scenarios: one JSON text per scenario.
        traces: all path traces that the scenarios' links name.
        policies: policies by scheme name; each steers the flows of its scheme.
        interval_ms: monitor interval of policies.
        series_ms: interval of the series; 0 disables them.
        threads: number of threads; 0 means one per core.
        check: called on this thread every 50 ms of computing; what it raises ends the runs.

    Raises:
        InputError: a scenario is invalid, or a trace or scheme is unknown.
    """

@final
class Constellation:
    """The simulation of a network of satellites and stations, whose links the caller sets moment by moment.

    Call `follow` at the start and whenever routes are to be found anew, and `advance` in between.
    """

    def __init__(
        self,
        network: str,
        policies: Mapping[str, Policy] = ...,
        *,
        interval_ms: float = 30.0,
        series_ms: float = 1000.0,
        threads: int = 1,
    ) -> None:
        """Build the simulation of a network (JSON of `ConstellationSpec`, in core/sim/src/scenario).

        It runs on `threads` threads, from 1 to 256. The results are equal for every number.

        Raises:
            InputError: the network or `threads` is invalid.
        """
    @property
    def time_s(self) -> float:
        """Simulated time."""
    @property
    def link_names(self) -> list[str]: ...
    def follow(
        self,
        laser_km: NDArray[np.float64],
        station: NDArray[np.int64],
        satellite: NDArray[np.int64],
        km: NDArray[np.float64],
    ) -> None:
        """Take over the links of a moment and find the shortest routes over them.

        Args:
            laser_km: length of each laser, shape (lasers,); infinite while it is off.
            station: stations of the ground links, shape (links,); pairs of station and satellite rise.
            satellite: their satellites, shape (links,).
            km: their lengths, shape (links,).

        Raises:
            InputError: shapes differ, or a node does not exist.
        """
    def advance(
        self, until_s: float, *, check: Callable[[], object] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Advance to ``until_s``, or to the end; see `Simulation.advance`."""
    def follow_all(self, moments: Moments, first: int) -> None:
        """Follow ``moments`` from number ``first`` on while it advances, instead of calls of `follow`.

        Raises:
            InputError: they are those of another network, or too few for the run.
        """
    def choose_paths(self, paths: NDArray[np.int64]) -> None:
        """Let flows take other paths of their pairs from now on; packets on their way stay on theirs.

        Args:
            paths: shape (flows,), each below the network's ``paths``; -1: as before.

        Raises:
            InputError: the shape or a number is another.
        """
    def measure_paths(self) -> NDArray[np.float64]:
        """Return the state of each flow's paths, shape (flows * paths, 4), flow after flow.

        Columns: propagation both ways in ms; links of the way there, 0 without a route; the largest share of
        its capacity that one of these links carried since the last call, 1 without a route; the flow's equal
        share of the bottleneck in Mbit/s, if it takes the path and all others stay, 0 without a route.
        """
    def routes(self) -> list[tuple[NDArray[np.uint32], int]]:
        """Return each pair's current routes: nodes, and propagation both ways in ns.

        A pair is two stations with flows, in the order of their first flows. The network's ``paths`` of a
        pair follow each other. Stations count on from the satellites. Without a route there are no nodes.
        """
    def pairs_of_flows(self) -> NDArray[np.uint32]:
        """Return the index of each flow's path in `routes` and `pairs`, shape (flows,)."""
    def pairs(self) -> list[dict[str, Any]]:
        """Return a summary of each path so far."""
    def traffic(self) -> dict[str, int]:
        """Return the fate of all packets.

        Stations have ``sent`` the sum of those that ``arrived``, were ``dropped``, ``lost`` or
        ``unroutable``, or are ``inside``. They have crossed ``hops`` links.
        """
    def run_log(self) -> RunLog:
        """Return the run log so far; its series have only rows that `advance` has not returned."""

@final
class Moments:
    """The links of a network over time: a moment for each routing interval.

    Copies share them; pickles hold them.
    """

    def __init__(
        self,
        interval_ms: float,
        laser_km: NDArray[np.float64],
        links: NDArray[np.int64],
        station: NDArray[np.int64],
        satellite: NDArray[np.int64],
        km: NDArray[np.float64],
    ) -> None:
        """Take over the moments.

        Args:
            interval_ms: time between two moments.
            laser_km: length of each laser, shape (moments, lasers); infinite while it is off.
            links: number of ground links of each moment, shape (moments,).
            station: stations of all ground links, moment after moment; in a moment, pairs of station and
                satellite rise.
            satellite: their satellites.
            km: their lengths.

        Raises:
            InputError: shapes do not fit, or pairs do not rise.
        """
    def __len__(self) -> int: ...

@final
class Simulation:
    """A simulation that the caller advances; `advance` returns the series, so long runs need not store them.

    The results do not depend on how a run is divided: the concatenated series and the last `run_log` equal
    those of `run`.
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
        """Build the simulation; see `run` for arguments and errors."""
    @property
    def time_s(self) -> float:
        """Simulated time."""
    @property
    def finished(self) -> bool:
        """Whether the scenario's end is reached."""
    @property
    def flow_schemes(self) -> list[str]:
        """Scheme of each flow."""
    @property
    def link_names(self) -> list[str]: ...
    def advance(
        self, seconds: float, *, check: Callable[[], object] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Advance by ``seconds``, or to the end, without the GIL.

        Every 50 ms of computing, it calls ``check``. If that or a signal's handler raises, the simulation
        stands between two events, and a later call goes on from there.

        Returns:
            The new rows of `RunLog.flow_series`, `link_series` and `bbr_series`, of which it keeps no copy.
        """
    def run_log(self) -> RunLog:
        """Return the run log so far; its series have only rows that `advance` has not returned."""

@final
class Agents:
    """Observations, rewards and commands for flows that run outside the simulator, such as real TCP flows.

    Each flow has a slot. Reports, observations, actions and rewards are those of `Batch`.
    """

    def __init__(
        self,
        slots: int,
        *,
        agent: str = "astraea",
        reward: str = "astraea",
        normalize_observations: bool = False,
    ) -> None: ...
    @property
    def observation_dim(self) -> int: ...
    @property
    def action_dim(self) -> int: ...
    @property
    def observation_bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Smallest and largest observation, each of shape (observation_dim,)."""
    @property
    def global_dim(self) -> int: ...
    @property
    def sets_intervals(self) -> bool:
        """Whether reports set the next interval's length, such as half an RTT for Aurora."""
    def start(self, slot: int, extra_delay_ns: int) -> None:
        """Start a flow in ``slot`` with this one-way delay in addition to its links'."""
    def observe(self, slot: int, report: NDArray[np.float64]) -> None:
        """Process the report, of shape (len(Batch.report_fields),), of the interval that just ended."""
    def next_interval_ns(self, slot: int) -> int | None:
        """Return the length of the next interval from the latest report; None if it does not set one."""
    def observation(self, slot: int) -> NDArray[np.float32]:
        """Return the observation, of shape (observation_dim,)."""
    def judge(
        self,
        slots: Sequence[int],
        capacity_bytes_per_s: float,
        base_rtt_ns: int,
        buffer_bytes: int,
        flows_on_path: int = 0,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return rewards (slots,) and the global state (global_dim,) after an interval.

        Args:
            slots: slots of the flows whose interval just ended.
            capacity_bytes_per_s: of the bottleneck; during an outage, the rate without it.
            base_rtt_ns: current propagation over the links, both ways.
            buffer_bytes: of the bottleneck.
            flows_on_path: number of running flows of any kind at the bottleneck; 0 if unknown, then one.
        """
    def act(self, slot: int, action: NDArray[np.float32]) -> tuple[int, int]:
        """Convert an action (action_dim,) to a window in packets and a pacing rate in bytes/s.

        A pacing rate of 0 means unpaced.
        """

@final
class Batch:
    """Independent simulations that advance together, one monitor interval at a time.

    Every array property is a view of the batch's memory: always the same object, overwritten by `reset` and
    `step`. Do not write to it. Learning flows (scheme ``agent``) take the slots 0, 1, … in the scenario's
    order.

    A deep copy continues on its own as the original does, and so does a batch from a pickle, which runs the
    current episodes again. `InputError` if another version of the simulator, which runs them differently,
    wrote the pickle.
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
        normalize_observations: bool = False,
        guard: Policy | None = None,
    ) -> None:
        """Create a batch; with ``watch``, flows of classic schemes take the slots.

        The observations and rewards are then those of an agent in the scheme's place, and actions are
        ignored. The windows of the first ``hold`` schemes change only at the ends of intervals with
        deliveries, and are paced at one window per RTT, like an agent's.

        With ``normalize_observations``, each number x of an observation is x / (1 + |x|), within [-1, 1].

        With ``guard``, the learning flows fall back to CUBIC where that policy's would: outside its known
        ranges, and where an action is NaN, which is an `InputError` otherwise.
        """
    @staticmethod
    def agents() -> list[str]:
        """Return the names of the agent specifications (observation and action)."""
    @staticmethod
    def spec_version(agent: str) -> int:
        """Return the version of a specification, which a policy states; `InputError` for an unknown name."""
    @staticmethod
    def rewards() -> list[str]: ...
    @property
    def observation_dim(self) -> int: ...
    @property
    def action_dim(self) -> int: ...
    @property
    def global_dim(self) -> int: ...
    @property
    def observation_bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Smallest and largest observation of a flow, each of shape (observation_dim,)."""
    @property
    def report_fields(self) -> list[str]: ...
    @property
    def observations(self) -> NDArray[np.float32]:
        """(size, slots, observation_dim)."""
    @property
    def rewards_view(self) -> NDArray[np.float32]:
        """(size, slots): the step's reward for flows that were active before it; otherwise 0."""
    @property
    def global_states(self) -> NDArray[np.float32]:
        """(size, global_dim): the centralized critic's state."""
    @property
    def active(self) -> NDArray[np.bool_]:
        """(size, slots): whether the flow runs and its next action counts."""
    @property
    def finished(self) -> NDArray[np.bool_]:
        """(size,): whether the simulation has ended or has no more learning flows; `step` then skips it."""
    @property
    def reports(self) -> NDArray[np.float64]:
        """(size, slots, len(report_fields)): the raw interval reports."""
    @property
    def paths(self) -> NDArray[np.float64]:
        """(size, slots, 2): the capacity of each flow's path in Mbit/s, and its base RTT in ms."""
    @property
    def time_s(self) -> NDArray[np.float64]:
        """(size,): simulated time."""
    def reset(
        self,
        index: int,
        scenario: str,
        traces: Mapping[str, PathTrace],
        policies: Mapping[str, Policy] = ...,
        *,
        moments: Moments | None = None,
        first: int = 0,
    ) -> None:
        """Restart simulation ``index`` and run it until its first learning flow has a report.

        With ``moments``, ``scenario`` is a network as `Constellation` takes it. Its links are the moments
        from number ``first`` on. Each of its flows is judged alone, by its own path.
        """
    def step(self, actions: NDArray[np.float32]) -> None:
        """Apply actions and advance every unfinished simulation by one monitor interval.

        Without a running learning flow, a simulation advances until the next one joins.

        Args:
            actions: (size, slots, action_dim), each in [-1, 1]; ignored for inactive flows.

        Raises:
            InputError: the array has another shape, is not C-contiguous, or contains NaN. Or a signal
                interrupted an earlier step or reset of a simulation, which needs a `reset`.
        """
    def command(self, commands: NDArray[np.float64]) -> None:
        """Advance like `step`, but set the flows' windows and pacing rates directly.

        `actions` does not have commands: a batch that got one cannot be pickled before its next reset.

        Args:
            commands: (size, slots, 2): window in packets (at least one) and pacing rate in payload bytes/s
                (0: unpaced), ignored for inactive flows.

        Raises:
            InputError: the array has another shape, is not C-contiguous, or has a value below 0 or above
                4e9. Or as `step`.
        """
    def actions(self, index: int) -> NDArray[np.float32]:
        """Return the actions (steps, slots, action_dim) of simulation ``index`` since its reset."""
    def replay(self, index: int, actions: NDArray[np.float32]) -> None:
        """Step simulation ``index`` alone, with actions (steps, slots, action_dim).

        After a reset with the same scenario, the `actions` of another simulation lead to its state.

        Raises:
            InputError: the simulation was never reset, or the array has another shape or contains NaN.
        """
    def run_log(self, index: int) -> RunLog:
        """Return the run log of simulation ``index`` so far."""
