"""Print the largest window of Vegas' slow start by the start's time: ``python -m studies.vegas``."""

import argparse

import leosim

from leogym.common.command_line import OneLineParser
from leogym.common.errors import reports_input_errors
from leogym.configs.scenario import Scenario, parse
from leogym.kernel_bridge.lab import virtual_run
from leogym.results.measurement import Measurement

FIRST_START_S, STEP_S, DURATION_S = 0.1, 0.00025, 0.72
LATE_PACKETS = 1_400
"""A larger window is a late exit's; the early exit leaves at 1,275 packets."""


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = OneLineParser(prog="python -m studies.vegas", description=__doc__)
    parser.add_argument(
        "--starts", type=int, default=32, help="number of starts, 0.25 ms apart (default: 32)"
    )
    parser.add_argument(
        "--lab", action="store_true", help="also on Linux in virtual time, some seconds a start"
    )
    return parser


def scenario(start_s: float) -> Scenario:
    """Return one Vegas flow over 94.4 Mbit/s and 57.8 ms that starts at ``start_s``."""
    link = {"rate_mbps": 94.4, "delay_ms": 28.9, "queue": {"bdp": 1.0}, "burst_bytes": 3000}
    flow = {"scheme": "vegas", "route": ["l"], "start_s": start_s}
    data = {"name": "vegas", "duration_s": DURATION_S, "seed": 1, "handshake": True}
    return parse({**data, "links": {"l": link}, "flows": [flow]}, "vegas")


@reports_input_errors
def main() -> int:
    """Print a row per start, then the number of late exits."""
    flags = arguments().parse_args()
    late = {"simulator": 0, "lab": 0}
    for index in range(flags.starts):
        start_s = round(FIRST_START_S + index * STEP_S, 6)
        planned = scenario(start_s)
        measurements: dict[str, leosim.RunLog | Measurement] = {
            "simulator": leosim.run([planned.to_json()], {})[0]
        }
        if flags.lab:
            measurements["lab"] = virtual_run.execute(planned, {})
        windows = {name: int(max(log.flow_series["cwnd_packets"])) for name, log in measurements.items()}
        for name, packets in windows.items():
            late[name] += packets > LATE_PACKETS
        print(f"{start_s:.5f} s", *(f"{name} {packets}" for name, packets in windows.items()), flush=True)
    backends = ["simulator", "lab"] if flags.lab else ["simulator"]
    print("late exits:", ", ".join(f"{backend} {late[backend]} of {flags.starts}" for backend in backends))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
