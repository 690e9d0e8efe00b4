import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """A value and a baseline in the same unit, from the same machine and minute."""

    bench: str
    value: float
    unit: str
    baseline: float
    against: str
    bar: float | None = None
    """Minimum ratio of value to baseline; None without a requirement."""
    at_most: bool = False
    """Whether ``bar`` is a maximum."""

    @property
    def ratio(self) -> float:
        return self.value / self.baseline

    @property
    def holds(self) -> bool | None:
        """Whether the ratio meets its bar; None without one."""
        if self.bar is None:
            return None
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar

    def as_dict(self) -> Mapping[str, object]:
        """Return the row for `print`, with keys of a bar only if there is one."""
        row: dict[str, object] = {"bench": self.bench, "value": _rounded(self.value), "unit": self.unit}
        row |= {"baseline": _rounded(self.baseline), "ratio": _rounded(self.ratio), "against": self.against}
        if self.bar is not None:
            row |= {"bar": f"{'at most' if self.at_most else 'at least'} {self.bar:g}", "holds": self.holds}
        return row | {"machine": machine()}

    def print(self) -> None:
        print(json.dumps(self.as_dict()), flush=True)


@cache
def machine() -> str:
    """Return the processor's name and the number of usable cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else os.uname().machine}, {len(os.sched_getaffinity(0))} cores"


def _rounded(number: float) -> float:
    """Return the number with five significant digits: more are noise."""
    return float(f"{number:.5g}")
