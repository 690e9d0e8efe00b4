"""The log of ``ping -D``, as LENS, LEOViz and LeoReplayer's recorder keep it.

Each answer is a line ``[SECONDS] 64 bytes from HOST: icmp_seq=N ttl=63 time=60.6 ms``, with the time of the
answer in brackets. Missing numbers are lost probes; they were sent between their neighbours. Numbers wrap
after 65,535. Answers may come out of order and twice.
"""

import re
from pathlib import Path

import numpy as np

from leogym.configs.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import series as rows
from leogym.traces.formats.probes import Probes, of_round_trips
from leogym.traces.formats.source import Source

_ANSWER = re.compile(r"\[([0-9.]+)\] \d+ bytes from \S.*?: icmp_seq=(\d+) .*?time=([0-9.]+) ms( \(DUP!\))?$")
_UNDATED = re.compile(r"\d+ bytes from ")
# Beginnings of lines that tell nothing about a probe, or only that it is lost.
_OTHER = re.compile(
    r"$|PING |ping: |--- |rtt |round-trip |pipe |\d+ packets transmitted|"
    r"(\[[0-9.]+\] )?(no answer yet for |From |\d+ bytes from .* \(truncated\))"
)
_WRAP = 1 << 16
_MAX_SECONDS = (1 << 62) / NS_PER_S


def read(path: Path) -> Probes:
    """Read a log; raise InputError with line and rule if it is invalid."""
    source = Source(path)
    answers: dict[int, tuple[int, int]] = {}
    number, newest = 0, -1
    for number, line in source.lines():
        text = line.strip()
        found = _ANSWER.match(text)
        if found is None:
            if _UNDATED.match(text):
                raise source.error(number, "line", "has no [time]: log with ping -D")
            if _OTHER.match(text) is None:
                raise source.error(
                    number, "line", "must be a line of ping -D: [SECONDS] … icmp_seq=N … time=T ms"
                )
            continue
        at_s, written, rtt_ms, twice = found.groups()
        # Ping writes microseconds, which are not exact in floating-point seconds since 1970.
        at_ns = round(source.number(number, "time", at_s, 0, _MAX_SECONDS) * 1e6) * 1000
        rtt_ns = round(source.number(number, "rtt", rtt_ms, 0, 2 * rows.MAX_DELAY_MS) * NS_PER_MS)
        wrapped = source.integer(number, "icmp_seq", written, 0, _WRAP - 1)
        if newest < 0:
            newest = wrapped
        sequence = newest + (wrapped - newest + _WRAP // 2) % _WRAP - _WRAP // 2
        if twice is not None or sequence in answers:
            continue
        answers[sequence] = (at_ns - rtt_ns, rtt_ns)
        newest = max(newest, sequence)
    if not answers:
        raise source.error(number, "file", "has no answer")
    known = np.array(sorted(answers), dtype=np.int64)
    if known[-1] - known[0] >= rows.MAX_ROWS:
        raise source.error(number, "file", f"more than {rows.MAX_ROWS} probes")
    sent_ns, rtts_ns = np.array([answers[sequence] for sequence in known.tolist()], dtype=np.int64).T
    every = np.arange(known[0], known[-1] + 1)
    rtt_ns = np.full(len(every), np.nan)
    rtt_ns[known - known[0]] = rtts_ns
    first_ns = sent_ns[0]
    # Clocks and roundings may put a probe before its predecessor.
    time_ns = np.maximum.accumulate(np.interp(every, known, sent_ns - first_ns))
    if time_ns[-1] > rows.MAX_PERIOD_S * NS_PER_S:
        raise source.error(number, "time", f"more than {rows.MAX_PERIOD_S:g} s after the first probe")
    return of_round_trips(np.round(time_ns).astype(np.int64) + int(first_ns), rtt_ns)
