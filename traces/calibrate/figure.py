"""The picture of a calibration: data and the model, before and after."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leogym.results import figure_style
from leogym.traces.calibrate import distance
from leogym.traces.calibrate.observed import Observed

_TITLES = {
    "down_mbps": "Download capacity of a slot (Mbit/s)",
    "down_step_mbps": "Step at the grid, download (Mbit/s)",
    "down_second": "A second's capacity over its slot's, download",
    "down_gap_ms": "Gap of the download (ms)",
    "up_mbps": "Upload capacity of a slot (Mbit/s)",
    "up_step_mbps": "Step at the grid, upload (Mbit/s)",
    "up_second": "A second's capacity over its slot's, upload",
    "up_gap_ms": "Gap of the upload (ms)",
    "apart_ms": "From burst to burst (ms)",
    "burst_ms": "Length of a burst (ms)",
    "base_ms": "Base RTT of a slot (ms)",
    "base_step_ms": "Step of the base RTT at the grid (ms)",
    "jitter_ms": "RTT above the base (ms)",
    "spike_ms": "RTT above the base at a reconfiguration (ms)",
    "lost_ms": "Loss in the second around a reconfiguration (‰)",
    "loss": "Loss between reconfigurations, per slot",
}
_COLUMNS = 4
_POINTS = 500
_HIGHEST = 0.99  # quantile up to which values are drawn


def render(data: Observed, before: Observed, after: Observed, kind: str) -> bytes:
    """Return the picture as png, svg or pdf. The same data always give the same bytes."""
    distances = distance.distances(data, after)
    has_rtt = "rtt_ms" in data.series
    count = len(distances) + has_rtt
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    with mpl.rc_context({**figure_style.RC, "svg.hashsalt": "leogym"}):
        chart = Figure(figsize=(3.6 * columns, 2.6 * rows), layout="constrained")
        panels = list(np.atleast_1d(chart.subplots(rows, columns)).ravel())
        for axes, quantity in zip(panels, distances, strict=False):
            _distribution(axes, quantity.name, data, before, after, quantity.apart)
        if has_rtt:
            _autocorrelation(panels[len(distances)], data, before, after)
        for axes in panels[count:]:
            axes.remove()
        panels[0].legend(fontsize=8, frameon=False)
        file = io.BytesIO()
        stamp = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
        chart.savefig(file, format=kind, dpi=110, metadata=stamp)
    return file.getvalue()


def _looks(data: Observed, before: Observed, after: Observed) -> list[tuple[str, Observed, str, str]]:
    measured, fitted, earlier = figure_style.INK, figure_style.PALETTE[0], figure_style.PALETTE[1]
    return [
        ("model before", before, earlier, ":"),
        ("data", data, measured, "-"),
        ("model", after, fitted, "--"),
    ]


def _distribution(
    axes: Axes, name: str, data: Observed, before: Observed, after: Observed, apart: float
) -> None:
    for label, observed, color, dash in _looks(data, before, after):
        values = np.sort(observed.samples[name].values)
        up_to = np.arange(1, len(values) + 1) / len(values)
        thinned = np.unique(np.linspace(0, len(values) - 1, _POINTS).astype(int))
        axes.step(values[thinned], up_to[thinned], color=color, ls=dash, label=label, where="post")
    plotted_values = np.concatenate([observed.samples[name].values for observed in (data, after)])
    low, high = np.quantile(plotted_values, (1 - _HIGHEST, _HIGHEST))
    if low < high:
        axes.set_xlim(low - 0.03 * (high - low), high)
    axes.set_ylim(0, 1)
    axes.set_title(f"{_TITLES[name]}\ndistance {apart:.3f}", fontsize=8.5)


def _autocorrelation(axes: Axes, data: Observed, before: Observed, after: Observed) -> None:
    for label, observed, color, dash in _looks(data, before, after):
        axes.plot(
            distance.LAGS_S, distance.autocorrelation(observed), color=color, ls=dash, marker=".", label=label
        )
    axes.set_xscale("log")
    axes.set_ylim(-0.1, 1)
    axes.set_title("Autocorrelation of the RTT\nover the lag (s)", fontsize=8.5)
