"""Links emulated by mahimahi's shells: mm-link for capacity and queue, then mm-loss, then mm-delay.

Data crosses them in this order, from the innermost to the outermost, as in the simulator. mm-leo replaces
mm-delay if the delay varies, is not the same both ways or not a whole number of milliseconds.
"""

import math
from pathlib import Path

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.mahimahi import Delay, Link, LinkLog, Loss, Queue, read_log
from leogym.kernel_bridge.mahimahi import command as mahimahi
from leogym.kernel_bridge.mahimahi.shell import Shell
from leogym.kernel_bridge.runner.leo_links import (
    UNLIMITED,
    LeoLinks,
    header_of,
    leo,
    link_events,
    report_of,
)
from leogym.kernel_bridge.runner.leo_links import late as late_leo
from leogym.kernel_bridge.runner.link_shells import Folders, Integers, LinkEvents, LinkShells, Origin
from leogym.kernel_bridge.runner.plan import LEAD_NS, Limit, Plan, PlannedLink
from leogym.kernel_bridge.shell import leo as mm_leo
from leogym.traces.capacity.columns import OneWay
from leogym.traces.formats import mahimahi as files
from leogym.traces.formats.series import Series

Floats = NDArray[np.float64]

LATE_MS = 10
"""A link is invalid if it handles more than 1 % of its opportunities later than this."""
_KERNEL_HINT = " (--backend kernel can)"
_FULL_BYTES = 1500
_TAIL_S = 1
_ACK_SHARE = 0.04
"""Bytes of ACKs (56) over bytes of data (1,504), if every packet is acknowledged."""
_OPPORTUNITY_A_MS_BPS = 12_000_000
_CODEL_MS = {"target": 5.0, "interval": 100.0}
_PIE_MS = {"qdelay_ref": 15.0, "max_burst": 150.0}
_MANAGED_QUEUE_PACKETS = 1000
"""Linux's defaults, because mahimahi has none."""


