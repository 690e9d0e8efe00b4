"""Links inside the guest: Linux's queueing disciplines, or mm-leo if a link varies.

Shells and wires cannot be mixed, so a run with a path trace uses mm-leo for all links.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.common.extras import install
from leogym.configs.queue import Queue
from leogym.kernel_bridge.inside.session import MARKS, Wire
from leogym.kernel_bridge.lab import image, qemu
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.link_shells import Folders, LinkEvents, LinkShells, Origin
from leogym.kernel_bridge.runner.plan import NS_PER_S, PACKET_BYTES, Limit, Plan, PlannedLink

NAME = "lab"
WIRE = "wire"
ETHERNET_BYTES = 14
FRAME_BYTES = PACKET_BYTES + ETHERNET_BYTES
"""The size that Linux's queueing disciplines count for a packet on an Ethernet device."""
MIN_PACKET_BYTES = 60  # the smallest packet, which bounds the number of packets in a run
BURST_BYTES = 3000
"""Size of a token bucket that splits larger segments: below two frames, but large enough to lose no token if
a timer is a few instructions late."""

_SAMPLE = np.dtype([(name, "<i8") for name in ("time_ns", "packets", "bytes", "drops", "queued")])
_KNOBS = {
    "target_ms": "target",
    "interval_ms": "interval",
    "tupdate_ms": "tupdate",
    "alpha": "alpha",
    "beta": "beta",
    "flows": "flows",
    "quantum_bytes": "quantum",
    "memory_bytes": "memory_limit",
    "depth_packets": "depth",
    "bandwidth_mbps": "bandwidth",
    "rtt_ms": "rtt",
    "alpha_hz": "alpha",
    "beta_hz": "beta",
    "coupling": "coupling_factor",
    "step_ms": "step_thresh",
    "classic_percent": "classic_protection",
}
"""A discipline's parameters: the scenario's names and tc's."""
_SWITCHES = {
    "ecn": ("ecn", "noecn"),
    "any_ect": ("any_ect", "l4s_ect"),
    "drop_overload": ("drop_on_overload", "overflow"),
}
"""Parameters that are on or off: tc's words for both."""


class LeoInGuest(LeoLinks):
    """One ``mm-leo`` for each link, which only sleeps (``--no-spin``)."""

    name = NAME

    def missing(self) -> str | None:
        """Return one line about the first thing that this machine lacks, or None."""
        if (lack := missing()) is not None:
            return lack
        if f"bin/{image.MM_LEO}" not in image.latest().manifest["files"]:
            remedy = f"{install('kernel')}, or make setup in a clone; then {image.BUILD}"
            return f"lab: the image has no mm-leo: {remedy}"
        return None

    def programs(self) -> list[Path]:
        """Return mm-leo's name, because the guest has a copy."""
        return [Path(image.MM_LEO)]

    def link(self, plan: Plan, link: PlannedLink, folders: Folders) -> LinkShells:
        """Write a link's path trace; return its shells."""
        shells = super().link(plan, link, folders)
        return LinkShells([_sleeping(command) for command in shells.commands], shells.logs)

    def access(self, delay_ns: int, where: str, folders: Folders) -> list[str]:
        """Return the shell that delays by ``delay_ns`` each way."""
        return _sleeping(super().access(delay_ns, where, folders))


