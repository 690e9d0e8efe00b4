"""One result, what was measured beside it, and the ratio that must hold."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """A measured value beside a baseline in the same unit, taken on the same machine in the same minute."""

    bench: str
    value: float
    unit: str
    baseline: float
    against: str
    """What the baseline is."""
    bar: float | None = None
    """The ratio of value to baseline that must hold, at least; None where a row only tells."""
    at_most: bool = False
    """Less is better: ``bar`` is the largest ratio that holds."""

    @property
    def ratio(self) -> float:
        """Value over baseline."""
        return self.value / self.baseline

    @property
    def holds(self) -> bool | None:
        """Whether the ratio is on the right side of its bar; None without a bar."""
        if self.bar is None:
            return None
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar

    def as_dict(self) -> Mapping[str, object]:
        """Return what `print` prints; keys about a bar only where there is one."""
        row: dict[str, object] = {"bench": self.bench, "value": _rounded(self.value), "unit": self.unit}
        row |= {"baseline": _rounded(self.baseline), "ratio": _rounded(self.ratio), "against": self.against}
        if self.bar is not None:
            row |= {"bar": f"{'at most' if self.at_most else 'at least'} {self.bar:g}", "holds": self.holds}
        return row | {"machine": machine()}

    def print(self) -> None:
        """Print the row as one line of JSON, at once, whatever standard output is."""
        print(json.dumps(self.as_dict()), flush=True)


@cache
def machine() -> str:
    """Name this machine: its processor and how many cores this process may use."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def _rounded(number: float) -> float:
    """Return the number with five digits: more would be noise."""
    return float(f"{number:.5g}")
