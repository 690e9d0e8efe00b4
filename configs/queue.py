"""The queue in front of a link: discipline, size and knobs, with tc(8)'s names."""

from typing import Annotated, Any, Literal

from pydantic import model_validator

from leogym.common.strict import Range
from leogym.configs.part import Part

QueueKind = Literal[
    "droptail", "head_drop", "gateway", "sfq", "codel", "fq_codel", "pie", "fq_pie", "cake", "dualpi2"
]
SIZES = ("bdp", "packets", "bytes")
OF_ONE_BDP = ("droptail", "head_drop")
"""Disciplines that hold one BDP unless a size is given."""
FLOW_QUEUES = ("flows", "quantum_bytes", "memory_bytes")
KNOBS: dict[str, tuple[str, ...]] = {
    "droptail": (),
    "head_drop": (),
    "gateway": (),
    "sfq": ("flows", "quantum_bytes", "depth_packets"),
    "codel": ("target_ms", "interval_ms", "ecn"),
    "fq_codel": ("target_ms", "interval_ms", "ecn", *FLOW_QUEUES),
    "pie": ("target_ms", "tupdate_ms", "alpha", "beta", "ecn"),
    "fq_pie": ("target_ms", "tupdate_ms", "alpha", "beta", "ecn", *FLOW_QUEUES),
    "cake": ("bandwidth_mbps", "rtt_ms", "memory_bytes"),
    "dualpi2": (
        *("target_ms", "tupdate_ms", "alpha_hz", "beta_hz", "coupling"),
        *("step_ms", "classic_percent", "any_ect", "drop_overload"),
    ),
}
"""Each discipline's knobs apart from its size."""

Milliseconds = Annotated[float, Range(ge=0.001, le=1e6)]


class Queue(Part):
    """A queue. At most one of ``bdp``, ``packets`` and ``bytes`` sets its size.

    Unspecified parameters use Linux's defaults; ``droptail`` and ``head_drop`` without a size hold one BDP.
    """

    kind: QueueKind = "droptail"
    """``head_drop``, when full, drops the oldest waiting packet, like tc's ``pfifo_head_drop``. ``gateway``
    is a GEO gateway's buffer: it drops a quarter of arrivals while it is over half full."""
    bdp: Annotated[float, Range(gt=0, lt=1e6)] | None = None
    """Size in bandwidth-delay products: link rate × largest base RTT routed over it at the start."""
    packets: Annotated[int, Range(ge=1, lt=2**64)] | None = None
    """Size in packets."""
    bytes: Annotated[int, Range(ge=1500, lt=2**64)] | None = None
    """Size in bytes."""
    target_ms: Milliseconds | None = None
    """Target queueing delay: 5 for CoDel, 15 for PIE and DualPI2's classic queue by default."""
    interval_ms: Milliseconds | None = None
    """CoDel: how long the delay must exceed the target, 100 by default; about the largest RTT."""
    tupdate_ms: Milliseconds | None = None
    """PIE and DualPI2: update interval of the drop probability, 15 and 16 by default."""
    alpha: Annotated[int, Range(ge=0, le=32)] | None = None
    """PIE: weight of the delay's deviation, 2 by default."""
    beta: Annotated[int, Range(ge=0, le=32)] | None = None
    """PIE: weight of the delay's change, 20 by default."""
    alpha_hz: Annotated[float, Range(gt=0, le=1e3)] | None = None
    """DualPI2: weight of the delay's deviation at each update, 0.16 by default."""
    beta_hz: Annotated[float, Range(gt=0, le=1e3)] | None = None
    """DualPI2: weight of the delay's change at each update, 3.2 by default."""
    coupling: Annotated[int, Range(ge=1, le=255)] | None = None
    """DualPI2: marks in the L queue per square root of drops in the C queue, 2 by default."""
    step_ms: Milliseconds | None = None
    """DualPI2: the L queue marks all packets that waited longer, 1 by default."""
    classic_percent: Annotated[int, Range(ge=0, le=100)] | None = None
    """DualPI2: the C queue's share of the capacity while both queues are busy, 10 by default."""
    any_ect: bool | None = None
    """DualPI2: all ECN-capable packets belong into the L queue, not only those with ECT(1) or CE."""
    drop_overload: bool | None = None
    """DualPI2: both queues drop when the L queue would mark everything; on by default."""
    ecn: bool | None = None
    """Mark packets of ECN flows instead of dropping them; on by default for ``fq_codel``."""
    flows: Annotated[int, Range(ge=1, le=65_536)] | None = None
    """Number of flow queues."""
    quantum_bytes: Annotated[int, Range(ge=64, le=1 << 20)] | None = None
    """Bytes that a flow queue sends per round."""
    memory_bytes: Annotated[int, Range(ge=1500, lt=2**64)] | None = None
    """Capacity of all flow queues together."""
    depth_packets: Annotated[int, Range(ge=1, lt=2**64)] | None = None
    """SFQ: capacity of each flow queue."""
    bandwidth_mbps: Annotated[float, Range(gt=1e-3, lt=1e7)] | None = None
    """CAKE: shaper rate; no shaper by default."""
    rtt_ms: Milliseconds | None = None
    """CAKE: AQM interval, 100 by default."""

    @model_validator(mode="before")
    @classmethod
    def _default_size(cls, data: Any) -> Any:
        if (
            isinstance(data, dict)
            and data.get("kind", "droptail") in OF_ONE_BDP
            and not {*SIZES} & data.keys()
        ):
            return {**data, "bdp": 1.0}
        return data
