"""Links of Linux's own queueing disciplines: network namespaces, pairs of virtual Ethernet devices, tc.

A link from a level to the one outside it is a pair of devices. Its data meets, in this order,

- netem: the propagation delay. Equal delays keep packets in order. It stands before the queue, not behind
  it, so that its sender's stack learns of drops as of those in the middle of a network, by their absence;
  for the flows it is the same, since both add up to the same round trip.
- tbf: the capacity, and inside it the link's queue. Its bucket is smaller than two packets, so that it takes
  apart what the sender's stack hands over in one piece, as hardware would.

A link with random loss goes through a namespace of its own, which loses packets behind the queue, one by one.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

NAMESPACES = "/run/netns"
ENDLESS = "1000000"
"""Packets on the way, at most: more than any path here holds."""


class Level(NamedTuple):
    """A network namespace of the run."""

    name: str
    outside: int
    """The level that its way out leads to."""


def namespace(name: str) -> str:
    """Return the file of a network namespace."""
    return f"{NAMESPACES}/{name}"


def add_namespace(name: str) -> None:
    """Make a network namespace that forwards."""
    call("ip", "netns", "add", name)
    call("ip", "-n", name, "link", "set", "lo", "up")
    script = "echo 1 >/proc/sys/net/ipv4/ip_forward"
    call("nsenter", f"--net={namespace(name)}", "--", "/bin/sh", "-ec", script)


class Wires:
    """The run's namespaces, from the receivers' side on. Level 0 is named ``l0``."""

    def __init__(self, address: Callable[[int], str]) -> None:
        self.levels: list[Level] = []
        self.logged: list[tuple[str, str, str]] = []
        """Namespace, device and handle of each link's queue, then of each link's losses."""
        self._address = address
        self._pairs = 0

    def begin(self) -> None:
        """Make level 0."""
        add_namespace("l0")
        self.levels.append(Level("l0", 0))

    def add_level(self, outside: int, wire: dict[str, Any]) -> int:
        """Add a level behind a link to another; return its number."""
        level = len(self.levels)
        name, beyond = f"l{level}", self.levels[outside].name
        add_namespace(name)
        self.levels.append(Level(name, outside))
        own = self._address(level)
        call("ip", "-n", name, "address", "add", f"{own}/32", "dev", "lo")
        delay = ["netem", "limit", ENDLESS, "delay", f"{wire['delay_us']}us"]
        losses = []
        if wire["loss"]:
            lossy = f"m{level}"
            add_namespace(lossy)
            device, _ = self._pair(name, lossy, own)
            way_out, back = self._pair(lossy, beyond, own)
            loss = ["netem", "limit", ENDLESS, "loss", f"{wire['loss']:%}"]
            call("tc", "-n", lossy, "qdisc", "add", "dev", way_out, "root", "handle", "1:", *loss)
            losses.append((namespace(lossy), way_out, "1"))
        else:
            device, back = self._pair(name, beyond, own)
        call("tc", "-n", beyond, "qdisc", "add", "dev", back, "root", "handle", "1:", *delay)
        call("tc", "-n", name, "qdisc", "add", "dev", device, "root", "handle", "1:", *delay)
        if wire.get("rate_bps"):
            rate = ["rate", f"{wire['rate_bps']}bit", "burst", str(wire["burst_bytes"]), "limit", "100000000"]
            call(
                "tc", "-n", name, "qdisc", "add", "dev", device, "parent", "1:1", "handle", "2:", "tbf", *rate
            )
            call(
                "tc",
                "-n",
                name,
                "qdisc",
                "add",
                "dev",
                device,
                "parent",
                "2:1",
                "handle",
                "3:",
                *wire["queue"],
            )
            self.logged += [(namespace(name), device, "2"), *losses]
        self._route(level)
        return level

    def _pair(self, inner: str, outer: str, own: str) -> tuple[str, str]:
        """Join two namespaces; the inner one's way out is the outer one. Return both devices' names."""
        number = self._pairs
        self._pairs += 1
        inner_name, outer_name = f"out{number}", f"in{number}"
        call(
            "ip",
            "-n",
            outer,
            "link",
            "add",
            outer_name,
            "type",
            "veth",
            "peer",
            "name",
            inner_name,
            "netns",
            inner,
        )
        ends = ((outer, outer_name, 1), (inner, inner_name, 2))
        for space, device, end in ends:
            call("ip", "-n", space, "link", "set", device, "address", _hardware(number, end), "up")
            call("ip", "-n", space, "address", "add", f"{_between(number, end)}/30", "dev", device)
        for space, device, end in ends:
            # Nothing has to be asked for on the way: the first packet is like all others.
            other = 3 - end
            neighbour = [_between(number, other), "lladdr", _hardware(number, other), "nud", "permanent"]
            call("ip", "-n", space, "neighbour", "replace", *neighbour, "dev", device)
        source = ["src", own] if inner.startswith("l") else []
        call(
            "ip",
            "-n",
            inner,
            "route",
            "add",
            "default",
            "via",
            _between(number, 1),
            "dev",
            inner_name,
            *source,
        )
        call("ip", "-n", outer, "route", "add", f"{own}/32", "via", _between(number, 2), "dev", outer_name)
        return inner_name, outer_name

    def _route(self, level: int) -> None:
        """Let every level farther out know the way in to a new one."""
        own, inner = f"{self._address(level)}/32", self.levels[level].outside
        while inner:
            like = f"{self._address(inner)}/32"
            for space in (f"m{inner}", self.levels[self.levels[inner].outside].name):
                for route in _routes(space, like):
                    call("ip", "-n", space, "route", "add", own, *route)
            inner = self.levels[inner].outside


def _routes(space: str, destination: str) -> list[list[str]]:
    """Return the ways to a destination that a namespace, if it is there, has."""
    told = subprocess.run(
        ["ip", "-j", "-n", space, "route", "show", destination], capture_output=True, text=True, check=False
    )
    routes = json.loads(told.stdout or "[]")
    return [["via", route["gateway"], "dev", route["dev"]] for route in routes]


def _between(number: int, end: int) -> str:
    return f"10.{number // 256}.{number % 256}.{end}"


def _hardware(number: int, end: int) -> str:
    return f"02:00:00:{number // 256:02x}:{number % 256:02x}:{end:02x}"


def call(*command: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, check=True, capture_output=True)
