"""Orbit's start-up on links of its development: soon, and no sooner full for jitter."""

from pathlib import Path

import leosim
import numpy as np
import pytest

from leogym.configs.scenario import parse

SERIES_S = 0.02
SHIPPED = Path(__file__).resolve().parents[1] / "trained/orbit/policy"


def filled_after_s(jitter_us: float, seed: int) -> tuple[float, float]:
    """Return when a flow alone has 90 % of 100 Mbit/s over an RTT of 100 ms, in s, and its loss rate."""
    scenario = parse(
        {
            "name": "start",
            "duration_s": 5,
            "seed": seed,
            "host_jitter_us": jitter_us,
            "links": {"path": {"rate_mbps": 100, "delay_ms": 50, "queue": {"kind": "droptail", "bdp": 2.0}}},
            "flows": [{"scheme": "orbit", "route": ["path"]}],
        },
        "start",
    )
    policy = leosim.Policy.load(str(SHIPPED))
    (log,) = leosim.run(
        [scenario.to_json()], {}, {"orbit": policy}, interval_ms=policy.interval_ms, series_ms=1000 * SERIES_S
    )
    time_s, goodput = (np.asarray(log.flow_series[name]) for name in ("time_s", "goodput_mbps"))
    full = np.flatnonzero(goodput >= 0.9 * 100 * 1448 / 1500)
    return float(time_s[full[0]]) if len(full) else np.inf, log.flows[0]["loss_rate"]


@pytest.mark.parametrize("seed", range(1, 5))
def test_jitter_is_no_queue(seed):
    """Taken for one, 2 ms of it made the start-up half as long again."""
    smooth_s, loss_rate = filled_after_s(20, seed)
    assert smooth_s < 1.2
    assert loss_rate == 0
    rough_s, loss_rate = filled_after_s(2_000, seed)
    assert rough_s <= 1.2 * smooth_s + SERIES_S
    assert loss_rate == 0
