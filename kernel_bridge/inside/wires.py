"""Links of Linux's own queueing disciplines: network namespaces, pairs of virtual Ethernet devices, tc.

A link from a level to the one outside it is a pair of devices. Its data meets, in this order,

- netem: the propagation delay. Equal delays keep packets in order. It stands before the queue, not behind
  it, so that its sender's stack learns of drops as of those in the middle of a network, by their absence;
  for the flows it is the same, since both add up to the same round trip.
- tbf: the capacity, and inside it the link's queue. A bucket smaller than two packets takes apart what the
  sender's stack hands over in one piece, as hardware would. Before a larger one stands a second tbf, which
  does nothing else: in pieces of 45 packets a queue would count each as one.

A link with random loss goes through a namespace of its own, which loses packets behind the queue, one by
one: those that the simulator's link loses, by their place in the order in which they leave it (`lose.c`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

from kernel_bridge.inside.preparation import call
from kernel_bridge.inside.session import Wire

NAMESPACES = "/run/netns"
PROGRAMS = "/run/programs"
"""A BPF file system; in a namespace of its own, ip has another /sys."""
CLSACT = "ffff"
"""The handle of what programs are attached to."""
ENDLESS, ENDLESS_BYTES = 1_000_000, 1_000_000_000
"""What is on the way, at most: more than any path here holds."""
AT_ONCE = "100gbit"
"""The rate of what only takes pieces apart."""
OUTER, INNER = 1, 2
"""The ends of a pair."""


class Level(NamedTuple):
    """A network namespace of the run."""

    name: str
    outside: int
    """The level that its way out leads to."""


class Hop(NamedTuple):
    """A way into a namespace that lies farther in."""

    space: str
    gateway: str
    device: str


def namespace(name: str) -> str:
    """Return the file of a network namespace."""
    return f"{NAMESPACES}/{name}"


class Wires:
    """The run's namespaces, from the receivers' side on. Level 0 is named ``l0``."""

    def __init__(self, address: Callable[[int], str]) -> None:
        self.levels: list[Level] = []
        self.logged: list[tuple[str, str, str]] = []
        """Namespace, device and handle of each link's queue, and of its losses if it has some."""
        self._address = address
        self._hops: list[list[Hop]] = [[]]
        """Of each level, the ways in to it from the level outside it."""
        self._pairs = 0
        self._lines: list[tuple[str, str, str]] = []
        """Program, namespace and command, yet to be carried out."""

    def begin(self) -> None:
        """Make level 0."""
        self.levels.append(Level("l0", 0))
        self._add_namespaces("l0")
        self._ip("l0", f"address add {self._address(0)}/32 dev lo")
        self._carry_out()

    def add_level(self, outside: int, wire: Wire) -> int:
        """Add a level behind a link to another; return its number."""
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
            call("lose", program, given="".join(f"{packet}\n" for packet in wire["losses"]))
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
            delay = f"netem limit {ENDLESS} delay {wire['delay_us']}us"
            self._qdisc(space, device, "root handle 1:", delay)
        if (capacity := wire["capacity"]) is not None:
            parent = "1:1"
            if capacity["burst_bytes"] > capacity["apart_bytes"]:
                apart = f"tbf rate {AT_ONCE} burst {capacity['apart_bytes']} limit {ENDLESS_BYTES}"
                self._qdisc(name, out, f"parent {parent} handle 4:", apart)
                parent = "4:1"
            bucket = f"burst {capacity['burst_bytes']} limit {ENDLESS_BYTES}"
            self._qdisc(
                name, out, f"parent {parent} handle 2:", f"tbf rate {capacity['rate_bps']}bit {bucket}"
            )
            self._qdisc(name, out, "parent 2:1 handle 3:", " ".join(capacity["queue"]))
            self.logged += [(namespace(name), out, "2"), *losses]
        self._hops.append(hops)
        # Every level farther out must know the way in.
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
        """Join two namespaces; return their devices, inner and outer, and the way in."""
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
            # Nothing has to be asked for on the way: the first packet is like all others.
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

    def _qdisc(self, space: str, device: str, where: str, what: str = "") -> None:
        self._lines.append(("tc", space, f"qdisc add dev {device} {where} {what}"))

    def _carry_out(self) -> None:
        """Carry out the commands, with one process for those that follow one another in one namespace."""
        for (program, space), lines in itertools.groupby(self._lines, lambda line: line[:2]):
            within = ["-n", space] if space else []
            batch = "".join(f"{line}\n" for _, _, line in lines)
            call(program, *within, "-batch", "-", given=batch)
        self._lines.clear()


def _between(number: int, end: int) -> str:
    return f"10.{number // 256}.{number % 256}.{end}"


def _hardware(number: int, end: int) -> str:
    return f"02:00:00:{number // 256:02x}:{number % 256:02x}:{end:02x}"
