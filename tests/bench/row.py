"""One result and the figure it is measured against."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """A measured value beside a baseline in the same unit."""

    bench: str
    value: float
    unit: str
    baseline: float
    against: str
    """Whose figure the baseline is."""

    def print(self) -> None:
        """Print the row as one line of JSON, with the ratio of value to baseline."""
        row = {**asdict(self), "ratio": round(self.value / self.baseline, 4), "value": round(self.value, 4)}
        print(json.dumps(row), flush=True)