class Wires:
    """Linux's queueing disciplines; see `kernel_bridge.inside.wires`."""

    name = NAME
    calls_iptables = False

    def missing(self) -> str | None:
        """Return one line about the first thing that this machine lacks, or None."""
        return missing()

    def programs(self) -> list[Path]:
        """Return no programs, because the guest has them."""
        return []

    def check(self, plan: Plan, link: PlannedLink) -> None:
        """Raise InputError for a link that Linux cannot express."""
        where = f"{plan.name}: --backend {self.name}: links.{link.name}"
        qdisc(link.spec.queue, link.limit, where)

    def link(self, plan: Plan, link: PlannedLink, folders: Folders) -> LinkShells:
        """Return the description by which the guest makes a link."""
        assert link.spec.delay_ms is not None
        assert link.spec.rate_mbps is not None
        wire: Wire = {
            "delay_us": _delay_us(int(link.schedule.delay_ns[0])),
            "losses": _losses(link, plan.duration_ns),
            "capacity": {
                "rate_bps": round(link.spec.rate_mbps * 1e6 * FRAME_BYTES / PACKET_BYTES),
                "burst_bytes": max(BURST_BYTES, link.spec.burst_bytes),
                "apart_bytes": BURST_BYTES,
                "queue": qdisc(link.spec.queue, link.limit, link.name),
            },
        }
        logs = [folders.work / f"{link.file_stem}.queue"]
        if wire["losses"]:
            logs.append(folders.work / f"{link.file_stem}.losses")
        return LinkShells([[WIRE, json.dumps(wire)]], logs)

    def access(self, delay_ns: int, where: str, folders: Folders) -> list[str]:
        """Return a wire that delays by ``delay_ns`` each way."""
        wire: Wire = {"delay_us": _delay_us(delay_ns), "losses": [], "capacity": None}
        return [WIRE, json.dumps(wire)]

    def events(self, link: PlannedLink, shells: LinkShells, origin: Origin, duration_ns: int) -> LinkEvents:
        """Read the samples of the counters; events between two samples get the time of the later sample."""
        samples = np.fromfile(shells.logs[0], dtype=_SAMPLE)
        at_ns = samples["time_ns"] - origin.monotonic_ns
        departed, dropped = _increments(samples["packets"]), _increments(samples["drops"])
        arrived = _increments(samples["packets"] + samples["drops"] + samples["queued"])
        departure_ns = np.repeat(at_ns, departed)
        lost_at, lost = at_ns[:0], at_ns[:0]
        if len(shells.logs) > 1:
            losses = np.fromfile(shells.logs[1], dtype=_SAMPLE)
            lost = _increments(losses["drops"])
            lost_at = losses["time_ns"] - origin.monotonic_ns
        # Lost packets have left the queue, too.
        delivered = np.maximum(departed - lost, 0) if len(lost) else departed
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.nan_to_num(_increments(samples["bytes"]) / departed).astype(np.int64) - ETHERNET_BYTES
        return LinkEvents(
            arrival_ns=np.repeat(at_ns, np.maximum(arrived, 0)),
            departure_ns=np.repeat(at_ns, delivered) if len(lost) else departure_ns,
            delivery_ns=np.repeat(at_ns, delivered) + link.schedule.delay_ns[0],
            delivered_bytes=np.repeat(size, delivered),
            drop_ns=at_ns[dropped > 0],
            dropped_packets=dropped[dropped > 0],
            loss_ns=lost_at[lost > 0],
            lost_packets=lost[lost > 0],
            marked_packets=int(shells.logs[0].with_suffix(MARKS).read_text()),
            lead_ns=0,
            delay_lead_ns=0,
            late=None,
        )


def qdisc(queue: Queue, limit: Limit | None, where: str) -> list[str]:
    """Return a queue as arguments of tc.

    Raises:
        InputError: Linux's discipline lacks such a size or parameter.
    """
    if queue.kind in ("droptail", "head_drop"):
        assert limit is not None
        if limit.unit == "packets":
            return ["pfifo" if queue.kind == "droptail" else "pfifo_head_drop", "limit", str(limit.size)]
        if queue.kind == "head_drop":
            raise InputError(f"{where}.queue.bytes: Linux's pfifo_head_drop takes a limit in packets only")
        return ["bfifo", "limit", str(limit.size * FRAME_BYTES // PACKET_BYTES)]
    words = [queue.kind]
    if limit is not None:
        if limit.unit == "bytes" or queue.kind == "cake":
            raise InputError(f"{where}.queue.{limit.unit}: {queue.kind} takes no limit in {limit.unit}")
        words += ["limit", str(limit.size)]
    words += _knobs(queue, where)
    return words


def _knobs(queue: Queue, where: str) -> Iterator[str]:
    for knob, name in _KNOBS.items():
        value = getattr(queue, knob)
        if value is None:
            continue
        if queue.kind == "sfq" and knob == "flows":
            raise InputError(f"{where}.queue.flows: tc's sfq has no such setting")
        unit = {"ms": "ms", "mbps": "mbit"}.get(knob.rsplit("_", 1)[-1], "")
        yield from (name, f"{value:.9g}{unit}")
    for knob, words in _SWITCHES.items():
        if (value := getattr(queue, knob)) is not None:
            yield words[0] if value else words[1]


def missing() -> str | None:
    """Return one line about the first thing that this machine lacks, or None."""
    if (lack := qemu.missing()) is not None:
        return lack
    try:
        image.latest()
    except InputError as error:
        return str(error)
    return None


def _sleeping(command: Any) -> list[str]:
    return [*command[:-1], "--no-spin", command[-1]]


def _losses(link: PlannedLink, duration_ns: int) -> list[int]:
    """Return the indices, from 0, of lost packets among those that leave the queue, as in the simulator."""
    assert link.spec.rate_mbps is not None
    most = link.spec.rate_mbps * 1e6 * duration_ns / NS_PER_S / (8 * MIN_PACKET_BYTES)
    return leosim.losses(link.spec.loss, link.seed, int(most) + 1)


def _delay_us(delay_ns: int) -> float:
    # netem needs a delay to detach packets from their socket, as a network does.
    return max(1.0, delay_ns / 1e3)


def _increments(count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a counter's increase up to each of its samples."""
    return np.diff(count, prepend=0)
