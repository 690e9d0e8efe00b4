"""Standard topologies as scenarios: dumbbell, parking lot, two paths with a reroute.

    path.write_text(topologies.parking_lot(12).to_json())   # JSON is YAML: evaluate.py takes the file

The default scheme, ``$scheme``, stands for each of `evaluate.py`'s ``--schemes``. For two user pairs that
share links of a constellation, use ``leogym traces shared``.
"""

from collections.abc import Sequence
from typing import Any

from leogym.common.errors import InputError
from leogym.configs.queue import Queue
from leogym.configs.scenario import MOST_FLOWS, Scenario, parse

SCHEME = "$scheme"
MOST_BOTTLENECKS = 1000
"""Links of a parking lot."""
ONE_BDP = Queue(bdp=1.0)


def dumbbell(
    access_delays_ms: Sequence[float],
    *,
    rate_mbps: float = 100.0,
    delay_ms: float = 10.0,
    queue: Queue = ONE_BDP,
    scheme: str = SCHEME,
    gap_s: float = 0.0,
    duration_s: float = 60.0,
) -> Scenario:
    """Return flows that share one bottleneck and start ``gap_s`` apart.

    A flow's base RTT is twice the sum of the bottleneck's and its own one-way delay.
    """
    flows = [
        {"scheme": scheme, "start_s": index * gap_s, "extra_delay_ms": extra, "route": ["bottleneck"]}
        for index, extra in enumerate(access_delays_ms)
    ]
    links = {"bottleneck": {"rate_mbps": rate_mbps, "delay_ms": delay_ms, "queue": queue}}
    return _scenario(f"dumbbell-{len(flows)}", duration_s, links, flows)


def parking_lot(
    bottlenecks: int,
    *,
    rate_mbps: float = 100.0,
    rtt_ms: float = 60.0,
    rtts: int = 1000,
    queue: Queue = ONE_BDP,
    scheme: str = SCHEME,
) -> Scenario:
    """Return equal bottlenecks in a row with a flow over each; flow 0 crosses all and joins halfway.

    "Evaluating Learning Congestion Control Schemes for LEO Constellations", section IV-B: flows "cross one of
    those bottlenecks each. Another flow that crosses all bottlenecks is initiated 500 RTTs into the
    experiment. All flows experience the same base RTT." Max-min fairness gives flow 0 half of each link;
    proportional fairness gives it one part in ``bottlenecks`` + 1.

    All flows have the base RTT ``rtt_ms``, for which those over one bottleneck have access delay. The
    scenario lasts ``rtts`` base RTTs; queues in BDPs refer to ``rtt_ms``.
    """
    if bottlenecks > MOST_BOTTLENECKS:
        raise InputError(f"parking_lot: bottlenecks: {bottlenecks}: at most {MOST_BOTTLENECKS:,} may be")
    names = [f"bottleneck{index + 1}" for index in range(bottlenecks)]
    delay_ms = rtt_ms / 2 / max(bottlenecks, 1)
    links = {name: {"rate_mbps": rate_mbps, "delay_ms": delay_ms, "queue": queue} for name in names}
    duration_s = rtts * rtt_ms / 1e3
    over_all = {"scheme": scheme, "start_s": duration_s / 2, "route": names}
    rest_ms = delay_ms * (bottlenecks - 1)
    over_one = [{"scheme": scheme, "route": [name], "extra_delay_ms": rest_ms} for name in names]
    return _scenario(f"parking-lot-{bottlenecks}-{rtt_ms:g}ms", duration_s, links, [over_all, *over_one])


def two_paths(
    *,
    rate_mbps: float = 100.0,
    rtts_ms: tuple[float, float] = (20.0, 50.0),
    flows_each: int = 2,
    away_s: float = 100.0,
    back_s: float = 200.0,
    duration_s: float = 300.0,
    queue: Queue = ONE_BDP,
    scheme: str = SCHEME,
) -> Scenario:
    """Return flows on two paths; those of the second move to the first, and later back.

    Section IV-C of the same paper: base RTTs of 20 and 50 ms, "2 flows in each of those paths",
    "redirecting traffic from the second to the first path (100 seconds into the experiment) and then back to
    the original path (200 seconds into the experiment). These changes are made in place so no packets are
    lost".

    ``rtts_ms`` are the base RTTs of the first and second path.
    """
    if flows_each > MOST_FLOWS:
        raise InputError(f"two_paths: flows_each: {flows_each}: at most {MOST_FLOWS:,} may be")
    links = {
        name: {"rate_mbps": rate_mbps, "delay_ms": rtt_ms / 2, "queue": queue}
        for name, rtt_ms in zip(("first", "second"), rtts_ms, strict=True)
    }
    flows = [{"scheme": scheme, "route": [name]} for name in links for _ in range(flows_each)]
    movers = list(range(flows_each, 2 * flows_each))
    events = [
        {"at_s": at_s, "reroute": {"flows": movers, "route": [name]}}
        for at_s, name in ((away_s, "first"), (back_s, "second"))
    ]
    return _scenario("two-path-reroute", duration_s, links, flows, events)


def _scenario(
    name: str,
    duration_s: float,
    links: dict[str, Any],
    flows: list[dict[str, Any]],
    events: Sequence[dict[str, Any]] = (),
) -> Scenario:
    data = {"name": name, "duration_s": duration_s, "links": links, "flows": flows, "events": list(events)}
    return parse(data, name)
