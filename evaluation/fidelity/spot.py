"""Spot checks: one scenario of each suite also runs on the lab's kernel, to compare the simulator with it.

leogym evaluate SUITE --spot --backend lab --out FOLDER
leogym fidelity record FOLDER --keep
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from leogym.common.command_line import leogym_command
from leogym.evaluation.fidelity import golden
from leogym.evaluation.fidelity.against_kernel import Comparison, compare, redrawn

FOLDER = golden.FOLDER / "spot"
DRAWS = 20
"""Number of seeds in the simulator, to show the spread by chance: the kernel has one run."""


@dataclass(frozen=True)
class Row:
    """One scheme's run in the simulator and on the kernel.

    Ranges are the lowest and highest of the simulator's `DRAWS` seeds.
    """

    scheme: str
    goodput_mbps: tuple[float, float]
    """All flows' total: simulator with the kernel's seed, kernel."""
    goodput_range: tuple[float, float]
    goodput_error: float
    rtt_mean_ms: tuple[float | None, float | None]
    """First flow; None without a sample."""
    rtt_range: tuple[float, float] | None
    """None if no seed has a sample."""
    rtt_error: float
    """Relative error; NaN without a sample."""
    retransmit_rate: tuple[float | None, float | None]


@dataclass(frozen=True)
class SpotCheck:
    """A suite's spot check."""

    kernel: str
    command: str
    scenario: str
    duration_s: float
    rows: list[Row]
    draws: int = DRAWS


@cache
def of_suite(name: str) -> SpotCheck | None:
    """Return a suite's spot check; None if none is recorded."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return None
    recording = golden.read(path)
    first = recording.runs[0].scenario
    drawn = compare(redrawn(recording.runs, DRAWS))
    return SpotCheck(
        kernel=str(recording.provenance["kernel"]),
        command=leogym_command("evaluate", name, "--spot", "--backend", "lab"),
        scenario=first.name,
        duration_s=first.duration_s,
        rows=[_row(drawn[at : at + DRAWS]) for at in range(0, len(drawn), DRAWS)],
    )


def _row(drawn: Sequence[Comparison]) -> Row:
    compared = drawn[0]
    ours, theirs = compared.simulated, compared.run.flows
    goodputs = [_goodput_mbps(comparison.simulated) for comparison in drawn]
    rtts = [rtt for comparison in drawn if (rtt := comparison.simulated[0].rtt_mean_ms) is not None]
    return Row(
        scheme=compared.run.scheme,
        goodput_mbps=(_goodput_mbps(ours), _goodput_mbps(theirs)),
        goodput_range=(min(goodputs), max(goodputs)),
        goodput_error=compared.goodput,
        rtt_mean_ms=(ours[0].rtt_mean_ms, theirs[0].rtt_mean_ms),
        rtt_range=(min(rtts), max(rtts)) if rtts else None,
        rtt_error=compared.rtt_mean,
        retransmit_rate=(ours[0].retransmit_rate, theirs[0].retransmit_rate),
    )


def _goodput_mbps(flows: Sequence[golden.FlowFigures]) -> float:
    return sum(flow.goodput_mbps for flow in flows)
