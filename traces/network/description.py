"""A network with all that its file names: stations, topology and flows."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.configs import network as schema
from leogym.configs.network import Network
from leogym.traces.network import stations, topology, traffic
from leogym.traces.network.stations import GroundStations
from leogym.traces.network.topology import Topology


@dataclass(frozen=True)
class Description:
    """A resolved network."""

    network: Network
    stations: GroundStations
    topology: Topology
    flows: list[traffic.Flow]

    def steps(self) -> Iterator[tuple[float, float]]:
        """Yield start and end of each routing interval in seconds, without adding up rounding errors."""
        interval_s = self.network.routing.interval_ms / 1e3
        count = int(np.ceil(self.network.duration_s / interval_s - 1e-9))
        for index in range(count):
            yield index * interval_s, min((index + 1) * interval_s, self.network.duration_s)

    def node_name(self, node: int) -> str:
        """Return the name of a satellite, or of a station, which count on from the satellites."""
        satellites = self.topology.satellites
        return (
            self.topology.satellite_name(node)
            if node < satellites
            else self.stations.sites[node - satellites].name
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of stations with flows, in the order of their first flows."""
        return list(dict.fromkeys((flow["route"][0], flow["route"][1]) for flow in self.flows))

    def core(self, flows: list[traffic.Flow] | None = None, **replaced: Any) -> str:
        """Return the JSON that `leosim.Constellation` takes, with these flows or the network's own.

        ``replaced`` replaces fields of the JSON, such as ``seed``.
        """
        network = self.network
        flows = self.flows if flows is None else flows
        load = network.routing.by_load
        fields: dict[str, Any] = {
            "name": network.name,
            "duration_s": network.duration_s,
            "seed": network.seed,
            "host_jitter_us": network.host_jitter_us,
            "handshake": network.handshake,
            "telemetry_header_bytes": 0,
            "telemetry_hop_bytes": 0,
            "satellites": self.topology.satellites,
            "stations": [site.name for site in self.stations.sites],
            "lasers": self.topology.lasers.tolist(),
            "laser": network.lasers.model_dump(),
            "uplink": network.ground.uplink.model_dump(),
            "downlink": network.ground.downlink.model_dump(),
            "shared_ground": network.ground.shared,
            "vanished_links": network.routing.vanished_links,
            "paths": network.routing.paths,
            "by_load": None if load is None else load.model_dump(),
            "flow_paths": [flow.get("path") for flow in flows],
            "flows": [{key: value for key, value in flow.items() if key != "path"} for flow in flows],
        }
        return json.dumps(fields | replaced)

    def follow(self, simulation: leosim.Constellation, time_s: float) -> None:
        """Give the simulation the links of the moment ``time_s`` into the run."""
        moment = self.topology.moment(time_s)
        simulation.follow(moment.laser_km, moment.station, moment.satellite, moment.km)

    @cached_property
    def moments(self) -> leosim.Moments:
        """The links of the whole run, a moment for each routing interval."""
        moments = [self.topology.moment(start_s) for start_s, _ in self.steps()]

        def joined(field: str) -> NDArray[Any]:
            return np.concatenate([getattr(moment, field) for moment in moments])

        return leosim.Moments(
            self.network.routing.interval_ms,
            np.stack([moment.laser_km for moment in moments]),
            np.array([len(moment.km) for moment in moments]),
            joined("station"),
            joined("satellite"),
            joined("km"),
        )

    def routes(self, step_s: float) -> Iterator[tuple[float, list[tuple[list[int], float]]]]:
        """Yield the time in s and each pair's nodes and RTT in ms, every ``step_s``.

        The pairs are those of `pairs`, the paths of each in turn. The RTT is propagation both ways. Without a
        route there are no nodes.
        """
        # Flows that start with the run's last nanoseconds make the pairs known, and send nothing.
        late_s = self.network.duration_s * (1 - 1e-9)
        silent = [{"scheme": "reno", "start_s": late_s, "route": list(pair)} for pair in self.pairs]
        simulation = leosim.Constellation(self.core(silent), series_ms=0)
        for index in range(int(np.ceil(self.network.duration_s / step_s - 1e-9))):
            time_s = index * step_s
            simulation.advance(time_s)
            self.follow(simulation, time_s)
            yield time_s, [(nodes.tolist(), rtt_ns / 1e6) for nodes, rtt_ns in simulation.routes()]


def load(name_or_file: str, policies: Collection[str] = ()) -> Description:
    """Return a network that comes with LeoGym, or the one in a file, with all that it names.

    ``policies`` are the schemes for which a run has policies.

    Raises:
        InputError: the file, or one that it names, is invalid, or a scheme is neither known nor a policy.
    """
    return describe(schema.load(name_or_file), policies)


def describe(network: Network, policies: Collection[str] = ()) -> Description:
    """Return a network with all that it names; see `load` for ``policies`` and errors."""
    resolved = stations.resolve(network)
    description = Description(
        network, resolved, Topology(network, resolved), traffic.flows(network, resolved)
    )
    try:
        flows = [
            flow | {"scheme": "reno"} if flow["scheme"] in policies else flow for flow in description.flows
        ]
        leosim.Constellation(description.core(flows), series_ms=0)
    except leosim.InputError as error:
        raise InputError(str(error)) from None
    return description


def check(description: Description, step_s: float) -> list[str]:
    """Return a line for each pair that is without a route at some time.

    Raises:
        InputError: a station never sees a satellite.
    """
    topology.unseen(description.topology, description.stations, step_s)
    dark: dict[int, list[float]] = {}
    for time_s, routes in description.routes(step_s):
        # A pair without its first path has no other.
        for index, (nodes, _) in enumerate(routes[:: description.network.routing.paths]):
            if not nodes:
                dark.setdefault(index, []).append(time_s)
    name, pairs = description.network.name, description.pairs
    return [
        f"{name}: {' > '.join(pairs[index])}: no route {_spans(times, step_s)}"
        for index, times in sorted(dark.items())
    ]


def _spans(times: list[float], step_s: float) -> str:
    """Return times, a step apart where they belong together, as spans in words."""
    spans: list[list[float]] = []
    for time_s in times:
        if spans and time_s <= spans[-1][1] + step_s / 2:
            spans[-1][1] = time_s + step_s
        else:
            spans.append([time_s, time_s + step_s])
    words = [f"from {start:g} to {end:g} s" for start, end in spans[:3]]
    return ", ".join(words) + (f", and {len(spans) - 3} more times" if len(spans) > 3 else "")