class MahimahiLinks:
    """mahimahi's shells."""

    name = "mahimahi"
    calls_iptables = True

    def missing(self) -> str | None:
        """Return one line about the first thing that this machine lacks, or None."""
        return mahimahi.missing()

    def programs(self) -> list[Path]:
        """Return the path of mm-leo, if it is built."""
        return LeoLinks().programs()

    def check(self, plan: Plan, link: PlannedLink) -> None:
        """Refuse a link that the shells cannot express."""
        where = _where(plan, link)
        if np.ptp(link.schedule.loss) > 0:
            raise InputError(f"{where}: mm-loss supports no varying loss{_KERNEL_HINT}")
        if plan.ack_jitter_ns:
            raise InputError(
                f"{plan.name}: --backend {self.name}: host_jitter_us: mm-delay has no jitter{_KERNEL_HINT}"
            )
        if link.spec.outage == "drop":
            raise InputError(f"{where}: outage: drop: mm-link only holds its queue{_KERNEL_HINT}")
        if needs_leo(link) and (lack := mm_leo.missing()):
            raise InputError(f"{where}: mm-delay supports only a fixed delay in whole ms, and {lack}")
        queue(link, where)

    def link(self, plan: Plan, link: PlannedLink, folders: Folders) -> LinkShells:
        """Write a link's traces and return its shells."""
        where, schedule = _where(plan, link), link.schedule
        series = opportunities(schedule, plan.duration_ns)
        paths = {}
        for direction in files.DIRECTIONS:
            paths[direction] = folders.work / f"{link.file_stem}-{direction}.trace"
            with paths[direction].open("w") as file:
                files.write(series, direction, file)
        logs = [folders.work / f"{link.file_stem}.log"]
        shells: list[Shell] = [
            Link(paths["uplink"], paths["downlink"], queue(link, where), uplink_log=logs[0])
        ]
        if schedule.loss[0] > 0:
            shells.insert(0, Loss("uplink", float(schedule.loss[0])))
        if needs_leo(link):
            logs.append(folders.work / f"{link.file_stem}-delay.log")
            delay = leo(link, plan.lead_ns, folders, logs[1], [f"--rate-mbps={UNLIMITED}"])
        else:
            delay = Delay(int(schedule.delay_ns[0]) // NS_PER_MS).arguments()
        return LinkShells([delay, *(shell.arguments() for shell in shells)], logs)

    def access(self, delay_ns: int, where: str, folders: Folders) -> list[str]:
        """Return the shell that adds this delay in each direction."""
        if delay_ns % NS_PER_MS == 0:
            return Delay(delay_ns // NS_PER_MS).arguments()
        if lack := mm_leo.missing():
            raise InputError(f"{where}: mm-delay supports only whole ms, and {lack}")
        return LeoLinks().access(delay_ns, where, folders)

    def events(self, link: PlannedLink, shells: LinkShells, origin: Origin, duration_ns: int) -> LinkEvents:
        """Read a link's events from the logs of mm-link and, if used, mm-leo."""
        link_log = read_log(shells.logs[0])
        initial = [line for line in link_log.header if line.startswith("init timestamp: ")]
        # In whole milliseconds of the system clock.
        shift_ns = int(initial[0].split(": ")[1]) * NS_PER_MS - origin.epoch_ns
        drop_ms, dropped = drops(link_log)
        during_ms = -shift_ns / NS_PER_MS, (duration_ns - shift_ns) / NS_PER_MS
        # Exact up to clock resolution and the time between reading the two clocks.
        lead_ns = delay_lead_ns = -round((shift_ns + link_log.base_ms * NS_PER_MS) / NS_PER_MS) * NS_PER_MS
        why = steady = None
        left_ms = None
        if len(shells.logs) > 1:
            delay_lead_ns = origin.monotonic_ns - header_of(shells.logs[1])["began_monotonic_ns"]
            why = late_leo(report_of(shells.logs[1]))
            left_ms = left(link_log, shells.logs[1], delay_lead_ns + shift_ns)
        if left_ms is None:
            steady = late(link_log, *during_ms)
        else:
            why = why or late(link_log, *during_ms, left_ms)
        departure_ns = link_log.departure_ms * NS_PER_MS + shift_ns
        ahead_ns = delay_lead_ns - origin.lead_ns if link.schedule.varies else 0
        delivery_ns = departure_ns + link.schedule.delay_at(departure_ns + ahead_ns)
        nothing = np.zeros(0, dtype=np.int64)
        return LinkEvents(
            arrival_ns=link_log.arrival_ms * NS_PER_MS + shift_ns,
            departure_ns=departure_ns,
            delivery_ns=np.maximum.accumulate(delivery_ns) if len(delivery_ns) else delivery_ns,
            delivered_bytes=link_log.departure_bytes,
            drop_ns=drop_ms * NS_PER_MS + shift_ns,
            dropped_packets=dropped,
            loss_ns=nothing,
            lost_packets=nothing,
            marked_packets=0,
            lead_ns=lead_ns,
            delay_lead_ns=delay_lead_ns,
            late=why,
            late_if_steady=steady,
        )


def needs_leo(link: PlannedLink) -> bool:
    """Return whether a delay needs mm-leo: it varies, differs by direction, or is not in whole ms."""
    both = np.concatenate((link.schedule.delay_ns, link.schedule.back_delay_ns))
    return bool(np.ptp(both)) or int(both[0]) % NS_PER_MS > 0


def _where(plan: Plan, link: PlannedLink) -> str:
    return f"{plan.name}: --backend mahimahi: links.{link.name}"


def drops(log: LinkLog) -> tuple[Integers, Integers]:
    """Return when the queue dropped packets, and how many.

    mm-link 0.98 does not log droptail's drops. But each departure logs its time in the queue, so packets that
    arrived in a millisecond and never left were dropped, up to the last departed packet.
    """
    if len(log.drop_ms) or not len(log.departure_ms):
        return log.drop_ms, log.dropped_packets
    came_ms = log.departure_ms - log.queued_ms
    first, last = int(log.arrival_ms[0]), int(came_ms.max())
    arrived = np.bincount(log.arrival_ms[log.arrival_ms <= last] - first, minlength=last - first + 1)
    missing = arrived - np.bincount(came_ms - first, minlength=last - first + 1)
    # Arrivals of the last millisecond may still be queued.
    missing[-1] = 0
    return np.flatnonzero(missing > 0) + first, missing[missing > 0]


def left(log: LinkLog, onward: Path, lead_ns: int) -> Floats | None:
    """Return when each full packet of a log's departures left mm-link, in ms since its start.

    ``onward`` is the log of the mm-leo that the packets reach next, whose time 0 is ``lead_ns`` before
    mm-link's. None if packets were lost between the two.
    """
    arrived = link_events(onward, "u").filter(kind="+", count=_FULL_BYTES)
    if len(arrived) != int((log.departure_bytes == _FULL_BYTES).sum()):
        return None
    return (arrived["at_ns"].to_numpy() - lead_ns) / NS_PER_MS


def late(log: LinkLog, begin_ms: float, end_ms: float, left_ms: Floats | None = None) -> str | None:
    """Return why a link was late in a window, or None.

    With ``left_ms``, when full packets left (`left`), lateness is measured. Otherwise only a bound is known:
    mm-link logs an opportunity with its due time, so it came before the next arrival. The bound ignores
    opportunities without a departure, because the link may be idle. It is too high where a sender pauses.
    """
    if left_ms is None:
        used = np.isin(log.opportunity_ms, log.departure_ms)
        due_ms, lateness_ms = log.opportunity_ms[used], (log.handled_ms - log.opportunity_ms)[used]
    else:
        due_ms = log.departure_ms[log.departure_bytes == _FULL_BYTES]
        lateness_ms = left_ms - due_ms
    during = (due_ms >= begin_ms) & (due_ms < end_ms)
    if not during.any():
        return None
    p99_ms = float(np.percentile(lateness_ms[during], 99))
    if p99_ms <= LATE_MS:
        return None
    return f"mm-link handled 1 % of the opportunities {p99_ms:.0f} ms late or more (limit: {LATE_MS} ms)"


def opportunities(schedule: leosim.LinkPlan, duration_ns: int) -> Series:
    """Return a schedule as the series for mm-link's two files.

    The link is up before the run's start and after its end, because mm-link needs that at a period's ends.
    The ACK direction has its own outages, and more capacity than ACKs need.
    """
    lead, tail = LEAD_NS, _TAIL_S * NS_PER_S
    start = np.concatenate(([0], schedule.start_ns + lead, [lead + duration_ns]))
    keep = np.append(start[1:] > start[:-1], True)
    rows = np.concatenate(([0], np.arange(len(schedule.start_ns)), [0]))
    connected, back_connected = (
        np.concatenate(([True], up, [True]))[keep] for up in (schedule.connected, schedule.back_connected)
    )
    rate = np.maximum(schedule.rate_bps[rows][keep], np.where(connected, 1, 0))
    highest = int(schedule.rate_bps.max())
    rate[[0, -1]] = highest
    acknowledgements = math.ceil(highest * _ACK_SHARE / _OPPORTUNITY_A_MS_BPS) * _OPPORTUNITY_A_MS_BPS
    period_ns = -(-(lead + duration_ns + tail) // NS_PER_MS) * NS_PER_MS
    count = int(keep.sum())
    nothing, none = np.ones(count, dtype=np.int64), np.zeros(count)
    return Series(
        period_ns,
        start[keep],
        OneWay(nothing, rate, none, connected),
        OneWay(nothing, np.full(count, acknowledgements), none, back_connected),
        np.zeros(count, dtype=np.int64),
        [""] * count,
    )


def queue(link: PlannedLink, where: str) -> Queue:
    """Return a link's queue in mahimahi's format."""
    spec, limit = link.spec.queue, link.limit or Limit("packets", _MANAGED_QUEUE_PACKETS)
    if spec.ecn:
        raise InputError(f"{where}.queue.ecn: mahimahi's queues do not support ECN")
    match spec.kind:
        case "droptail":
            return Queue("droptail", {limit.unit: limit.size})
        case "codel":
            knobs = {"target": spec.target_ms, "interval": spec.interval_ms}
            defaults = _CODEL_MS
        case "pie" if (spec.tupdate_ms, spec.alpha, spec.beta) == (None, None, None):
            knobs = {"qdelay_ref": spec.target_ms}
            defaults = _PIE_MS
        case "pie":
            raise InputError(f"{where}.queue: mahimahi's pie supports only target_ms")
        case _:
            raise InputError(
                f"{where}.queue.kind: {spec.kind}: mahimahi supports droptail, codel and pie{_KERNEL_HINT}"
            )
    limits: dict[str, int] = {limit.unit: limit.size}
    for name, default in defaults.items():
        value = knobs.get(name)
        limits[name] = whole_ms(
            round((default if value is None else value) * NS_PER_MS), f"{where}.queue.{name}"
        )
    return Queue(spec.kind, limits)


def whole_ms(time_ns: int, where: str) -> int:
    """Convert a time to ms.

    Raises:
        InputError: the time is not a whole number of ms.
    """
    if time_ns % NS_PER_MS:
        raise InputError(
            f"{where}: {time_ns / NS_PER_MS:g} ms: mahimahi supports only whole ms{_KERNEL_HINT}"
        )
    return time_ns // NS_PER_MS
