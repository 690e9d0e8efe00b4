"""Links emulated by mm-leo, the simulator's link in real time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.configs.queue import KNOBS, Queue
from leogym.kernel_bridge.mahimahi import command as mahimahi
from leogym.kernel_bridge.runner.link_shells import Folders, LinkEvents, LinkShells, Origin
from leogym.kernel_bridge.runner.plan import Plan, PlannedLink
from leogym.kernel_bridge.shell import leo as mm_leo
from leogym.kernel_bridge.shell.leo import NAME

if TYPE_CHECKING:
    import polars as pl

QUEUES = ("droptail", "head_drop", "codel", "fq_codel", "pie", "cake", "sfq", "dualpi2", "gateway")
UNLIMITED = "unlimited"


class LeoLinks:
    """One ``mm-leo`` per link.

    Args:
        both_ways: whether the reverse direction has the link's capacity, losses and queue, or those of
            ``reverse``, as programs need. Otherwise it only delays, as flows need.
    """

    name = "kernel"
    calls_iptables = False

    def __init__(self, *, both_ways: bool = False) -> None:
        self._both_ways = both_ways

    def missing(self) -> str | None:
        """Return one line about the first thing that this machine lacks, or None."""
        if (lack := mm_leo.missing()) is not None:
            return f"{self.name}: {lack}"
        return mahimahi.missing(self.name, shells=False)

    def programs(self) -> list[Path]:
        """Return the path of mm-leo."""
        return [program] if (program := mm_leo.program()) else []

    def check(self, plan: Plan, link: PlannedLink) -> None:
        """Refuse a link that the shells cannot express."""
        where = f"{plan.name}: --backend {self.name}: links.{link.name}.queue"
        queue, reverse = link.spec.queue, link.spec.reverse
        if reverse is not None and reverse.queue not in (queue, Queue()):
            raise InputError(
                f"{plan.name}: links.{link.name}.reverse.queue: mm-leo has one queue for both ways"
            )
        if queue.kind not in QUEUES:
            raise InputError(f"{where}.kind: {queue.kind}: mm-leo supports {', '.join(QUEUES)}")
        for knob in KNOBS[queue.kind]:
            if getattr(queue, knob) is not None:
                raise InputError(f"{where}.{knob}: mm-leo's {queue.kind} is fixed to Linux's defaults")

    def link(self, plan: Plan, link: PlannedLink, folders: Folders) -> LinkShells:
        """Write a link's path trace and return its shells."""
        options = [f"--queue={link.spec.queue.kind}", f"--seed={link.seed}"]
        if link.limit is not None:
            options.append(f"--queue-{link.limit.unit}={link.limit.size}")
        if link.spec.loss:
            options.append(f"--uplink-loss={link.spec.loss!r}")
        if link.spec.rate_mbps is not None:
            options.append(f"--uplink-mbps={link.spec.rate_mbps!r}")
        if link.csv is not None and link.spec.outage == "drop":
            options.append("--outage=drop")
        if plan.ack_jitter_ns and link is plan.chain[0]:
            options.append(f"--downlink-jitter-ms={plan.ack_jitter_ns / NS_PER_MS!r}")
        options += self._downlink(link)
        log = folders.work / f"{link.file_stem}.log"
        return LinkShells([leo(link, plan.lead_ns, folders, log, options)], [log])

    def _downlink(self, link: PlannedLink) -> list[str]:
        if not self._both_ways:
            return [f"--downlink-mbps={UNLIMITED}"]
        way = link.spec if link.spec.reverse is None else link.spec.reverse
        options = [f"--downlink-mbps={way.rate_mbps!r}"] if way.rate_mbps is not None else []
        return [*options, f"--downlink-loss={way.loss!r}"]

    def access(self, delay_ns: int, where: str, folders: Folders) -> list[str]:
        """Return the shell that adds this delay in each direction."""
        return [
            str(folders.private / NAME),
            f"--delay-ms={delay_ns / NS_PER_MS!r}",
            f"--rate-mbps={UNLIMITED}",
            "--",
        ]

    def events(self, link: PlannedLink, shells: LinkShells, origin: Origin, duration_ns: int) -> LinkEvents:
        """Read mm-leo's log."""
        import polars as pl  # here, as in `link_events`

        (log,) = shells.logs
        header, report = header_of(log), report_of(log)
        shift_ns = header["began_monotonic_ns"] - origin.monotonic_ns
        ahead_ns = -shift_ns - origin.lead_ns if link.schedule.varies else 0
        events = link_events(log, "u").with_columns(pl.col("at_ns") + shift_ns)
        arrived, departed, dropped, lost = (events.filter(pl.col("kind") == kind) for kind in "+-dl")
        # The log has times of arrival at the link's end, a propagation after the departure from the queue.
        due_ns = (departed["at_ns"] - departed["late_ns"]).to_numpy()
        guess_ns = due_ns - link.schedule.delay_at(due_ns + ahead_ns)
        departure_ns = due_ns - link.schedule.delay_at(guess_ns + ahead_ns)
        return LinkEvents(
            arrival_ns=arrived["at_ns"].to_numpy(),
            departure_ns=np.maximum.accumulate(departure_ns) if len(due_ns) else departure_ns,
            delivery_ns=departed["at_ns"].to_numpy(),
            delivered_bytes=departed["count"].to_numpy(),
            drop_ns=dropped["at_ns"].to_numpy(),
            dropped_packets=dropped["count"].to_numpy(),
            loss_ns=lost["at_ns"].to_numpy(),
            lost_packets=lost["count"].to_numpy(),
            marked_packets=int(report["uplink"]["marked"]),
            lead_ns=-shift_ns,
            delay_lead_ns=-shift_ns,
            late=late(report),
        )


