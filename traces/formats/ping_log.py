"""The log of ``ping -D``, as LENS, LEOViz and LeoReplayer's recorder keep it.

Probes have numbers, which wrap after 65,535. Numbers without an answer are lost probes, also before the first
answer (below a log's header) and after the last one (named by ``-O``, by errors, or counted by the summary).
They were sent between their neighbours, at even intervals. Steps of the clock do not count; answers may come
out of order and twice.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import clocks, leoreplayer, ping_lines, plausible
from leogym.traces.formats import series as rows
from leogym.traces.formats.format import PROBE_OPTIONS, Format
from leogym.traces.formats.ping_lines import Kind, Line
from leogym.traces.formats.probes import Probes, imported, of_round_trips
from leogym.traces.formats.source import Source
from leogym.traces.formats.tally import Tally

_WRAP = 1 << 16
_MAX_SECONDS = (1 << 62) / NS_PER_S
_INTERVAL_NS = NS_PER_S  # ping's own, if neither times nor the summary tell it
_IN_FLIGHT = 1000  # probes at most
_LONG = 20_000
"""After a pause of so many intervals the time tells how often numbers wrapped."""
_UNREADABLE_SHARE = 0.1
_SECOND_RUN = "another run of ping begins: import each run on its own"


@dataclass
class _Log:
    """The lines about probes, in their order."""

    sequence: list[int] = field(default_factory=list)  # as written
    at_ns: list[int] = field(default_factory=list)
    rtt_ns: list[float] = field(default_factory=list)  # NaN without one
    kind: list[Kind] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    headed: bool = False
    transmitted: int | None = None
    duration_ms: int | None = None


def read(path: Path, tally: Tally | None = None, floor_ns: float = 0.0) -> Probes:
    """Read a log.

    Args:
        path: the log.
        tally: counts what is left out or not measured.
        floor_ns: RTTs below it are not measured.

    Raises:
        InputError: the file is not valid; the message names line and rule.
    """
    source, tally = Source(path), Tally("probes") if tally is None else tally
    log = _lines(source, tally, floor_ns)
    last_line = log.line[-1]
    sequence = _unwrapped(source, log)
    answers: dict[int, int] = {}
    for index, number in enumerate(sequence):
        if log.kind[index] not in (Kind.ANSWER, Kind.UNTIMED, Kind.DUPLICATE):
            continue
        earlier = answers.setdefault(number, index)
        apart_ns = abs(_sent_ns(log, index) - _sent_ns(log, earlier))
        if log.kind[index] is Kind.ANSWER and apart_ns > NS_PER_S / 2:
            raise source.error(log.line[index], "icmp_seq", f"{log.sequence[index]} again: {_SECOND_RUN}")
    first, last = _range(log, sequence)
    if last - first >= rows.MAX_ROWS:
        raise source.error(last_line, "file", f"more than {rows.MAX_ROWS} probes")
    every = np.arange(first, last + 1)
    tally.total = len(every)
    rtt_ns, lost = np.full(len(every), np.nan), np.ones(len(every), dtype=bool)
    anchors: dict[int, int] = {}
    for number, index in answers.items():
        rtt_ns[number - first], lost[number - first] = log.rtt_ns[index], False
        if not np.isnan(log.rtt_ns[index]):
            anchors[number] = _sent_ns(log, index)
    for index, kind in enumerate(log.kind):
        # Written when the next probe is sent.
        if kind is Kind.NO_ANSWER and sequence[index] < last and log.at_ns[index] >= 0:
            anchors.setdefault(sequence[index] + 1, log.at_ns[index])
    sent_numbers = np.array(sorted(anchors), dtype=np.int64)
    sent_ns = np.array([anchors[number] for number in sent_numbers.tolist()], np.int64)
    steps = clocks.without_steps(sent_numbers, sent_ns)
    if len(steps.before):
        tally.remark(steps.remark(sent_numbers % _WRAP, "icmp_seq"))
        _drop_across_steps(steps, sent_numbers - first, rtt_ns, tally)
    unanswered = {number for number, kind in zip(sequence, log.kind, strict=True) if kind is Kind.ERROR}
    tally.add(
        "have an error of a router or the host for an answer: lost", None, len(unanswered - set(answers))
    )
    # Clocks and roundings may put a probe before its predecessor.
    time_ns = np.maximum.accumulate(_times_ns(log, steps, sent_numbers, every))
    if time_ns[-1] - time_ns[0] > rows.MAX_PERIOD_S * NS_PER_S:
        raise source.error(last_line, "time", f"more than {rows.MAX_PERIOD_S:g} s after the first probe")
    return of_round_trips(time_ns, rtt_ns, lost)


def _sent_ns(log: _Log, index: int) -> int:
    rtt_ns = log.rtt_ns[index]
    return log.at_ns[index] - (0 if np.isnan(rtt_ns) else round(rtt_ns))


def _lines(source: Source, tally: Tally, floor_ns: float) -> _Log:
    log = _Log()
    unreadable: list[int] = []
    beyond: tuple[int, str] | None = None
    summary_next = False
    number = 0
    for number, text in source.rows():
        line = ping_lines.parse(text.strip())
        if summary_next and line.kind is not Kind.SUMMARY:
            log.transmitted, log.duration_ms = ping_lines.summary(text) or (None, None)
            summary_next = False
            continue
        if line.kind in (Kind.HEADER, Kind.ANSWER) and (
            log.transmitted is not None or (line.kind is Kind.HEADER and log.line)
        ):
            raise source.error(number, "line", _SECOND_RUN)
        if line.kind is Kind.HEADER:
            log.headed = True
        elif line.kind is Kind.SUMMARY:
            summary_next = True
        elif line.kind is Kind.CLOCK:
            tally.add_line("warn that the time of day goes back", number)
        elif line.kind is Kind.DUMP:
            tally.add_line("are of a dump of wrong data: left out", number)
        elif line.kind is Kind.UNDATED:
            raise source.error(number, "line", "has no [time]: log with ping -D (of Linux's iputils)")
        elif line.kind is Kind.UNREADABLE:
            unreadable.append(number)
            tally.add_line("are none of ping -D: left out", number)
        elif line.sequence:
            beyond = _add(source, log, number, line, tally, floor_ns) or beyond
    readable = sum(not np.isnan(rtt_ns) for rtt_ns in log.rtt_ns)
    if readable == 0 and beyond is not None:
        source.number(beyond[0], "rtt", beyond[1], 0, 2 * rows.MAX_DELAY_MS)
    if unreadable and (readable == 0 or len(unreadable) > max(1, _UNREADABLE_SHARE * len(log.line))):
        rule = "must be a line of ping -D: [SECONDS] … icmp_seq=N … time=T ms (log with LC_ALL=C ping -D)"
        raise source.error(unreadable[0], "line", rule)
    if readable == 0:
        tally.total = len(log.line)
        why = tally.summary()
        raise source.error(number, "file", f"has no answer with an RTT{f': {why}' if why else ''}")
    return log


def _add(
    source: Source, log: _Log, number: int, line: Line, tally: Tally, floor_ns: float
) -> tuple[int, str] | None:
    """Add a line about a probe; return line and text of an RTT that is too long."""
    sequence = source.integer(number, "icmp_seq", line.sequence, 0, _WRAP - 1)
    # Ping writes microseconds, which are not exact in floating-point seconds since 1970.
    at_s = line.at_s.replace(",", ".", 1)
    at_ns = round(source.number(number, "time", at_s, 0, _MAX_SECONDS) * 1e6) * 1000 if at_s else -1
    rtt_ns, beyond = np.nan, None
    if line.kind in (Kind.ANSWER, Kind.DUPLICATE):
        rtt_ms = source.number(number, "rtt", line.rtt_ms, 0, _MAX_SECONDS)
        if rtt_ms > 2 * rows.MAX_DELAY_MS:
            beyond = number, line.rtt_ms
        else:
            rtt_ns = float(round(rtt_ms * NS_PER_MS))
    unmeasured = None
    if line.kind is Kind.ANSWER:
        if beyond is not None:
            unmeasured = f"have an RTT above {2 * rows.MAX_DELAY_MS:g} ms: not measured"
        else:
            unmeasured = plausible.why_unmeasured(rtt_ns, floor_ns)
    elif line.kind is Kind.UNTIMED:
        unmeasured = "have an answer without a readable time=: not measured"
    elif line.kind is Kind.DUPLICATE:
        tally.add("are answered twice: the first answer counts", number)
    elif line.kind is Kind.CORRUPTED:
        tally.add("have an answer with a wrong checksum: lost", number)
    if unmeasured is not None:
        tally.add(unmeasured, number)
        rtt_ns = np.nan
    log.sequence.append(sequence)
    log.at_ns.append(at_ns)
    log.rtt_ns.append(rtt_ns)
    log.kind.append(line.kind)
    log.line.append(number)
    return beyond


def _unwrapped(source: Source, log: _Log) -> list[int]:
    """Return the numbers without wraps: the first as written, the others nearest to the newest."""
    every_ns = _usual_interval_ns(log)
    unwrapped: list[int] = []
    newest, newest_ns = log.sequence[0], _sent_ns(log, 0)
    for index, written in enumerate(log.sequence):
        expected, sent_ns = newest, _sent_ns(log, index)
        if every_ns > 0 and sent_ns >= 0 and newest_ns >= 0:
            passed = (sent_ns - newest_ns) / every_ns
            if _LONG < passed < rows.MAX_ROWS:
                by_time = _nearest(written, newest + round(passed))
                # Otherwise the clock was set.
                if abs(by_time - newest - passed) <= max(100, passed / 50):
                    expected = by_time
        sequence = _nearest(written, expected)
        unwrapped.append(sequence)
        if sequence >= newest:
            newest, newest_ns = sequence, sent_ns if sent_ns >= 0 else newest_ns
    return unwrapped


def _nearest(written: int, expected: int) -> int:
    return expected + (written - expected + _WRAP // 2) % _WRAP - _WRAP // 2


def _usual_interval_ns(log: _Log) -> float:
    """Return the usual time between two answered probes in a row, 0 if there are none."""
    answered = np.flatnonzero(np.isfinite(log.rtt_ns))
    sequence = np.array(log.sequence, dtype=np.int64)[answered]
    sent_ns = np.array([_sent_ns(log, index) for index in answered.tolist()], dtype=np.int64)
    apart_ns = np.diff(sent_ns)[np.diff(sequence) % _WRAP == 1]
    usual_ns = np.sort(apart_ns[apart_ns > 0])
    return float(usual_ns[(len(usual_ns) - 1) // 2]) if len(usual_ns) else 0.0


def _range(log: _Log, sequence: list[int]) -> tuple[int, int]:
    """Return the first and the last number that were sent."""
    first, last = min(sequence), max(sequence)
    if log.headed and first <= _WRAP // 2:
        first = min(1, first)
    if log.transmitted is not None:
        # Without the beginning of a log, the total's remainder tells the last number.
        missing = first + log.transmitted - 1 - last if log.headed else (log.transmitted - last) % _WRAP
        if 0 < missing < (rows.MAX_ROWS if log.headed else _WRAP // 2):
            last += missing
    return first, last


def _times_ns(log: _Log, steps: clocks.Steps, sent_numbers: clocks.Ints, every: clocks.Ints) -> clocks.Ints:
    """Return when every probe was sent: between the known ones, and at the usual interval beyond them."""
    interval_ns = steps.interval_ns
    if interval_ns == 0 and log.duration_ms and log.transmitted and log.transmitted > 1:
        interval_ns = log.duration_ms * NS_PER_MS / (log.transmitted - 1)
    interval_ns = interval_ns or _INTERVAL_NS
    start_ns = int(steps.time_ns[0])
    after_ns = np.interp(every, sent_numbers, steps.time_ns - start_ns)
    beyond = np.minimum(every - sent_numbers[0], 0) + np.maximum(every - sent_numbers[-1], 0)
    after_ns += beyond * interval_ns
    return np.round(after_ns).astype(np.int64) + start_ns


def _drop_across_steps(
    steps: clocks.Steps, sent_indices: clocks.Ints, rtt_ns: clocks.Floats, tally: Tally
) -> None:
    """Forget the RTTs of probes on their way when the clock went forwards: the step is in them."""
    dropped = 0
    for before, by_ns in zip(steps.before.tolist(), steps.by_ns.tolist(), strict=True):
        near = sent_indices[max(0, before - _IN_FLIGHT) : before + 1]
        across = near[rtt_ns[near] > 0.9 * by_ns] if by_ns > 0 else near[:0]
        rtt_ns[across] = np.nan
        dropped += len(across)
    tally.add("were under way when the clock stepped: not measured", None, dropped)


FORMAT = Format(
    "ping",
    "a log of `ping -D`: RTTs, lost probes",
    (".txt", ".log"),
    read=lambda job: imported(job, read(job.path, job.tally, job.floor_ns)),
    options=PROBE_OPTIONS,
    samples="probes",
    bin_ms=leoreplayer.INTERVAL_MS,
)
