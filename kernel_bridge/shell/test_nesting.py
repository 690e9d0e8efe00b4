"""mm-leo inside and outside mahimahi's shells, with a real flow."""

import json

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge import mahimahi
from leogym.kernel_bridge.mahimahi import Delay, Link, Loss, Server, read_log, run
from leogym.kernel_bridge.shell import Leo, missing

pytestmark = pytest.mark.real_time

LACK = mahimahi.missing() or missing()
MTU = 1500
LIMIT_S = 60
"""Only guards against hangs."""

needs_shells = pytest.mark.skipif(LACK is not None, reason=LACK or "")


def flow_behind(shells):
    """Return iperf3's only stream of a short upload through the shells, and the command's user id."""
    finished = run(
        shells,
        ["sh", "-c", "id -u; exec iperf3 --json --bytes 300K --client $MAHIMAHI_BASE"],
        servers=[Server(["iperf3", "--server", "--one-off"], 5201)],
        timeout_s=LIMIT_S,
    )
    assert finished.status == 0, finished.stdout + finished.stderr
    user, report = finished.stdout.split("\n", 1)
    return json.loads(report)["end"]["streams"][0], int(user)


@needs_shells
def test_between_mahimahis_shells_it_adds_its_delay_and_its_command_stays_an_ordinary_users(tmp_path):
    opportunities = tmp_path / "12.trace"
    opportunities.write_text("1\n")
    link = Link(opportunities, opportunities, uplink_log=tmp_path / "up.log")
    leo = Leo(
        delay_ms=15,
        rate_mbps=50,
        options=("--max-late-ms=10000",),
        log=tmp_path / "log",
        report=tmp_path / "r",
    )
    stream, user = flow_behind([Delay(5), leo, Loss("downlink", 0.0), link])
    # 2 × (5 + 15) ms; mahimahi counts whole milliseconds.
    assert stream["sender"]["min_rtt"] >= 39_000, "µs"
    assert user != 0
    report = json.loads((tmp_path / "r").read_text())
    assert report["uplink"]["delivered_bytes"] > stream["receiver"]["bytes"] > 0
    for direction in ("uplink", "downlink"):
        counts = report[direction]
        fates = ("delivered", "dropped", "lost", "under_way")
        assert counts["offered"] == sum(counts[fate] for fate in fates)
    inner = read_log(tmp_path / "up.log")
    assert "[delay 5 ms] [leo 15 ms] [loss down=0]" in " ".join(inner.header)
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    offered = [int(line[3]) for line in lines if line[1:3] == ["u", "+"]]
    assert len(offered) == report["uplink"]["offered"]
    # Data that left mm-link arrived at mm-leo, except what mm-loss still held when the command ended.
    # (The kernel between them adds packets of its own about the address that is then gone.)
    assert 0 < offered.count(MTU) <= np.sum(inner.departure_bytes == MTU)


@needs_shells
def test_it_nests_in_itself():
    late = ("--max-late-ms=10000",)
    shells = [Leo(delay_ms=4, rate_mbps=50, options=late), Leo(delay_ms=8, rate_mbps=80, options=late)]
    stream, _ = flow_behind([*shells, Leo(delay_ms=3, rate_mbps=90, options=late)])
    assert stream["sender"]["min_rtt"] >= 30_000, "µs"


@needs_shells
def test_a_trace_that_it_refuses_is_named_as_the_caller_knows_it(tmp_path):
    trace = tmp_path / "no.csv"
    trace.write_text("time,delay\n")
    with pytest.raises(RuntimeError, match=rf"{trace}:1: metadata: the first line must be"):
        run([Leo(trace)], ["true"], timeout_s=LIMIT_S)


def test_a_link_needs_a_trace_or_a_delay_and_a_rate():
    with pytest.raises(InputError, match="give exactly one of them"):
        Leo()
    with pytest.raises(InputError, match="rate_mbps: required without a trace"):
        Leo(delay_ms=5)
    assert Leo(delay_ms=2.5, rate_mbps=100, options=("--seed=3",)).arguments() == [
        *("mm-leo", "--seed=3", "--rate-mbps=100", "--delay-ms=2.5", "--")
    ]
