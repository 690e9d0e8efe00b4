"""Shells' command lines, and options that mahimahi would reject only in the middle of a run."""

from pathlib import Path

import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.mahimahi import Delay, Link, Loss, Queue, chain

UP, DOWN = Path("up.trace"), Path("down.trace")


def test_shells_nest_in_the_order_given():
    link = Link(UP, DOWN, uplink_queue=Queue("droptail", {"packets": 100}), uplink_log=Path("up.log"))
    line = chain([Delay(20), Loss("uplink", 0.01), link], ["iperf3", "-c", "there"])
    assert " ".join(line) == (
        "mm-delay 20 mm-loss uplink 0.01 mm-link up.trace down.trace "
        "--uplink-queue=droptail --uplink-queue-args=packets=100 --uplink-log=up.log -- iperf3 -c there"
    )


def test_a_queue_says_its_limits_in_mahimahis_own_words():
    codel = Queue("codel", {"packets": 500, "target": 5, "interval": 100})
    assert codel.options("downlink") == [
        "--downlink-queue=codel",
        "--downlink-queue-args=packets=500,target=5,interval=100",
    ]
    assert Queue().options("uplink") == []


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        (lambda: Delay(-1), "one_way_ms"),
        (lambda: Loss("uplink", 1.5), "probability"),
        (lambda: Loss("uplink", float("nan")), "probability"),
        (lambda: Queue("fq"), "must be one of"),
        (lambda: Queue("droptail"), "packets or bytes: required"),
        (lambda: Queue("droptail", {"packets": 1, "target": 5}), "target: unknown limit"),
        (lambda: Queue("infinite", {"packets": 1}), "packets: unknown limit"),
        (lambda: Queue("codel", {"packets": 1, "target": 5}), "interval: required"),
        (lambda: Queue("pie", {"packets": 1}), "max_burst: required"),
    ],
)
def test_a_shell_that_mahimahi_would_refuse_is_refused_by_name(build, rule):
    with pytest.raises(InputError, match=rule):
        build()
