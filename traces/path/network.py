"""The moving network between two users: usable links, and the shortest route at an instant."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit import ground, isl, legs
from leogym.traces.orbit.constellation import Constellation
from leogym.traces.orbit.legs import Delays
from leogym.traces.orbit.satellites import Orbits, Sgp4Orbits
from leogym.traces.orbit.visibility import Visibility
from leogym.traces.path.routing import Chain, chain_km, shortest, within

Floats = NDArray[np.float64]
Links = Literal["isl", "bent-pipe"]


class Network:
    """Nodes are numbered in this order: satellites, gateways (bent-pipe only), the two users."""

    def __init__(
        self,
        constellation: Constellation,
        orbits: Orbits,
        visibility: Visibility,
        links: Links,
        users: tuple[ground.Site, ground.Site],
        delays: Delays = "straight",
    ) -> None:
        self.orbits = orbits
        self.visibility = visibility
        self.bent_pipe = links == "bent-pipe"
        self.delays: Delays = delays
        relays = ground.gateways() if self.bent_pipe else []
        self.stations = ground.stations(list(users))
        self._gateways = ground.stations(relays)
        self._ground_km = np.concatenate([self._gateways.position_km, self.stations.position_km])
        self.first_gateway = orbits.count
        self.first_user = orbits.count + len(relays)
        self.users = (self.first_user, self.first_user + 1)
        self._names = [site.name for site in [*relays, *users]]
        self._satellite_names = constellation.satellite_names
        self._grid = (
            np.empty((0, 2), dtype=np.int64)
            if self.bent_pipe
            else isl.plus_grid(constellation, orbits if isinstance(orbits, Sgp4Orbits) else None)
        )
        self.meshes = isl.meshes(self._grid, orbits.count)
        """Groups of satellites that lasers join, see `isl.meshes`; none with bent pipes."""
        self._isl_max_km = np.inf if constellation.isl_max_km is None else constellation.isl_max_km
        self._horizon_km = isl.horizon_km(constellation)
        self._grid_max_km = np.minimum(self._horizon_km[self._grid].sum(axis=1), self._isl_max_km)

    def node_name(self, node: int) -> str:
        """Return a node's readable name."""
        if node >= self.orbits.count:
            return self._names[node - self.orbits.count]
        return f"satellite {node}" if self._satellite_names is None else self._satellite_names[node]

    def positions_km(self, time_s: float) -> Floats:
        """Return all nodes' Earth-fixed positions at an instant, shape (nodes, 3)."""
        return np.concatenate([self.orbits.positions_km(time_s), self._ground_km])

    def chain_positions_km(self, chain: Chain, time_s: Floats) -> Floats:
        """Return the positions of a chain's nodes over time, shape (times, nodes, 3)."""
        nodes = np.array(chain)
        space = nodes < self.orbits.count
        positions = np.empty((len(time_s), len(nodes), 3))
        positions[:, space] = self.orbits.positions_km(time_s[:, None], nodes[space])
        positions[:, ~space] = self._ground_km[nodes[~space] - self.orbits.count]
        return positions

    def legs_km(self, chain: Chain, time_s: Floats) -> Floats:
        """Return the lengths of a chain's legs over time, shape (times, nodes - 1)."""
        in_space = np.array(chain) < self.orbits.count
        return legs.legs_km(self.chain_positions_km(chain, time_s), in_space, self.delays)

    def route(
        self, ingress: int, egress: int, time_s: float, until_s: float, last: Chain | None
    ) -> Chain | None:
        """Return the shortest chain from user to user over their current satellites, or None.

        All links but the users' own are usable at ``time_s`` and ``until_s``, and in between, because a pass
        is a single interval. ``last`` is the previous chain; it only saves work.
        """
        positions = self.positions_km(time_s)
        # Between the users' satellites, bent-pipe legs all touch the ground, laser legs never do.
        measured = legs.measured_km(positions, self.delays) if self.bent_pipe else positions
        inner = self._candidate(last, ingress, egress)
        bound = np.inf
        if inner is not None and self._usable(inner, positions, until_s):
            bound = chain_km(measured, inner)
        inside = within(measured, ingress, egress, bound)
        links = self._transit_links(positions, inside, until_s)
        chain = shortest(measured, links, ingress, egress, bound)
        return None if chain is None else (self.users[0], *chain, self.users[1])

    def route_freely(self, time_s: float, until_s: float, last: Chain | None) -> Chain | None:
        """Return the shortest chain from user to user over any satellites in reach at ``time_s``, or None."""
        positions = self.positions_km(time_s)
        reachable = self.visibility.pairs(self.stations, positions[: self.orbits.count])
        bound = np.inf
        if (
            last is not None
            and reachable[0, last[1]]
            and reachable[1, last[-2]]
            and self._usable(last[1:-1], positions, until_s)
        ):
            bound = chain_km(positions, last)
        inside = within(positions, *self.users, bound)
        user, satellite = np.nonzero(reachable & inside[: self.orbits.count])
        user_links = np.stack([satellite, user + self.first_user], axis=1)
        links = np.concatenate([self._transit_links(positions, inside, until_s), user_links])
        return shortest(positions, links, *self.users, bound)

    def _transit_links(
        self, positions: Floats, inside: NDArray[np.bool_], until_s: float
    ) -> NDArray[np.int64]:
        """Return the usable links between the nodes ``inside``, except the users' own."""
        if not self.bent_pipe:
            within_reach = inside[self._grid[:, 0]] & inside[self._grid[:, 1]]
            links, longest = self._grid[within_reach], self._grid_max_km[within_reach]
            length = np.linalg.norm(positions[links[:, 0]] - positions[links[:, 1]], axis=1)
            return links[length <= longest]
        satellites = np.flatnonzero(inside[: self.first_gateway])
        gateways = np.flatnonzero(inside[self.first_gateway : self.first_user])
        stations, satellites_km = self._gateways[gateways], positions[satellites]
        gateway, satellite = np.nonzero(self.visibility.pairs(stations, satellites_km))
        later_km = self.orbits.positions_km(until_s, satellites)
        lasts = self.visibility.each(stations[gateway], later_km[satellite])
        gateway, satellite = gateway[lasts], satellite[lasts]
        return np.stack([satellites[satellite], gateways[gateway] + self.first_gateway], axis=1)

    def _usable(self, chain: Chain, positions: Floats, until_s: float) -> bool:
        """Return whether all links of a chain between two satellites are usable now and at ``until_s``."""
        if len(chain) < 2:
            return True
        if not self.bent_pipe:
            return self._lasers_hold(chain, positions)
        # Every second node is a gateway.
        satellites, gateways = np.array(chain[0::2]), np.array(chain[1::2])
        later_km = self.orbits.positions_km(until_s, satellites)
        stations = self._gateways[gateways - self.first_gateway]
        for shift in (0, 1):
            near = slice(shift, shift + len(gateways))
            for satellite_km in (positions[satellites[near]], later_km[near]):
                if not self.visibility.each(stations, satellite_km).all():
                    return False
        return True

    def _lasers_hold(self, chain: Chain, positions: Floats) -> bool:
        nodes = np.array(chain)
        length = np.linalg.norm(np.diff(positions[nodes], axis=0), axis=1)
        horizon = self._horizon_km[nodes]
        return bool((length <= np.minimum(horizon[1:] + horizon[:-1], self._isl_max_km)).all())

    def _candidate(self, last: Chain | None, ingress: int, egress: int) -> Chain | None:
        """Guess a chain between two satellites from the last chain; it may not be usable."""
        if last is None:
            return None
        if ingress in last and egress in last:
            first, end = last.index(ingress), last.index(egress)
            return last[first : end + 1] if first <= end else None
        if self.bent_pipe and len(last) > 4:
            # A user's next satellite usually sees the previous one's gateway.
            return (ingress, *last[2:-2], egress)
        return None
