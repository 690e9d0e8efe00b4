"""Parse a line of Linux's ``ping -D`` in any language of iputils.

Answers are ``[SECONDS] 64 bytes from HOST: icmp_seq=N ttl=63 time=60.6 ms``, with the time of the answer in
brackets. Other languages translate the words, but not ``icmp_seq`` and ``ttl``; some builds write a decimal
comma. ping adds remarks in parentheses, errors of routers, lost probes (``-O``), warnings and a summary.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """The subject of a line."""

    ANSWER = auto()  # with an RTT
    UNTIMED = auto()  # an answer without one
    DUPLICATE = auto()
    CORRUPTED = auto()  # an answer with a wrong checksum, which ping does not count
    NO_ANSWER = auto()  # yet: written when the next probe is sent
    ERROR = auto()  # of a router or of the own host, about a probe
    HEADER = auto()
    SUMMARY = auto()  # the line before the number of probes
    DUMP = auto()  # of wrong data
    CLOCK = auto()  # a warning that the time of day goes back
    OTHER = auto()  # tells nothing about a probe
    UNDATED = auto()  # an answer without a time
    UNREADABLE = auto()


@dataclass(frozen=True)
class Line:
    """A line: its kind and the texts in it, empty where there are none."""

    kind: Kind
    at_s: str = ""
    sequence: str = ""
    rtt_ms: str = ""
    remark: str = ""


_DATED = re.compile(r"\[([0-9.,]+)\] ?(.*)")
_SEQUENCE = re.compile(r"\bicmp_[rs]eq=(\d+)(.*)")
_RTT = re.compile(r"(?: time|ttl=\d+ +[^\s=]+) ?= ?(\d+(?:[.,]\d+)?) ?((?!\d)\w+)(.*)")
_TTL = re.compile(r"\bttl=\d+")
_BYTES = re.compile(r"\d+ ")
_REMARKS = re.compile(r"( \([^()]*\))*$")
_ANSWER_WITHOUT_TIME = re.compile(r".*\b(icmp_[rs]eq|seq|ttl|TTL)=\d")
_ERROR_WITHOUT_TIME = re.compile(r"(From|no answer yet for) ")
_DUMP = re.compile(r"wrong data byte|#\d+(\s+[0-9a-f]{1,2})+$")
_CLOCK = re.compile(r"(ping6?: )?Warning: time of day goes back")
_OTHER = re.compile(
    r"$|ping6?: |rtt |round-trip |, ?pipe |pipe |\d+ packets transmitted|\d+/\d+ packets, |"
    r"WARNING: |Warning: |(RR|TS|NOP|LSRR|SSRR|EOL):?|ai->ai_family|sock\d?\.fd|connect: "
)


def parse(text: str) -> Line:
    """Parse a line without spaces around."""
    dated = _DATED.match(text)
    if dated is None:
        return _undated(text.removeprefix("^C").strip())
    at_s, message = dated.groups()
    named = _SEQUENCE.search(message)
    if named is None:
        # Verbose pings write other hosts' messages, which name no probe.
        return Line(Kind.OTHER if message.startswith("From ") else Kind.UNREADABLE, at_s)
    sequence, tail = named.groups()
    timed = _RTT.search(tail)
    if timed is not None:
        return _answer(at_s, sequence, *timed.groups())
    if _TTL.search(tail) or _BYTES.match(message):
        return Line(Kind.UNTIMED, at_s, sequence, remark=tail.strip())
    kind = Kind.ERROR if tail.strip() else Kind.NO_ANSWER
    return Line(kind, at_s, sequence, remark=tail.strip())


def _answer(at_s: str, sequence: str, rtt_ms: str, unit: str, tail: str) -> Line:
    # Latin languages abbreviate a millisecond by ms; others translate it.
    if (unit.isascii() and not unit.startswith("m")) or _REMARKS.match(tail) is None:
        return Line(Kind.UNREADABLE, at_s)
    remark = tail.strip()
    kind = Kind.ANSWER
    if "DUP" in remark:
        kind = Kind.DUPLICATE
    elif "CHECKSUM" in remark:
        kind = Kind.CORRUPTED
    elif remark not in ("", "(DIFFERENT ADDRESS!)"):
        kind = Kind.UNTIMED  # in another language it may say that the checksum is wrong
    return Line(kind, at_s, sequence, rtt_ms.replace(",", "."), remark)


def _undated(text: str) -> Line:
    if text.startswith("PING "):
        return Line(Kind.HEADER)
    if text.startswith("--- "):
        return Line(Kind.SUMMARY)
    if _CLOCK.match(text):
        return Line(Kind.CLOCK)
    if _DUMP.match(text):
        return Line(Kind.DUMP)
    error = _SEQUENCE.search(text) if _ERROR_WITHOUT_TIME.match(text) else None
    if error is not None:
        return Line(Kind.ERROR if error[2].strip() else Kind.NO_ANSWER, "", error[1], remark=error[2].strip())
    if _ANSWER_WITHOUT_TIME.match(text):
        return Line(Kind.UNDATED)
    return Line(Kind.OTHER if _OTHER.match(text) else Kind.UNREADABLE)


_TRANSMITTED = re.compile(r"(\d+)\D+\d+")
_DURATION = re.compile(r"(\d+) ?ms$")


def summary(text: str) -> tuple[int, int | None] | None:
    """Return the number of probes and the time from the first to the last in ms, from the summary's line."""
    transmitted, duration = _TRANSMITTED.match(text), _DURATION.search(text)
    if transmitted is None or len(transmitted[1]) > 10:
        return None
    has_duration = duration is not None and len(duration[1]) <= 12
    return int(transmitted[1]), int(duration[1]) if duration is not None and has_duration else None
