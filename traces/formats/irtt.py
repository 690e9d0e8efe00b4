"""The JSON of ``irtt client -o``, as LENS keeps it (commit 75d9bef): RTTs, one-way delays, lost probes.

An hour at 10 ms has 300 MB, so the round trips are read one after the other. Each has ``seqno``, ``lost``
("false", "true", "true_up" or "true_down"), the client's wall and monotonic time of sending, and ``delay``
with ``rtt``, ``send`` and ``receive`` in ns. Times are those of the monotonic clock, which nobody sets.
Without it they follow the sequence numbers. The one-way delays contain the difference of the two wall clocks.
`read` moves it so that both ways have the same least delay (`clocks.aligned`).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import clocks, leoreplayer, plausible
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import PROBE_OPTIONS, Format
from leogym.traces.formats.probes import Probes, imported
from leogym.traces.formats.source import Source
from leogym.traces.formats.tally import Tally, times

_LOST = ("false", "true", "true_up", "true_down")
_KEY = '"round_trips"'
_MAX_NS = 1 << 62
_LONGEST = 1 << 16  # characters of a round trip
_PROCESSING_NS = 10 * NS_PER_MS
"""Both one-way delays differ from the RTT by no more: by the server's time between them."""


@dataclass(frozen=True)
class _Item:
    """A value in the array of round trips, and the line on which it begins."""

    line: int
    value: Any


class _Text:
    """The file's text from a place on; reads on by lines."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lines = source.lines()
        self.text = ""
        self.line = 1  # of the text's first character
        self._last = ""

    def more(self) -> bool:
        """Append the next line; return False at the end of the file."""
        for number, line in self._lines:
            if not self.text:
                self.line = number
            self.text += f"{line}\n"
            self._last = line
            return True
        return False

    def more_to_a_brace(self) -> bool:
        """Append lines up to one that may end an object; return False at the end of the file."""
        more = self.more()
        while more and not self._last.lstrip().startswith("}") and len(self.text) <= _LONGEST:
            more = self.more()
        return more

    def drop(self, length: int) -> None:
        """Forget the first ``length`` characters."""
        self.line += self.text.count("\n", 0, length)
        self.text = self.text[length:]

    def skip_space(self) -> None:
        """Move on to the next character that is not white space."""
        while True:
            self.drop(len(self.text) - len(self.text.lstrip(" \t\r\n")))
            if self.text or not self.more():
                return

    def take(self, character: str, rule: str) -> None:
        """Move past ``character``; raise InputError if another one follows."""
        self.skip_space()
        if not self.text.startswith(character):
            raise self.source.error(self.line, "file", rule)
        self.drop(1)

    def peek(self) -> str:
        """Return the next character that is not white space, "" at the end."""
        self.skip_space()
        return self.text[:1]


def _round_trips(source: Source) -> Iterator[_Item]:
    text = _Text(source)
    rule = f"must be irtt's JSON, with an array {_KEY}"
    while _KEY not in text.text:
        text.drop(max(0, len(text.text) - len(_KEY)))
        if not text.more():
            raise source.error(text.line, "file", rule)
    text.drop(text.text.index(_KEY) + len(_KEY))
    text.take(":", rule)
    text.take("[", rule)
    decoder = json.JSONDecoder()
    if text.peek() == "]":
        return
    while True:
        text.skip_space()
        line = text.line
        while True:
            try:
                value, end = decoder.raw_decode(text.text)
                break
            except (ValueError, RecursionError):
                if len(text.text) > _LONGEST or not text.more_to_a_brace():
                    raise source.error(line, "round_trips", "must be an array of JSON objects") from None
        yield _Item(line, value)
        text.drop(end)
        if text.peek() == "]":
            return
        text.take(",", "round trips must be separated by commas")


def _value(item: _Item, *keys: str) -> Any:
    value: Any = item.value
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _integer(source: Source, item: _Item, *keys: str, low: int = -_MAX_NS) -> int:
    value = _value(item, *keys)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= _MAX_NS:
        raise source.error(item.line, ".".join(keys), f"must be an integer from {low} to {_MAX_NS}")
    return value


def _small(value: Any) -> int:
    """Return an integer that may be missing, then 0."""
    return value if isinstance(value, int) and 0 <= value <= _MAX_NS else 0


def _optional(source: Source, item: _Item, *keys: str) -> float:
    """Return an integer as a float, NaN where there is none."""
    return np.nan if _value(item, *keys) in (None, "") else float(_integer(source, item, *keys))


@dataclass
class _Trips:
    """Round trips in the order of the file: times and delays in ns, NaN if unknown."""

    number: list[int] = field(default_factory=list)
    wall: list[int] = field(default_factory=list)
    monotonic: list[int] = field(default_factory=list)
    rtt: list[float] = field(default_factory=list)
    up: list[float] = field(default_factory=list)
    down: list[float] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)  # index in `_LOST`


def read(path: Path, tally: Tally | None = None, floor_ns: float = 0.0) -> Probes:
    """Read a file.

    Args:
        path: the file.
        tally: counts what is not measured.
        floor_ns: RTTs below it are not measured.

    Raises:
        InputError: the file is not valid; the message names line and rule.
    """
    source, tally = Source(path), Tally("probes") if tally is None else tally
    trips, line = _Trips(), 1
    for item in _round_trips(source):
        line = item.line
        lost = _value(item, "lost")
        if isinstance(lost, bool):  # irtt before 0.9
            lost = str(lost).lower()
        if lost not in _LOST:
            raise source.error(line, "lost", f"must be one of {', '.join(_LOST)}")
        trips.number.append(_small(_value(item, "seqno")))
        trips.wall.append(_integer(source, item, "timestamps", "client", "send", "wall", low=0))
        trips.monotonic.append(_small(_value(item, "timestamps", "client", "send", "monotonic")))
        delays = [np.nan] * 3
        if lost == "false":
            delays = _delays(source, item, tally, floor_ns)
        for column, delay_ns in zip((trips.rtt, trips.up, trips.down), delays, strict=True):
            column.append(delay_ns)
        trips.lost.append(_LOST.index(lost))
        if len(trips.wall) > rows.MAX_ROWS:
            raise source.error(line, "file", f"more than {rows.MAX_ROWS} probes")
    if not trips.wall:
        raise source.error(line, "round_trips", "is empty")
    tally.total = len(trips.wall)
    order, time_ns = _times(trips, tally)
    if int(time_ns[-1]) > rows.MAX_PERIOD_S * NS_PER_S:
        raise source.error(line, "wall", f"more than {rows.MAX_PERIOD_S:g} s after the first probe")
    rtt_ns, up_ns, down_ns = (np.array(column)[order] for column in (trips.rtt, trips.up, trips.down))
    up_ns, down_ns = _one_way(rtt_ns, up_ns, down_ns, tally)
    lost = np.array(trips.lost)[order]
    start_ns = trips.wall[int(order[0])]
    return Probes(time_ns, start_ns, rtt_ns, up_ns, down_ns, lost > 0, lost == 2, lost == 3)


def _delays(source: Source, item: _Item, tally: Tally, floor_ns: float) -> list[float]:
    """Return RTT, delay up and delay down of an answered probe."""
    rtt_ns = _optional(source, item, "delay", "rtt")
    if rtt_ns > 2 * rows.MAX_DELAY_MS * NS_PER_MS:
        raise source.error(
            item.line, "delay.rtt", f"must be at most {2 * rows.MAX_DELAY_MS * NS_PER_MS:g} ns"
        )
    # Only clocks that stamp both ways give these.
    ways = [_optional(source, item, "delay", way) for way in ("send", "receive")]
    unmeasured = plausible.why_unmeasured(rtt_ns, floor_ns)
    if unmeasured is not None:
        tally.add(unmeasured, item.line)
        return [np.nan] * 3
    return [rtt_ns, *ways] if np.isfinite(ways).all() else [rtt_ns, np.nan, np.nan]


def _times(trips: _Trips, tally: Tally) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the probes' order of sending, and when they were sent since the first, in ns."""
    wall_ns, monotonic_ns, number = (
        np.array(column, dtype=np.int64) for column in (trips.wall, trips.monotonic, trips.number)
    )
    numbered = len(np.unique(number)) == len(number)
    order = np.argsort(number if numbered else wall_ns, kind="stable")
    wall_ns, monotonic_ns, number = wall_ns[order], monotonic_ns[order], number[order]
    if len(order) > 1 and monotonic_ns[0] > 0 and (np.diff(monotonic_ns) > 0).all():
        since_ns = monotonic_ns - monotonic_ns[0]
        off_ns = np.abs(wall_ns - wall_ns[0] - since_ns)
        if (off_ns > NS_PER_S).any():
            worst = int(np.argmax(off_ns > NS_PER_S))
            tally.remark(
                f"the wall clock is {(wall_ns[worst] - wall_ns[0] - since_ns[worst]) / NS_PER_S:+,.3f} s off "
                f"at seqno {number[worst]}: the time follows the monotonic clock"
            )
        return order, since_ns
    if numbered:
        steps = clocks.without_steps(number, wall_ns)
        if len(steps.before):
            tally.remark(steps.remark(number, "seqno"))
        wall_ns = steps.time_ns
    return order, np.maximum.accumulate(wall_ns - wall_ns[0])


