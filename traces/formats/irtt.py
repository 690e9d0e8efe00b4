"""The JSON of ``irtt client -o``, as LENS keeps it (commit 75d9bef): RTTs, one-way delays, lost probes.

An hour at 10 ms has 300 MB, so the round trips are read one after the other. Each has ``lost`` ("false",
"true", "true_up" or "true_down"), the client's wall time of sending, and ``delay`` with ``rtt``, ``send`` and
``receive`` in ns. The one-way delays contain the difference of the two clocks; `read` moves it so that both
ways have the same least delay.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leogym.configs.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats import series as rows
from leogym.traces.formats.probes import Probes
from leogym.traces.formats.source import Source

_LOST = ("false", "true", "true_up", "true_down")
_KEY = '"round_trips"'
_MAX_NS = 1 << 62
_LONGEST = 1 << 16  # characters of a round trip


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

    def take(self, character: str, what: str) -> None:
        """Move past ``character``; raise InputError if another one follows."""
        self.skip_space()
        if not self.text.startswith(character):
            raise self.source.error(self.line, "file", what)
        self.drop(1)

    def peek(self) -> str:
        """Return the next character that is not white space, "" at the end."""
        self.skip_space()
        return self.text[:1]


def _round_trips(source: Source) -> Iterator[_Item]:
    text = _Text(source)
    what = f"must be irtt's JSON, with an array {_KEY}"
    while _KEY not in text.text:
        text.drop(max(0, len(text.text) - len(_KEY)))
        if not text.more():
            raise source.error(text.line, "file", what)
    text.drop(text.text.index(_KEY) + len(_KEY))
    text.take(":", what)
    text.take("[", what)
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


def _integer(source: Source, item: _Item, *keys: str, low: int = -_MAX_NS) -> int:
    value: Any = item.value
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= _MAX_NS:
        raise source.error(item.line, ".".join(keys), f"must be an integer from {low} to {_MAX_NS}")
    return value


def read(path: Path) -> Probes:
    """Read a file; raise InputError with line and rule if it is invalid."""
    source = Source(path)
    # Sent, RTT, up, down, loss of each round trip.
    found: list[tuple[int, float, float, float, int]] = []
    line = 1
    longest_ns = 2 * rows.MAX_DELAY_MS * NS_PER_MS
    for item in _round_trips(source):
        line = item.line
        lost = item.value.get("lost") if isinstance(item.value, dict) else None
        if lost not in _LOST:
            raise source.error(line, "lost", f"must be one of {', '.join(_LOST)}")
        sent_ns = _integer(source, item, "timestamps", "client", "send", "wall", low=0)
        rtt_ns = up_ns = down_ns = np.nan
        if lost == "false":
            rtt_ns = float(_integer(source, item, "delay", "rtt", low=0))
            if rtt_ns > longest_ns:
                raise source.error(line, "delay.rtt", f"must be at most {longest_ns:g} ns")
            # Only clocks that stamp both ways give these.
            delays = item.value["delay"]
            if "send" in delays and "receive" in delays:
                up_ns = float(_integer(source, item, "delay", "send"))
                down_ns = float(_integer(source, item, "delay", "receive"))
        found.append((sent_ns, rtt_ns, up_ns, down_ns, _LOST.index(lost)))
        if len(found) > rows.MAX_ROWS:
            raise source.error(line, "file", f"more than {rows.MAX_ROWS} probes")
    if not found:
        raise source.error(line, "round_trips", "is empty")
    sent_ns = np.array([one[0] for one in found], dtype=np.int64)
    rtt_ns, up_ns, down_ns = (np.array([one[column] for one in found]) for column in (1, 2, 3))
    lost = np.array([one[4] for one in found])
    order = np.argsort(sent_ns, kind="stable")
    start_ns = int(sent_ns[order[0]])
    if int(sent_ns[order[-1]]) - start_ns > rows.MAX_PERIOD_S * NS_PER_S:
        raise source.error(line, "wall", f"more than {rows.MAX_PERIOD_S:g} s after the first probe")
    if np.isfinite(up_ns).any():
        ahead_ns = (np.nanmin(up_ns) - np.nanmin(down_ns)) / 2
        up_ns, down_ns = up_ns - ahead_ns, down_ns + ahead_ns
    return Probes(
        (sent_ns - start_ns)[order],
        start_ns,
        rtt_ns[order],
        up_ns[order],
        down_ns[order],
        (lost > 0)[order],
        (lost == 2)[order],
        (lost == 3)[order],
    )
