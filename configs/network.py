"""A network file: a constellation, ground stations, links by kind, routing and traffic."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import Probability, Range, Strict
from leogym.configs import file_paths
from leogym.configs.queue import Queue
from leogym.configs.scenario import Arrivals, Duration, Time

FOLDER = Path(__file__).with_name("networks")
Share = Annotated[float, Range(gt=0, le=1e6)]


class Transmitter(Strict):
    """The transmitters of all links of a kind."""

    rate_mbps: Annotated[float, Range(gt=1e-6, lt=1e7)]
    """Capacity in Mbit/s, above 0, counting whole IP packets."""
    loss: Probability = 0.0
    """Independent random loss per packet."""
    queue: Queue = Field(default_factory=lambda: Queue(packets=100))
    """The queue in front of it, in packets or bytes; by default 100 packets."""

    @field_validator("queue")
    @classmethod
    def _sized(cls, queue: Queue) -> Queue:
        if queue.bdp is not None:
            raise ValueError("bdp: routes change, so give packets or bytes")
        return queue


class Grid(Strict):
    """Stations where people live: one in each of the most populous cells of a grid."""

    cell_deg: Annotated[int, Range(ge=1, le=30)]
    """Edge of a cell in whole degrees of latitude and longitude."""
    cells: Annotated[int, Range(ge=2, le=100_000)]
    """This many cells; each station lies at the mean place of its cell's inhabitants."""


class Stations(Strict):
    """Ground stations; give exactly one field."""

    names: Annotated[list[str], Field(min_length=2)] | None = None
    """Cities, or ``LAT,LON`` in degrees."""
    file: str | None = None
    """A CSV file with the columns ``name``, ``lat_deg``, ``lon_deg`` and, for ``gravity``, ``population``."""
    cities: Annotated[int, Range(ge=2, le=100_000)] | None = None
    """This many of LeoGym's cities, drawn with the network's seed."""
    grid: Grid | None = None
    """A grid by population; ``gravity`` draws by it."""

    @model_validator(mode="after")
    def _one(self) -> "Stations":
        if sum(field is not None for field in (self.names, self.file, self.cities, self.grid)) != 1:
            raise ValueError("give one of names, file, cities and grid")
        return self


class Ground(Strict):
    """Links between stations and satellites."""

    uplink: Transmitter
    """Of a station."""
    downlink: Transmitter
    """Of a satellite."""
    shared: bool = True
    """Whether a node has one transmitter for all its ground links, as in Hypatia; else one for each."""
    min_elevation_deg: Annotated[float, Range(ge=0, lt=90)] | None = None
    """Lowest elevation of a satellite in reach; the constellation's by default."""
    max_slant_km: Annotated[float, Range(gt=0)] | None = None
    """Limits reach by distance instead (Hypatia's rule)."""
    satellites_per_station: Annotated[int, Range(ge=1, le=1000)] | None = None
    """A station uses only this many satellites, the nearest; by default all in reach."""
    stations_per_satellite: Annotated[int, Range(ge=1, le=100_000)] | None = None
    """A satellite serves only this many stations, the nearest, by its beams; by default all in reach."""

    @model_validator(mode="after")
    def _one_rule(self) -> "Ground":
        if self.min_elevation_deg is not None and self.max_slant_km is not None:
            raise ValueError("min_elevation_deg: give it or max_slant_km, not both")
        return self


class ByLoad(Strict):
    """Costs of links by their load, as in the ARPANET's HN-SPF metric (Khanna and Zinky, SIGCOMM 1989)."""

    period_ms: Annotated[float, Range(ge=1, le=3.6e6)] = 1000.0
    """Time between two measurements of the load, a multiple of ``interval_ms``."""
    most: Annotated[float, Range(ge=1, le=1000)] = 3.0
    """Cost of a full link over that of an idle one, which is its delay."""


class Routing(Strict):
    """Shortest paths by propagation delay, over lasers between satellites; stations do not relay."""

    interval_ms: Annotated[float, Range(ge=1, le=3.6e6)] = 100.0
    """Time between two updates of delays and forwarding tables; one as long as the run freezes
    the network."""
    vanished_links: Literal["deliver", "lose"] = "deliver"
    """Fate of packets queued or in flight on a link that vanishes. Hypatia delivers them."""
    paths: Annotated[int, Range(ge=1, le=100)] = 1
    """Link-disjoint paths of each pair of stations: the shortest, then the shortest over other links, and so
    on. Flows take them by a hash."""
    by_load: ByLoad | None = None
    """Routes avoid loaded links; by default only delay counts."""

    @model_validator(mode="after")
    def _multiple(self) -> "Routing":
        if self.by_load is not None:
            intervals = self.by_load.period_ms / self.interval_ms
            if intervals < 1 or abs(intervals - round(intervals)) > 1e-9:
                raise ValueError(
                    f"by_load.period_ms: must be a multiple of interval_ms, {self.interval_ms:g}"
                )
        return self


