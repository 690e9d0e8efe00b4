"""A scheme's distance from the kernel over its single-flow runs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import leosim
import numpy as np

from leogym.evaluation.fidelity import golden
from leogym.evaluation.fidelity.against_kernel import Comparison, compare
from leogym.evaluation.recorded.results import Results

SINGLE = "fidelity"
"""The suite of single flows with schemes that stock kernels have."""
SINGLES = (SINGLE, f"{SINGLE}-bbr3", f"{SINGLE}-quic", f"{SINGLE}-quic-leo")
"""The suites of single flows."""


@dataclass(frozen=True)
class Fidelity:
    """A simulated scheme's distance from the kernel's over its single-flow runs."""

    scheme: str
    runs: int
    goodput_median: float
    goodput_p90: float
    rtt_median: float
    rtt_p90: float
    rtt_p95_median: float
    retransmit_median: float
    startup_median_s: float
    cwnd_median: float


def fidelity(schemes: Collection[str]) -> list[Fidelity]:
    """Return the fidelity of the schemes that the golden files have, in the given order."""
    return [distance for scheme in schemes if (distance := _of_scheme(scheme)) is not None]


def of_results(results: Results) -> list[Fidelity]:
    """Return the fidelity of an evaluation's simulated schemes."""
    if "simulator" not in set(results.runs["backend"]):
        return []
    return fidelity(results.schemes)


def kernel() -> str:
    """Return the kernel version of the single-flow golden file."""
    return str(golden.read(golden.FOLDER / f"{SINGLE}.json").provenance["kernel"])


def summary(scheme: str, compared: Sequence[Comparison]) -> Fidelity:
    """Return a scheme's fidelity from its comparisons."""

    def median(values: Iterable[float], share: float = 0.5) -> float:
        magnitudes = np.abs([value for value in values if not np.isnan(value)])
        if not len(magnitudes):
            return float("nan")
        # Between two infinite values there is nothing to interpolate.
        method = "linear" if np.isfinite(magnitudes).all() else "higher"
        return float(np.quantile(magnitudes, share, method=method))

    return Fidelity(
        scheme,
        len(compared),
        median(comparison.goodput for comparison in compared),
        median((comparison.goodput for comparison in compared), 0.9),
        median(comparison.rtt_mean for comparison in compared),
        median((comparison.rtt_mean for comparison in compared), 0.9),
        median(comparison.rtt_p95 for comparison in compared),
        median(comparison.retransmit for comparison in compared),
        median(comparison.startup_s for comparison in compared),
        median(comparison.cwnd for comparison in compared),
    )


@cache
def _of_scheme(scheme: str) -> Fidelity | None:
    if scheme not in {*leosim.schemes(), *leosim.stack_schemes()}:
        return None
    paths = [path for name in SINGLES if (path := golden.FOLDER / f"{name}.json").exists()]
    runs = [run for path in paths for run in golden.read(path).runs if run.scheme == scheme]
    return summary(scheme, compare(runs)) if runs else None
