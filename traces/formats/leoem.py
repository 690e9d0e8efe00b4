"""LeoEM's path logs, and the faults of the published ones.

Format (XuyangCaoUCSD/LeoEM, commit 4488b00): one line per second, ``cycle$[-1, nodes, -2]$number of
nodes$[delay of each hop in s]$their sum``, or ``cycle$NULL`` without a path. -1 and -2 are the users, numbers
below the size of the constellation (1,584) are satellites, numbers from there on gateways. When an end
changes its satellite, the emulator takes the path down for 1.5 round trips over the old and 1.5 over the new
user link. Other changes have no outage.

The published logs have three faults: they leave out the z axis, which makes most legs to the ground shorter
than the satellites' altitude; user legs are constant between re-selections; and these come every 16 s instead
of 15.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from leogym.common.units import NS_PER_S
from leogym.traces.formats import announced
from leogym.traces.formats import series as rows
from leogym.traces.formats.announced import Change
from leogym.traces.formats.format import Fault, Format, Import
from leogym.traces.formats.series import Series
from leogym.traces.formats.source import Source
from leogym.traces.orbit.earth import LIGHT_KM_PER_S

SATELLITES = 1584
ALTITUDE_KM = 550.0
REATTACH_S = 15
FROZEN_S = 3
"""Satellites move at 7 km/s, so a user leg that is constant for this many seconds was not updated."""

_NULL = "NULL"
_ORIGIN, _DESTINATION = -1, -2
_MAX_CYCLE = round(rows.MAX_PERIOD_S)
_MAX_HOPS = 10_000
# Sums and delays are printed floating-point numbers; they agree to better than a nanosecond per hop.
_SUM_TOLERANCE_S = 1e-9


@dataclass(frozen=True)
class Second:
    """One line of a log."""

    line: int
    cycle: int
    nodes: tuple[int, ...]  # from user to user; empty without a path
    delay_s: tuple[float, ...]

    @property
    def ends(self) -> tuple[int, int]:
        """The users' satellites."""
        return self.nodes[1], self.nodes[-2]


def _listed(source: Source, line: int, field: str, text: str) -> list[str]:
    if not (text.startswith("[") and text.endswith("]")):
        raise source.error(line, field, "must be a list in brackets")
    cells = [cell.strip() for cell in text[1:-1].split(",")]
    if len(cells) > _MAX_HOPS:
        raise source.error(line, field, f"has more than {_MAX_HOPS} entries")
    return cells


def _second(source: Source, number: int, line: str) -> Second:
    cells = line.strip().split("$")
    cycle = source.integer(number, "cycle", cells[0], 0, _MAX_CYCLE)
    if cells[1:] == [_NULL]:
        return Second(number, cycle, (), ())
    if len(cells) != 5:
        raise source.error(number, "row", f"must have 5 fields between $, or be cycle$NULL, not {len(cells)}")
    texts = _listed(source, number, "nodes", cells[1])
    nodes = tuple(source.integer(number, "nodes", text, -2, 10**9) for text in texts)
    if len(nodes) < 3 or (nodes[0], nodes[-1]) != (_ORIGIN, _DESTINATION) or min(nodes[1:-1]) < 0:
        raise source.error(number, "nodes", "must go from -1 over at least one satellite to -2")
    source.integer(number, "node_num", cells[2], 0, _MAX_HOPS)
    texts = _listed(source, number, "delays", cells[3])
    delays = tuple(source.number(number, "delays", text, 0, rows.MAX_DELAY_MS / 1000) for text in texts)
    if len(delays) != len(nodes) - 1:
        raise source.error(number, "delays", f"must be {len(nodes) - 1}, one per hop, not {len(delays)}")
    total = source.number(number, "delay_sum", cells[4], 0, rows.MAX_DELAY_MS / 1000)
    if abs(total - sum(delays)) > _SUM_TOLERANCE_S * len(delays):
        raise source.error(
            number, "delay_sum", f"is {total:g} s, while the delays add up to {sum(delays):g} s"
        )
    return Second(number, cycle, nodes, delays)


def read_log(path: Path) -> list[Second]:
    """Read a log's lines; raise InputError with line and rule if the file is not valid."""
    source, seconds, number = Source(path), [], 0
    for number, line in source.rows():
        second = _second(source, number, line)
        if seconds and second.cycle <= seconds[-1].cycle:
            raise source.error(number, "cycle", f"{second.cycle} must be after {seconds[-1].cycle}")
        seconds.append(second)
    if not any(second.nodes for second in seconds):
        raise source.error(number, "nodes", "is NULL in every row: there is never a path")
    return seconds


def _ground_legs(second: Second, satellites: int) -> list[int]:
    """Return the hops with an end on the ground."""
    ground = [node < 0 or node >= satellites for node in second.nodes]
    return [hop for hop in range(len(second.delay_s)) if ground[hop] or ground[hop + 1]]


def below_floor(
    seconds: Sequence[Second], altitude_km: float = ALTITUDE_KM, satellites: int = SATELLITES
) -> list[Fault]:
    """Return the lines with legs to the ground that are shorter than the satellites' altitude."""
    floor_s = altitude_km / LIGHT_KM_PER_S
    faults = []
    for second in seconds:
        legs = _ground_legs(second, satellites)
        short = [hop for hop in legs if second.delay_s[hop] < floor_s - 1e-9]
        if short:
            least_ms = min(second.delay_s[hop] for hop in short) * 1000
            rule = (
                f"{len(short)} of {len(legs)} legs to the ground are below {floor_s * 1000:.3f} ms "
                f"({altitude_km:g} km at the speed of light), the shortest {least_ms:.3f} ms"
            )
            faults.append(Fault(second.line, "below-floor", "delays", rule))
    return faults


