"""Counts of samples that a reader leaves out or takes as unknown, by kind in one line for the user."""

_SINGULAR = {"have": "has", "are": "is", "were": "was", "warn": "warns"}
"""Verbs that kinds begin with, and their form after 1."""


class Tally:
    """Counts of samples and lines by kind, and remarks about the whole file.

    A kind is a clause that begins with a verb in the plural, such as ``have an RTT of 0: not measured``.
    """

    def __init__(self, samples: str = "samples") -> None:
        """Name the reader's samples, in the plural: ``samples``, ``probes`` or ``rows``."""
        self._samples = samples
        self._counts: dict[str, int] = {}
        self._lines: dict[str, int] = {}
        self._line_counts: dict[str, int] = {}
        self.total = 0
        """Number of samples in the file."""
        self.remarks: list[str] = []
        """Lines about the whole file, such as a step of its clock."""

    def add(self, kind: str, line: int | None = None, count: int = 1) -> None:
        """Count samples of a kind; ``line`` is that of the first, from 1, if it is known."""
        if count:
            self._counts[kind] = self._counts.get(kind, 0) + count
            if line is not None:
                self._lines.setdefault(kind, line)

    def add_line(self, kind: str, line: int) -> None:
        """Count a line of the file that holds no sample."""
        self._line_counts[kind] = self._line_counts.get(kind, 0) + 1
        self._lines.setdefault(kind, line)

    def count(self, kind: str) -> int:
        """Return the number of samples of a kind."""
        return self._counts.get(kind, 0)

    def remark(self, text: str) -> None:
        """Add a line about the whole file."""
        self.remarks.append(text)

    def summary(self) -> str:
        """Return all counts as one line, empty without any."""
        parts = [
            f"{count:,} of {self.total:,} {self._samples} {agreeing(kind, count)}{self._first(kind)}"
            for kind, count in self._counts.items()
        ]
        parts += [
            f"{count:,} {'line' if count == 1 else 'lines'} {agreeing(kind, count)}{self._first(kind)}"
            for kind, count in self._line_counts.items()
        ]
        return "; ".join(parts)

    def notes(self, source: object) -> list[str]:
        """Return the remarks and, as the last one, the summary; each names ``source``."""
        summary = self.summary()
        return [f"{source}: {text}" for text in [*self.remarks, *([summary] if summary else [])]]

    def _first(self, kind: str) -> str:
        line = self._lines.get(kind)
        if line is None:
            return ""
        alone = (self._counts | self._line_counts)[kind] == 1
        return f" (line {line})" if alone else f" (the first in line {line})"


def times(count: int) -> str:
    """Return how often something happens, in words."""
    return "once" if count == 1 else f"{count:,} times"


def agreeing(kind: str, count: int) -> str:
    """Return a clause with its verb in the number of ``count``."""
    verb, _, clause = kind.partition(" ")
    return f"{_SINGULAR.get(verb, verb) if count == 1 else verb} {clause}"
