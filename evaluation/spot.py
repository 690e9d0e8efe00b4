"""Spot checks: of each suite one scenario also on the lab's kernel, and how far the simulator is from it.

python evaluate.py SUITE --spot --backend lab --out FOLDER
python -m evaluation.fidelity record FOLDER --keep
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from evaluation import golden
from evaluation.fidelity.comparison import Comparison, compare

FOLDER = golden.FOLDER / "spot"


@dataclass(frozen=True)
class Row:
    """One scheme's run, in the simulator and on the kernel."""

    scheme: str
    goodput_mbps: tuple[float, float]
    """Of all flows together: simulator, kernel."""
    goodput_error: float
    """Relative."""
    rtt_mean_ms: tuple[float | None, float | None]
    """Of the first flow; None without a sample."""
    rtt_error: float
    """Relative; NaN without a sample."""
    retransmit_rate: tuple[float | None, float | None]
    """Of the first flow."""


@dataclass(frozen=True)
class SpotCheck:
    """What the lab did with a suite."""

    kernel: str
    """Its version."""
    command: str
    scenario: str
    duration_s: float
    rows: list[Row]


@cache
def of_suite(name: str) -> SpotCheck | None:
    """Return a suite's spot check; None where there is no record of one."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return None
    found = golden.read(path)
    first = found.runs[0].scenario
    return SpotCheck(
        kernel=str(found.provenance["kernel"]),
        command=f"python evaluate.py {name} --spot --backend lab",
        scenario=first.name,
        duration_s=first.duration_s,
        rows=[_row(one) for one in compare(found.runs)],
    )


def _row(compared: Comparison) -> Row:
    ours, theirs = compared.simulated, compared.run.flows
    return Row(
        scheme=compared.run.scheme,
        goodput_mbps=(
            sum(flow.goodput_mbps for flow in ours),
            sum(flow.goodput_mbps for flow in theirs),
        ),
        goodput_error=compared.goodput,
        rtt_mean_ms=(ours[0].rtt_mean_ms, theirs[0].rtt_mean_ms),
        rtt_error=compared.rtt_mean,
        retransmit_rate=(ours[0].retransmit_rate, theirs[0].retransmit_rate),
    )
