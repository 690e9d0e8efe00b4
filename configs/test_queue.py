"""Tests of the queue's schema, and that the simulator supports every kind and knob."""

from typing import Any

import leosim
import pytest
from pydantic import ValidationError

from leogym.configs.queue import KNOBS, Queue
from tests.support.scenarios import one_link

VALUES: dict[str, Any] = {
    "target_ms": 10.0,
    "interval_ms": 200.0,
    "tupdate_ms": 30.0,
    "alpha": 1,
    "beta": 10,
    "ecn": True,
    "flows": 64,
    "quantum_bytes": 300,
    "memory_bytes": 1_000_000,
    "depth_packets": 50,
    "bandwidth_mbps": 5.0,
    "rtt_ms": 50.0,
    "alpha_hz": 0.2,
    "beta_hz": 2.0,
    "coupling": 3,
    "step_ms": 0.5,
    "classic_percent": 20,
    "any_ect": True,
    "drop_overload": False,
}


def scenario(queue: dict[str, Any]) -> str:
    return one_link(0.2, {"rate_mbps": 10.0, "delay_ms": 5.0, "queue": queue}, "cubic").to_json()


@pytest.mark.parametrize("kind", KNOBS)
def test_the_simulator_runs_every_discipline_with_every_knob_it_has(kind: str) -> None:
    for queue in ({}, {knob: VALUES[knob] for knob in KNOBS[kind]}, {"packets": 50}, {"bytes": 50_000}):
        (log,) = leosim.run([scenario({"kind": kind, **queue})], {}, threads=1)
        assert log.flows[0]["delivered_packets"] > 0


@pytest.mark.parametrize("kind", KNOBS)
def test_a_knob_that_a_discipline_lacks_is_refused_with_both_names(kind: str) -> None:
    for knob in VALUES.keys() - set(KNOBS[kind]):
        with pytest.raises(ValidationError, match=f"{kind} has no knob {knob}"):
            Queue.model_validate({"kind": kind, knob: VALUES[knob]})


def test_without_a_size_drop_tail_and_head_drop_have_one_bdp_and_the_others_what_linux_gives_them() -> None:
    assert Queue().bdp == Queue(kind="head_drop").bdp == 1.0
    assert Queue(kind="head_drop", packets=5).bdp is None
    assert Queue(kind="fq_codel").bdp is None


def test_two_sizes_are_refused() -> None:
    with pytest.raises(ValidationError, match="give one of bdp, packets and bytes"):
        Queue(bdp=1.0, packets=5)
