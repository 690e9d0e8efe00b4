"""Map of a path: coasts, gateways, both sites and the chains between them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from leogym.traces.orbit import ground
from leogym.traces.plot.chains import ChainSpan, lon_lat_deg
from leogym.traces.plot.style import DARK, DELAY, EVENTS, HARD

Floats = NDArray[np.float64]

_COAST, _GATEWAY = "#b7b7b7", "#7a7a7a"
_MARGIN_DEG = 6.0
_FEWEST_DEG = 40.0  # minimum width of a map


class Map:
    """A map centred on a meridian near the path, so the date line does not cut the path."""

    def __init__(self, axes: Axes, middle_deg: float) -> None:
        self._axes = axes
        self._middle_deg = middle_deg
        self._lon: list[float] = []
        self._lat: list[float] = []

    def unwrapped(self, lon_deg: Floats | float) -> Floats:
        """Return longitudes within 180° of the middle."""
        return (np.asarray(lon_deg) - self._middle_deg + 180) % 360 - 180 + self._middle_deg

    def line(self, lon_deg: Floats, lat_deg: Floats) -> list[Floats]:
        """Split a line at the map's edge into parts of shape (points, 2)."""
        points = np.stack([self.unwrapped(lon_deg), lat_deg], axis=1)
        return np.split(points, np.flatnonzero(np.abs(np.diff(points[:, 0])) > 180) + 1)

    def coasts(self) -> None:
        """Draw the world's coasts."""
        parts = [part for coast in ground.coastlines() for part in self.line(coast[:, 0], coast[:, 1])]
        self._axes.add_collection(LineCollection(parts, colors=_COAST, linewidths=0.5, zorder=0))

    def gateways(self, used: set[str]) -> None:
        """Draw all gateways, and emphasize those named in ``used``."""
        for sites, colour, size, label in (
            ([site for site in ground.gateways() if site.name not in used], _GATEWAY, 5, "gateway"),
            ([site for site in ground.gateways() if site.name in used], DARK, 16, "gateway in use"),
        ):
            lon = self.unwrapped(np.array([site.lon_deg for site in sites]))
            lat = np.array([site.lat_deg for site in sites])
            self._axes.scatter(lon, lat, s=size, color=colour, marker="^", label=label, linewidths=0)

    def chains(self, spans: list[ChainSpan]) -> list[Line2D]:
        """Draw every chain at its first position, in its event's colour; return entries for the legend."""
        entries = []
        # Many chains are drawn faintly, to keep their bundle readable.
        alpha = float(np.clip(12 / max(1, len(spans)), 0.12, 0.9))
        for kind, (label, colour) in {"": ("first route", DELAY), **EVENTS}.items():
            own = [span for span in spans if span.event == kind]
            parts = []
            for span in own:
                lon, lat = lon_lat_deg(span.position_km[0])
                parts += self.line(lon, lat)
                self._lon += self.unwrapped(lon).tolist()
                self._lat += lat.tolist()
            if own:
                self._axes.add_collection(
                    LineCollection(parts, colors=colour, linewidths=1, alpha=alpha, zorder=2)
                )
                entries.append(Line2D([], [], color=colour, label=f"{label} ({len(own)})"))
        satellites = {
            name: span.position_km[0, index]
            for span in spans
            for index, name in enumerate(span.names)
            if span.kinds[index] == "satellite"
        }
        if satellites:
            lon, lat = lon_lat_deg(np.stack(list(satellites.values())))
            self._axes.scatter(self.unwrapped(lon), lat, s=3, color=DARK, alpha=0.5, linewidths=0, zorder=2)
            entries.append(
                Line2D(
                    [],
                    [],
                    color=DARK,
                    marker="o",
                    markersize=2,
                    linestyle="",
                    label=f"satellites in use ({len(satellites)})",
                )
            )
        return entries

    def site(self, site: ground.Site) -> None:
        """Draw a user site with its name."""
        lon, lat = float(self.unwrapped(site.lon_deg)), site.lat_deg
        self._lon.append(lon)
        self._lat.append(lat)
        self._axes.plot(lon, lat, "o", color=HARD, markersize=5, zorder=4)
        self._axes.annotate(
            site.name,
            (lon, lat),
            xytext=(0, -14),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1},
            zorder=5,
        )

    def frame(self) -> None:
        """Zoom to the drawn sites and chains with a margin, or to the whole Earth without any."""
        axes = self._axes
        low, high = -180.0, 180.0
        if self._lon:
            wide = max(_FEWEST_DEG, np.ptp(self._lon) + 2 * _MARGIN_DEG) / 2
            middle = (min(self._lon) + max(self._lon)) / 2
            low, high = middle - wide, middle + wide
            axes.set_ylim(max(-90, min(self._lat) - _MARGIN_DEG), min(90, max(self._lat) + _MARGIN_DEG))
        else:
            axes.set_ylim(-90, 90)
        axes.set_xlim(low, high)
        axes.set_aspect("equal")
        axes.grid(linewidth=0.3)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda lon, _: f"{(lon + 180) % 360 - 180:g}"))
        axes.set_xlabel("longitude (°)")
        axes.set_ylabel("latitude (°)")


def middle_deg(sites: Sequence[ground.Site]) -> float:
    """Return the longitude of the middle of the sites' chord: no site is more than half a turn away."""
    lon, _ = lon_lat_deg(ground.stations(list(sites)).position_km.mean(axis=0))
    return float(lon)


def draw(axes: Axes, sites: list[ground.Site], spans: list[ChainSpan], bent_pipe: bool) -> None:
    """Draw the map of a path."""
    chart = Map(axes, middle_deg(sites) if sites else 0.0)
    chart.coasts()
    entries = []
    if bent_pipe:
        chart.gateways({name for span in spans for name in span.names})
        entries = axes.get_legend_handles_labels()[0]
    entries += chart.chains(spans)
    for site in sites:
        chart.site(site)
    chart.frame()
    if entries:
        axes.legend(
            handles=entries,
            loc="lower right",
            bbox_to_anchor=(1, 0.99),
            fontsize=8,
            frameon=False,
            ncols=min(3, len(entries)),
        )