def frozen_legs(seconds: Sequence[Second]) -> list[Fault]:
    """Return the lines at which a user leg has been constant for `FROZEN_S` over the same satellite."""
    faults = []
    for side, name in ((0, "first"), (1, "last")):
        still_s, last = 0, None
        for second in seconds:
            if not second.nodes:
                still_s, last = 0, None
                continue
            now = (second.ends[side], second.delay_s[-side])
            still_s = still_s + second.cycle - last[1] if last is not None and last[0] == now else 0
            last = (now, second.cycle)
            if still_s == FROZEN_S:
                rule = f"the {name} user leg stands still for {FROZEN_S} s although its satellite moves"
                faults.append(Fault(second.line, "frozen", "delays", rule))
    return sorted(faults, key=lambda fault: fault.line)


def off_grid(seconds: Sequence[Second], reattach_s: int = REATTACH_S) -> list[Fault]:
    """Return the lines in which an end changes its satellite off the grid of the first change."""
    faults, first = [], None
    for before, after in pairwise(seconds):
        if not before.nodes or not after.nodes or before.ends == after.ends:
            continue
        first = after.cycle if first is None else first
        if (after.cycle - first) % reattach_s:
            rule = f"a handover {after.cycle - first} s after the first is off the {reattach_s} s grid"
            faults.append(Fault(after.line, "off-grid", "nodes", rule))
    return faults


def faults(seconds: Sequence[Second]) -> list[Fault]:
    """Return all faults of a log, ordered by line."""
    return sorted(
        [*below_floor(seconds), *frozen_legs(seconds), *off_grid(seconds)], key=lambda fault: fault.line
    )


def read(path: Path, capacity_mbps: float) -> tuple[Series, list[Second]]:
    """Read a log; return rows with the emulator's outages, and the log's lines (see `read_log`)."""
    seconds = read_log(path)
    has_path = np.array([bool(second.nodes) for second in seconds])
    sums_ns = np.array([round(sum(second.delay_s) * NS_PER_S) for second in seconds], dtype=np.int64)
    held_ns = rows.held(sums_ns, has_path)
    start = seconds[0].cycle
    spans = [(second.cycle - start) * NS_PER_S for second in seconds]
    # The last row lasts a second.
    period_ns = spans[-1] + NS_PER_S
    time_ns: list[int] = []
    columns: list[tuple[int, bool, int, str]] = []
    path_id, before = 0, None
    last: Second | None = None
    for index, second in enumerate(seconds):
        event, outage_ns = "", 0
        if not second.nodes:
            event = "unreachable" if before is None or before.nodes else ""
        elif last is not None and second.nodes != last.nodes:
            event, outage_ns = _change(last, second)
            path_id += 1
        end_ns = spans[index + 1] if index + 1 < len(spans) else period_ns
        time_ns.append(spans[index])
        connected = bool(second.nodes) and outage_ns == 0
        columns.append((int(held_ns[index]), connected, path_id, event))
        if 0 < outage_ns < end_ns - spans[index]:
            time_ns.append(spans[index] + outage_ns)
            columns.append((int(held_ns[index]), True, path_id, ""))
        before = second
        last = second if second.nodes else last
    delay, connected, paths, events = zip(*columns, strict=True)
    series = rows.constant(
        np.array(time_ns, dtype=np.int64), period_ns, np.array(delay, dtype=np.int64), capacity_mbps
    )
    series.path_id[:] = paths
    series.event[:] = events
    return series.with_both(connected=np.array(connected)), seconds


def changes(seconds: Sequence[Second]) -> list[Change]:
    """Return all changes of the path. After a gap, the path before it counts."""
    path_changes: list[Change] = []
    last = None
    for second in seconds:
        if last is not None and second.nodes and second.nodes != last.nodes:
            moved = [name for name, side in (("from", 0), ("to", 1)) if last.ends[side] != second.ends[side]]
            end = {0: None, 1: moved[0] if moved else None, 2: "both"}[len(moved)]
            kind = "hard" if moved else "soft"
            path_changes.append(Change(float(second.cycle - seconds[0].cycle), kind, end))
        last = second if second.nodes else last
    return path_changes


def _change(old: Second, new: Second) -> tuple[str, int]:
    """Return event and outage of the change from one path to another."""
    sums_s = [old.delay_s[-side] + new.delay_s[-side] for side in (0, 1) if old.ends[side] != new.ends[side]]
    if not sums_s:
        return "soft_handover", 0
    # Both ends hand over in parallel, so the longer outage counts.
    return "hard_handover", max(1, round(3 * max(sums_s) * NS_PER_S))


def _import(job: Import) -> Series:
    series, seconds = read(job.path, job.options.capacity_mbps)
    announcements, job.notes = announced.of_changes(changes(seconds), job.options.reattach)
    job.metadata = {
        "constellation": "starlink-leoem",
        "altitude_km": ALTITUDE_KM,
        "attach": "nearest",
        **announcements,
    }
    job.faults = faults(seconds)
    return series


def _check(path: Path) -> tuple[int, list[Fault]]:
    seconds = read_log(path)
    return len(seconds), faults(seconds)


FORMAT = Format(
    "leoem",
    "a path log of LeoEM, with the outages that its emulator makes of handovers",
    (".log",),
    read=_import,
    check=_check,
    fault_kinds={
        "below-floor": "legs to the ground below the physical floor, altitude over the speed of light",
        "frozen": "user legs that stand still although the satellites move",
        "off-grid": "handovers off the re-selection grid",
    },
    options=("capacity_mbps",),
)