def leo(link: PlannedLink, lead_ns: int, folders: Folders, log: Path, options: list[str]) -> list[str]:
    """Write a link's path trace; return its command line of mm-leo, which begins ``lead_ns`` before the run.

    The reverse path has the delay and outages of the trace's other direction.
    """
    line = [str(folders.private / NAME)]
    if link.csv is None:
        line.append(f"--delay-ms={link.spec.delay_ms!r}")
    else:
        trace = folders.work / f"{link.file_stem}.csv"
        trace.write_bytes(link.csv)
        start_ns = (round(link.spec.offset_s * NS_PER_S) - lead_ns) % link.period_ns
        line += [str(trace), f"--start-s={start_ns / NS_PER_S!r}"]
    return [*line, *options, f"--log={log}", "--"]


def link_events(log: Path, direction: str) -> pl.DataFrame:
    """Return one row per event of a direction (``u`` or ``d``) in mm-leo's log.

    Columns: at_ns since the link began; kind (``+``, ``-``, ``d`` or ``l``); count, of bytes or packets; and,
    of departures, after_ns since the packet's arrival, and late_ns.
    """
    import polars as pl  # here, because the import takes time and most commands read no logs

    # Lines have a varying number of fields, which CSV readers refuse. No line contains \x00.
    lines = pl.read_csv(
        log,
        separator="\0",
        has_header=False,
        new_columns=["line"],
        comment_prefix="#",
        quote_char=None,
        schema_overrides={"line": pl.String},
        raise_if_empty=False,
    )
    if lines.is_empty():
        lines = pl.DataFrame(schema={"line": pl.String})
    field = pl.col("line").str.split_exact(" ", 5).struct.field

    def time_ns(name: str) -> pl.Expr:
        return (field(name).cast(pl.Float64) * NS_PER_MS).round().cast(pl.Int64)

    return lines.filter(pl.col("line").str.contains(f" {direction} ", literal=True)).select(
        at_ns=time_ns("field_0"),
        kind=field("field_2"),
        count=field("field_3").cast(pl.Int64),
        after_ns=time_ns("field_4"),
        late_ns=time_ns("field_5"),
    )


def header_of(log: Path) -> dict[str, Any]:
    """Return the first line of mm-leo's log."""
    with log.open(encoding="utf-8") as file:
        return json.loads(file.readline().removeprefix("# "))


def report_of(log: Path) -> dict[str, Any]:
    """Return the last line of mm-leo's log."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        return json.loads(file.read().decode().splitlines()[-1].removeprefix("# "))


def late(report: dict[str, Any]) -> str | None:
    """Return why mm-leo was too late for a valid run, or None."""
    return None if report["valid"] else f"mm-leo: {report['fault']}"