class Traffic(Strict):
    """Flows by a pattern."""

    pattern: Literal[
        "permutation", "pairing", "gravity", "all_to_one", "to_gateways", "from_gateways", "pairs"
    ]
    """``permutation``: every station sends to one other and receives from one. ``pairing``: stations in
    random pairs send to each other. ``gravity``: ends are drawn by population. ``all_to_one``: all send to
    ``to``. ``to_gateways``: each station that is no gateway sends to the nearest of ``gateways``.
    ``from_gateways``: it receives from it. ``pairs``: those of ``file``."""
    flows: Annotated[int, Range(ge=1, le=1_000_000)] | None = None
    """``gravity``: number of pairs to draw; else flows of each pair, by default 1."""
    to: str | None = None
    """``all_to_one``: name of the receiving station."""
    gateways: Annotated[list[str], Field(min_length=1)] | None = None
    """``to_gateways`` and ``from_gateways``: names of the stations that are gateways."""
    file: str | None = None
    """``pairs``: a CSV file with the columns ``from`` and ``to``, and any of ``scheme``, ``start_s``,
    ``stop_s``, ``transfer_bytes`` and ``path``, which is the number of one of ``routing.paths``, from 0."""
    schemes: Annotated[dict[str, Share], Field(min_length=1)] = Field(default_factory=lambda: {"cubic": 1.0})
    """Congestion control schemes and their shares of the flows, or of those to which ``file`` gives none.
    Environments steer those of ``agent``."""
    start_s: Time = 0.0
    """When flows or arrivals start."""
    stop_s: Duration | None = None
    """When they stop; by default at the end."""
    transfer_bytes: Annotated[int, Range(ge=1, le=10**15)] | None = None
    """Size of each flow; by default flows are backlogged."""
    arrivals: Arrivals | None = None
    """Transfers that arrive at this total rate over all pairs."""

    @model_validator(mode="after")
    def _complete(self) -> "Traffic":
        for field, pattern in (("to", "all_to_one"), ("file", "pairs")):
            if (getattr(self, field) is not None) != (self.pattern == pattern):
                raise ValueError(f"{field}: {pattern} needs it, and no other pattern has it")
        if (self.gateways is not None) != (self.pattern in ("to_gateways", "from_gateways")):
            raise ValueError("gateways: to_gateways and from_gateways need it, and no other pattern has it")
        if self.pattern == "gravity" and self.flows is None:
            raise ValueError("flows: gravity needs the number of pairs to draw")
        if self.pattern == "pairs" and self.flows is not None:
            raise ValueError("flows: the file of pairs has a row for each flow")
        if self.arrivals is not None and (self.transfer_bytes is not None or self.pattern == "pairs"):
            raise ValueError("arrivals: give it without transfer_bytes and without pairs of a file")
        return self


class Network(Strict):
    """A constellation with ground stations and traffic."""

    name: str = "network"
    """Name in messages and reports."""
    constellation: str = "starlink-1"
    """A name that comes with LeoGym, or a file: YAML, two-line elements or OMM."""
    epoch: str | None = None
    """ISO 8601 with a zone; by default as in `leogym traces build`."""
    start_s: Time = 0.0
    """Start of the run in seconds since the epoch."""
    duration_s: Duration
    """Length of a run."""
    seed: Annotated[int, Range(ge=0, lt=2**64)] = 1
    """Seed of every random draw."""
    host_jitter_us: Annotated[float, Range(ge=0, le=1e6)] = 20.0
    """Each packet that a station sends is delayed by up to this much."""
    handshake: bool = True
    """Whether TCP flows start with a handshake."""
    stations: Stations
    """Ground stations."""
    lasers: Transmitter
    """Each direction of a laser; the constellation says which satellites are joined."""
    ground: Ground
    """Links between stations and satellites."""
    routing: Routing = Field(default_factory=Routing)
    """How packets find their way."""
    traffic: Annotated[list[Traffic], Field(min_length=1)]
    """At least one."""


class Episodes(Strict):
    """Episodes of environments: windows of a network's run."""

    network: Network
    """The network."""
    duration_s: Duration | None = None
    """Length of an episode, at most the network's; by default as long as that."""

    @model_validator(mode="after")
    def _within(self) -> "Episodes":
        if self.length_s > self.network.duration_s:
            raise ValueError(f"duration_s: must be at most the network's, {self.network.duration_s:g}")
        return self

    @property
    def length_s(self) -> float:
        """Length of an episode."""
        return self.network.duration_s if self.duration_s is None else self.duration_s


def names() -> list[str]:
    """Return the names of the networks that come with LeoGym."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def parse(data: Any, source: str) -> Network:
    """Return the network in ``data``; an `InputError` names ``source``, field and rule."""
    try:
        return Network.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


def load(name_or_file: str) -> Network:
    """Return a network that comes with LeoGym, or the one in a YAML file.

    Raises:
        InputError: there is none, or it is invalid.
    """
    path = FOLDER / f"{name_or_file}.yaml"
    if not path.is_file():
        path = Path(name_or_file)
    if not path.is_file():
        nearest = suggest_names(name_or_file, names())
        raise InputError(f"network: {name_or_file!r}: neither a file nor a known network {nearest}")
    data = file_paths.read(path)
    try:
        return Network.model_validate({"name": path.stem, **data} if isinstance(data, dict) else data)
    except ValidationError as error:
        line = yaml_text.line_of(path, error.errors(include_url=False)[0]["loc"])
        raise InputError(one_line(f"{path}:{line}", error)) from None
