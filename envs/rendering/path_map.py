"""The map of a frame: the path's sites, and the nodes that it uses."""

from collections.abc import Iterator

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leogym.envs.rendering.place import Place
from leogym.envs.rendering.size import HEIGHT, WIDTH
from leogym.results.figure_style import INK, MUTED
from leogym.traces.plot.chains import ChainSpan, lon_lat_deg
from leogym.traces.plot.map import Map, middle_deg
from leogym.traces.plot.style import DELAY

BOX = (0.665, 0.305, 0.325, 0.575)
"""Left, bottom, width and height, as shares of the figure's."""
LEFT = BOX[0]
_MARGIN = 0.16
"""Of the map's width, on both sides: room for the sites' names."""
_FEWEST_DEG = 30.0


class PathMap:
    """The map of a figure, which a place fills. The chain moves; coasts and sites stay."""

    def __init__(self, figure: Figure) -> None:
        self.axes = figure.add_axes(BOX)
        self.axes.set_visible(False)
        self._caption = figure.text(LEFT, BOX[1] - 0.025, "", va="top", fontsize=8, linespacing=1.5)
        self._place: Place | None = None

    def moving(self) -> Iterator[tuple[Axes, Artist]]:
        """Yield the artists that every frame draws again, bottom up."""
        if self._place is not None:
            # The names come last, so that no satellite hides them.
            parts = (self._line, self._satellites, self._gateways, *self._names)
            yield from ((self.axes, artist) for artist in parts)

    def begin(self, place: Place | None, time_s: float) -> None:
        """Draw the coasts around a place, and its sites; hide the map without one."""
        self._place = place
        self.axes.clear()
        self.axes.set_visible(place is not None)
        if place is None:
            return
        self._map = Map(self.axes, middle_deg(place.sites))
        self._map.coasts()
        for site in place.sites:
            self._map.site(site)
        self._names = list(self.axes.texts)
        self._line = self.axes.plot([], [], color=DELAY, linewidth=1.4, zorder=3)[0]
        self._satellites = self.axes.plot([], [], "s", color=DELAY, markersize=3, zorder=3)[0]
        self._gateways = self.axes.plot([], [], "^", color=INK, markersize=4.5, zorder=3)[0]
        for _, artist in self.moving():
            artist.set_animated(True)
        self._frame(place, time_s)
        kind = {"isl": "laser links", "bent-pipe": "bent pipe"}.get(place.links, place.links)
        ends = " – ".join(site.name for site in place.sites)
        self.axes.set_title(ends, fontsize=9, pad=3)
        self.axes.text(0.99, 0.01, kind, transform=self.axes.transAxes, ha="right", va="bottom", color=MUTED)

    def _frame(self, place: Place, time_s: float) -> None:
        """Zoom to the sites and to the chain of the first frame."""
        lon = [site.lon_deg for site in place.sites]
        lat = [site.lat_deg for site in place.sites]
        if (chain := place.chain(time_s)) is not None:
            chain_lon, chain_lat = lon_lat_deg(chain.position_km[0])
            lon, lat = [*lon, *chain_lon], [*lat, *chain_lat]
        lon = self._map.unwrapped(np.array(lon))
        # A degree is as long in both directions.
        narrow = (BOX[2] * WIDTH) / (BOX[3] * HEIGHT)
        height = max(_FEWEST_DEG, float(max(np.ptp(lat), np.ptp(lon) / narrow)) / (1 - 2 * _MARGIN))
        across, up = (lon.min() + lon.max()) / 2, (min(lat) + max(lat)) / 2
        self.axes.set_xlim(across - height * narrow / 2, across + height * narrow / 2)
        self.axes.set_ylim(up - height / 2, up + height / 2)
        self.axes.tick_params(labelbottom=False, labelleft=False, length=0)
        for spine in self.axes.spines.values():
            spine.set_visible(True)

    def show(self, time_s: float) -> str:
        """Move the chain to its position at a time; return its description."""
        place = self._place
        if place is None:
            self._caption.set_text("")
            return ""
        chain = place.chain(time_s)
        number = f"route {place.route_number(time_s)} of the trace"
        if chain is None:
            for line in (self._line, self._satellites, self._gateways):
                line.set_data([], [])
            self._caption.set_text(number)
            return number
        lon, lat = lon_lat_deg(place.position_km(chain, time_s))
        parts = self._map.line(lon, lat)
        gap = np.full((1, 2), np.nan)
        joined = np.concatenate([piece for part in parts for piece in (part, gap)])
        self._line.set_data(joined[:, 0], joined[:, 1])
        for line, kind in ((self._satellites, "satellite"), (self._gateways, "gateway")):
            is_kind = np.array([node_kind == kind for node_kind in chain.kinds])
            line.set_data(self._map.unwrapped(lon[is_kind]), lat[is_kind])
        self._caption.set_text(f"{number}\n{_hops(chain)}")
        return self._caption.get_text()


def _hops(chain: ChainSpan) -> str:
    space = [name for name, kind in zip(chain.names, chain.kinds, strict=True) if kind == "satellite"]
    ground = [name for name, kind in zip(chain.names, chain.kinds, strict=True) if kind == "gateway"]
    lines = [f"up to {space[0]}, down from {space[-1]}", f"satellites: {len(space)}"]
    if ground:
        lines[-1] += f", gateways: {len(ground)}"
    return "\n".join(lines)
