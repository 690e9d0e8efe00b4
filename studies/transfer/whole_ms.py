"""``python -m studies.transfer.whole_ms``: the suite on mahimahi's links, which serve packets in whole ms.

It writes a path trace for each run of the suite `transfer`, and a suite over them. The traces serve packets
only at mm-link's opportunities. So the simulator runs on mm-link's link without its machine.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.common import yaml_text
from leogym.common.command_line import OneLineParser
from leogym.common.errors import reports_input_errors
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.configs import suite as suites
from leogym.configs.scenario import Scenario
from leogym.evaluation.runs.plan import draw_offset_s, seed_of
from leogym.traces.formats import mahimahi, series
from leogym.traces.formats.series import Series
from leogym.traces.path import cache

Integers = NDArray[np.int64]

SUITE = suites.FOLDER / "transfer.yaml"
SERVED_NS = 20_000
"""The packets of a millisecond leave within this time at its beginning."""
ACK_QUEUE_PACKETS = 1000
"""More than ACKs ever fill."""
MOST_LATE_NS = 950_000
"""mm-link sleeps for whole milliseconds, so it serves an opportunity up to a millisecond late."""


def in_whole_ms(path: Series, rate_mbps: float, duration_s: float, seed: int | None = None) -> Series:
    """Return the first ``duration_s`` of a path over a link that serves packets as mm-link does.

    An opportunity comes at the first whole millisecond at which the capacity so far suffices for its packet
    (`opportunities_ms`). It is lost if no packet waits. ACKs have one opportunity a millisecond, as on the
    backend's links of up to 300 Mbit/s. With ``seed``, each millisecond's opportunities are late by a
    uniformly random time below `MOST_LATE_NS`.
    """
    period_ns = round(duration_s * NS_PER_S)
    whole_ms = period_ns // NS_PER_MS
    constant = series.constant(np.zeros(1, dtype=np.int64), period_ns, np.ones(1, dtype=np.int64), rate_mbps)
    due_ms = np.concatenate(list(mahimahi.opportunities_ms(constant, "uplink")))
    # The packets due at the period's end are those of time 0.
    packets = np.bincount(due_ms % whole_ms, minlength=whole_ms)
    generator = None if seed is None else np.random.default_rng(seed)
    up_ns, up_bps = _served(packets, generator)
    down_ns, down_bps = _served(np.ones_like(packets), generator)
    time_ns = np.union1d(up_ns, down_ns)
    source = np.searchsorted(path.time_ns, time_ns, side="right") - 1
    up, down = path.up.at(source), path.down.at(source)
    return Series(
        period_ns,
        time_ns,
        replace(up, bps=up_bps[np.searchsorted(up_ns, time_ns, side="right") - 1]),
        replace(down, bps=down_bps[np.searchsorted(down_ns, time_ns, side="right") - 1]),
        path.path_id[source],
        [path.event[row] for row in source],
    )


def _served(packets: Integers, generator: np.random.Generator | None) -> tuple[Integers, Integers]:
    """Return times and capacities (bit/s) of a link that serves each millisecond's ``packets`` at once."""
    start_ns = np.arange(len(packets), dtype=np.int64) * NS_PER_MS
    if generator is not None:
        # The first row must begin at 0.
        start_ns[1:] += generator.integers(0, MOST_LATE_NS, len(packets) - 1)
    bps = packets * mahimahi.PACKET_BITS * NS_PER_S // SERVED_NS
    return (
        np.stack((start_ns, start_ns + SERVED_NS), axis=1).ravel(),
        np.stack((bps, np.zeros_like(bps)), axis=1).ravel(),
    )


def write_run(
    scenario: Scenario, name: str, rate_mbps: float, folder: Path, file_name: str, *, is_late: bool
) -> dict[str, Any]:
    """Write a run's path trace, from the run's offset on; return what the suite has for the run."""
    trace = cache.load(name)
    seed = seed_of(1, "transfer", scenario.name, 0)
    offset_s = draw_offset_s(seed, trace.period_ns / NS_PER_S)
    links = {key: link.model_copy(update={"offset_s": offset_s}) for key, link in scenario.links.items()}
    varied = scenario.model_copy(update={"links": links})
    (planned,) = leosim.plan_links(varied.model_dump_json(), {name: trace})
    path = series.from_trace(trace)
    row = int(np.searchsorted(path.time_ns, round(offset_s * NS_PER_S), side="right")) - 1
    rotated = path.rotated(int(path.time_ns[row]))
    quantised = in_whole_ms(rotated, rate_mbps, scenario.duration_s + 1, seed if is_late else None)
    series.write(quantised, {"name": name}, folder / file_name)
    return {
        "name": scenario.name,
        "trace": f"./{file_name}",
        "packets": int(planned.limit_packets or 0),
        "seed": seed,
    }


@reports_input_errors
def main(words: Sequence[str] | None = None) -> int:
    """Write the traces and the suite into a folder."""
    parser = OneLineParser(prog="python -m studies.transfer.whole_ms", description=__doc__)
    parser.add_argument("folder", type=Path, help="for the path traces and transfer.yaml")
    parser.add_argument("--late", action="store_true", help="serve each millisecond's packets late at random")
    arguments: Namespace = parser.parse_args(words)
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    template = yaml_text.read(SUITE)
    template["spread"] = [
        write_run(
            case.scenario,
            str(case.values["path"]),
            float(case.values["rate_mbps"]),
            folder,
            f"{index}.csv",
            is_late=arguments.late,
        )
        for index, case in enumerate(suites.load("transfer").cases("cubic"))
    ]
    del template["grid"]
    template["first_as_written"] = True
    template["scenario"] |= {"name": "$name", "seed": "$seed"}
    template["scenario"]["links"]["path"] = {
        "trace": "$trace",
        "queue": {"kind": "droptail", "packets": "$packets"},
        "reverse": {"queue": {"kind": "droptail", "packets": ACK_QUEUE_PACKETS}},
    }
    suite = folder / "transfer.yaml"
    suite.write_text(yaml_text.dump(template))
    print(suite)
    return 0


if __name__ == "__main__":
    sys.exit(main())
