"""CPU time of leo-bridge per decision of Orbit."""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from leogym.kernel_bridge.bridge.process import BridgeProcess, missing
from tests.bench.bridge import GROW_S, MANY, SECONDS, described, finish, ran_ns, streams
from tests.bench.row import Row
from tests.support.veth import Pair

ORBIT = Path("agents/trained/orbit/policy")
DECISION_US = 20.0
FLOWS_A_CORE, FLOWS_INTERVAL_US = 2_000, 30_000.0


def rows() -> Iterator[Row]:
    """Yield the bridge's CPU time for an interval of orbit, and how many flows it makes a core serve."""
    if (lack := missing()) is not None:
        print(f"bench: decisions: skipped: {lack}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        # A path of microseconds is outside the known ranges, and Cubic would decide.
        policy = described(ORBIT, Path(folder), known_ranges=None)
        with (
            Pair() as pair,
            BridgeProcess({"leo_orbit": policy}) as bridge,
            bridge.client() as client,
        ):
            running = streams(pair, "leo_orbit", MANY)
            time.sleep(GROW_S)
            served, before_ns = client.status()["schemes"][0]["intervals"], ran_ns([bridge.pid])
            time.sleep(SECONDS)
            served = client.status()["schemes"][0]["intervals"] - served
            us = (ran_ns([bridge.pid]) - before_ns) / 1e3 / served
            for processes in running:
                finish(processes)
    allowed = "the most that is allowed; leo-bridge's CPU time an interval and flow"
    yield Row(f"decisions.orbit-{MANY}-flows", us, "µs", DECISION_US, allowed, 1.0, True)
    label = "flows a core at an interval of 30 ms, as asked"
    yield Row("decisions.flows-a-core-orbit", FLOWS_INTERVAL_US / us, "flows", FLOWS_A_CORE, label, 1.0)
