"""Links made of Linux's queueing disciplines: network namespaces, pairs of virtual Ethernet devices, tc.

A link from a level to the one outside it is a pair of devices. Its data passes, in this order,

- netem: the propagation delay. Equal delays keep packets in order. It comes before the queue, so that the
  sender's stack does not learn of drops at once; the RTT is the same either way.
- tbf: the capacity, with the link's queue inside. A bucket smaller than two packets splits the large
  segments of the sender's stack, as hardware would. Before a larger bucket, a second tbf only splits.
  Otherwise a queue would count up to 45 packets as one.

A link with random loss passes an extra namespace, which drops packets after the queue (`lose.c`). It drops
the same packets as the simulator's link, by their index in the order in which they leave the queue.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

from leogym.kernel_bridge.inside.preparation import call
from leogym.kernel_bridge.inside.session import Wire

NAMESPACES = "/run/netns"
PROGRAMS = "/run/programs"  # a BPF file system, not /sys/fs/bpf: ip mounts another /sys in each namespace
CLSACT = "ffff"  # handle of the discipline to which programs are attached
UNLIMITED_PACKETS, UNLIMITED_BYTES = 1_000_000, 1_000_000_000  # packets and bytes that no path here exceeds
UNLIMITED_RATE = "100gbit"  # rate of a tbf that only splits segments
OUTER, INNER = 1, 2  # the last address byte of a pair's ends


class Level(NamedTuple):
    """A network namespace of the run."""

    name: str
    outside: int  # the next level outside


class Hop(NamedTuple):
    """A route into a namespace farther inside."""

    space: str
    gateway: str
    device: str


def namespace(name: str) -> str:
    """Return the path of a network namespace's file."""
    return f"{NAMESPACES}/{name}"


class Wires:
    """The run's namespaces. Level 0, at the receivers' side, is named ``l0``."""

    def __init__(self, address: Callable[[int], str]) -> None:
        self.levels: list[Level] = []
        self.logged: list[tuple[str, str, str]] = []
        # Namespace, device and handle of each link's queue, and of its losses if it has any.
        self.queued: dict[int, tuple[int, int]] = {}
        # The levels outside and inside each link with a queue, by the queue's place in `logged`.
        self._address = address
        self._hops: list[list[Hop]] = [[]]  # each level's hops from the level outside it
        self._pairs = 0
        self._lines: list[tuple[str, str, str]] = []  # program, namespace and command to run

    def begin(self) -> None:
        """Create level 0."""
        self.levels.append(Level("l0", 0))
        self._add_namespaces("l0")
        self._ip("l0", f"address add {self._address(0)}/32 dev lo")
        self._carry_out()

    def add_level(self, outside: int, wire: Wire) -> int:
        """Add a level with a link to the level ``outside``; return its number."""
        level = len(self.levels)
        name, lossy, beyond = f"l{level}", f"m{level}", self.levels[outside].name
        self.levels.append(Level(name, outside))
        self._add_namespaces(name, *([lossy] if wire["losses"] else []))
        own = self._address(level)
        self._ip(name, f"address add {own}/32 dev lo")
        losses = []
        if wire["losses"]:
            out, _, first = self._pair(name, lossy, own)
            lossy_out, back, second = self._pair(lossy, beyond, own)
            program = f"{PROGRAMS}/{lossy}"
            call("lose", program, stdin="".join(f"{packet}\n" for packet in wire["losses"]))
            self._qdisc(lossy, lossy_out, "clsact")
            self._lines.append(
                ("tc", lossy, f"filter add dev {lossy_out} egress bpf direct-action object-pinned {program}")
            )
            losses.append((namespace(lossy), lossy_out, CLSACT))
            hops = [first, second]
        else:
            out, back, hop = self._pair(name, beyond, own)
            hops = [hop]
        for space, device in ((beyond, back), (name, out)):
            delay = f"netem limit {UNLIMITED_PACKETS} delay {wire['delay_us']}us"
            self._qdisc(space, device, "root handle 1:", delay)
        if (capacity := wire["capacity"]) is not None:
            parent = "1:1"
            if capacity["burst_bytes"] > capacity["apart_bytes"]:
                apart = f"tbf rate {UNLIMITED_RATE} burst {capacity['apart_bytes']} limit {UNLIMITED_BYTES}"
                self._qdisc(name, out, f"parent {parent} handle 4:", apart)
                parent = "4:1"
            bucket = f"burst {capacity['burst_bytes']} limit {UNLIMITED_BYTES}"
            self._qdisc(
                name, out, f"parent {parent} handle 2:", f"tbf rate {capacity['rate_bps']}bit {bucket}"
            )
            self._qdisc(name, out, "parent 2:1 handle 3:", " ".join(capacity["queue"]))
            self.queued[len(self.logged)] = (outside, level)
            self.logged += [(namespace(name), out, "2"), *losses]
        self._hops.append(hops)
        # Every level farther outside needs a route to the new one.
        while outside:
            for space, gateway, device in self._hops[outside]:
                self._ip(space, f"route add {own}/32 via {gateway} dev {device}")
            outside = self.levels[outside].outside
        self._carry_out()
        return level

    def _add_namespaces(self, *names: str) -> None:
        for name in names:
            self._ip("", f"netns add {name}")
        for name in names:
            self._ip(name, "link set lo up")

    def _pair(self, inner: str, outer: str, own: str) -> tuple[str, str, Hop]:
        """Connect two namespaces; return the inner device, the outer device and the hop inside."""
        number = self._pairs
        self._pairs += 1
        inner_device, outer_device = f"out{number}", f"in{number}"
        self._ip(outer, f"link add {outer_device} type veth peer name {inner_device} netns {inner}")
        hop = Hop(outer, _between(number, INNER), outer_device)
        for space, device, end, other in (
            (outer, outer_device, OUTER, INNER),
            (inner, inner_device, INNER, OUTER),
        ):
            self._ip(space, f"link set {device} address {_hardware(number, end)} up")
            self._ip(space, f"address add {_between(number, end)}/30 dev {device}")
            # Permanent neighbours avoid ARP, so that the first packet is like all others.
            hardware = _hardware(number, other)
            self._ip(
                space, f"neighbour add {_between(number, other)} lladdr {hardware} nud permanent dev {device}"
            )
            if space == outer:
                self._ip(outer, f"route add {own}/32 via {hop.gateway} dev {outer_device}")
        source = f"src {own}" if inner.startswith("l") else ""
        self._ip(inner, f"route add default via {_between(number, OUTER)} dev {inner_device} {source}")
        return inner_device, outer_device, hop

    def _ip(self, space: str, line: str) -> None:
        self._lines.append(("ip", space, line))

    def _qdisc(self, space: str, device: str, where: str, discipline: str = "") -> None:
        self._lines.append(("tc", space, f"qdisc add dev {device} {where} {discipline}"))

    def _carry_out(self) -> None:
        """Run the commands, with one process for consecutive commands in one namespace."""
        for (program, space), lines in itertools.groupby(self._lines, lambda line: line[:2]):
            within = ["-n", space] if space else []
            batch = "".join(f"{line}\n" for _, _, line in lines)
            call(program, *within, "-batch", "-", stdin=batch)
        self._lines.clear()


def _between(number: int, end: int) -> str:
    return f"10.{number // 256}.{number % 256}.{end}"


def _hardware(number: int, end: int) -> str:
    return f"02:00:00:{number // 256:02x}:{number % 256:02x}:{end:02x}"