def _one_way(
    rtt_ns: NDArray[np.float64], up_ns: NDArray[np.float64], down_ns: NDArray[np.float64], tally: Tally
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the one-way delays by clocks that agree, NaN where a clock was set during the round trip."""
    across = np.abs(up_ns + down_ns - rtt_ns) > np.maximum(_PROCESSING_NS, rtt_ns)
    tally.add("were under way when a wall clock was set: one-way delays unknown", None, int(across.sum()))
    up_ns, down_ns = np.where(across, np.nan, up_ns), np.where(across, np.nan, down_ns)
    aligned = clocks.aligned(up_ns, down_ns)
    if aligned.drifting:
        tally.remark("the two wall clocks drift apart, one-way delays fall below 0: half the RTT both ways")
        nothing = np.full(len(rtt_ns), np.nan)
        return nothing, nothing
    if aligned.steps:
        tally.remark(
            f"a wall clock was set {times(aligned.steps)}: one-way delays are aligned anew after each"
        )
    return aligned.up_ns, aligned.down_ns


FORMAT = Format(
    "irtt",
    "JSON of `irtt client -o`: RTTs, one-way delays, lost probes",
    (".json",),
    read=lambda job: imported(job, read(job.path, job.tally, job.floor_ns)),
    options=PROBE_OPTIONS,
    samples="probes",
    bin_ms=leoreplayer.INTERVAL_MS,
)
