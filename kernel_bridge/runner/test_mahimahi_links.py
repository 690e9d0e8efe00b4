import re

import leosim
import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.kernel_bridge.mahimahi.link_log import parse_log
from leogym.kernel_bridge.runner import mahimahi_links
from leogym.kernel_bridge.runner.link_shells import Folders
from leogym.kernel_bridge.runner.mahimahi_links import MahimahiLinks, drops, late, left, opportunities
from leogym.kernel_bridge.runner.plan import LEAD_NS, plan
from leogym.traces.formats.mahimahi import opportunities_ms
from tests.support.scenarios import one_link, path_trace

TRACE = path_trace("0,10,24,24,0,1,0,", "0.5,10,24,24,0,0,0,", "1,10,12,12,0,1,0,", "2,10,12,12,0,1,0,")


def _planned(**link):
    scenario = one_link(2, {"rate_mbps": 12, "delay_ms": 10, **link}, "reno")
    return plan(scenario, {}, ["reno"], "mahimahi")


def _log(events):
    header = "# mahimahi mm-link (Uplink) [up] > log\n# init timestamp: 1700000000000\n# base timestamp: 0\n"
    return parse_log((header + events).splitlines(keepends=True), "log")


def test_a_links_shells_delay_outside_lose_between_and_queue_inside(tmp_path):
    planned = _planned(loss=0.25, queue={"packets": 7})
    shells = MahimahiLinks().link(planned, planned.chain[0], Folders(tmp_path, tmp_path))
    line = " ".join(part for command in shells.commands for part in command)
    assert line == (
        "mm-delay 10 mm-loss uplink 0.25 "
        f"mm-link {tmp_path}/link-0-uplink.trace {tmp_path}/link-0-downlink.trace "
        f"--uplink-queue=droptail --uplink-queue-args=packets=7 --uplink-log={tmp_path}/link-0.log --"
    )
    lead_ms, run_ms = LEAD_NS // 1_000_000, 2000
    sent = [int(line) for line in (tmp_path / "link-0-uplink.trace").read_text().split()]
    # 12 Mbit/s are one packet per millisecond.
    assert len([ms for ms in sent if lead_ms < ms <= lead_ms + run_ms]) == run_ms


def test_both_directions_have_the_schedules_outages_at_the_schedules_times():
    second = 1_000_000_000
    trace = leosim.PathTrace.parse(TRACE, "short")
    scenario = one_link(2, {"trace": "short"}, "cubic")
    [schedule] = leosim.plan_links(scenario.to_json(), {"short": trace})
    series = opportunities(schedule, 2 * second)
    lead_ms = LEAD_NS // 1_000_000
    for direction, per_ms in (("uplink", (2, 1)), ("downlink", (1, 1))):
        due = np.concatenate(list(opportunities_ms(series, direction))) - lead_ms
        assert not ((due > 500) & (due <= 1000)).any()
        assert ((due > 0) & (due <= 500)).sum() == 500 * per_ms[0]
        assert ((due > 1000) & (due <= 2000)).sum() == 1000 * per_ms[1]


def test_drops_that_the_log_does_not_tell_follow_from_the_arrivals_that_never_left():
    # One of the three arrivals in ms 5 left; that of ms 9 may still be queued.
    log = _log(
        "5 + 1504\n5 + 1504\n5 + 1504\n6 + 1504\n7 # 1504\n7 - 1504 2\n8 # 1504\n8 - 1504 2\n9 + 1504\n"
    )
    assert [column.tolist() for column in drops(log)] == [[5], [2]]
    log = _log("5 + 1504\n5 + 1504\n5 d 1 1504\n7 # 1504\n7 - 1504 2\n")
    assert [column.tolist() for column in drops(log)] == [[5], [1]]


def test_a_shell_that_sleeps_through_its_opportunities_is_late_and_an_idle_one_is_not():
    busy = "".join(f"{ms} # 1504\n{ms} - 1504 0\n{ms} + 1504\n" for ms in range(1, 200))
    slept = "".join(f"{ms} # 1504\n{ms} - 1504 0\n" for ms in range(200, 240)) + "240 + 1504\n"
    idle = "".join(f"{ms} # 1504\n" for ms in range(200, 240)) + "240 + 1504\n"
    assert late(_log(busy), 0, 1000) is None
    assert late(_log(busy + idle), 0, 1000) is None
    assert re.search(r"1 % of the opportunities 3\d ms late", late(_log(busy + slept), 0, 1000) or "")


def test_the_next_shells_arrivals_tell_a_late_shell_from_a_sender_that_pauses(tmp_path):
    # mm-link serves a burst of 200 packets while its sender pauses for 200 ms.
    pause = "".join(f"{ms} # 1504\n{ms} - 1504 0\n" for ms in range(1, 201)) + "201 + 1504\n"
    log = _log("1 + 1504\n" + pause)
    assert re.search(r"1 % of the opportunities 1\d\d ms late", late(log, 0, 1000) or "")
    # mm-leo began 50 ms before mm-link.
    onward = tmp_path / "leo.log"
    for slept_ms in (0, 40):
        at_ms = [50.5 + max(ms, slept_ms if ms <= 40 else 0) for ms in range(1, 201)]
        onward.write_text("# {}\n40.0 u + 60\n" + "".join(f"{ms} u + 1500\n" for ms in at_ms))
        left_ms = left(log, onward, 50_000_000)
        assert left_ms is not None
        assert left_ms[[0, -1]].tolist() == [max(1, slept_ms) + 0.5, 200.5]
        message = late(log, 0, 1000, left_ms)
        assert (message is None) == (slept_ms == 0), message
    onward.write_text("# {}\n51.0 u + 1500\n")
    assert left(log, onward, 50_000_000) is None, "a shell between them has lost packets"


@pytest.mark.parametrize(
    ("link", "rule"),
    [
        ({"queue": {"kind": "fq_codel"}}, "queue.kind: fq_codel: mahimahi supports droptail, codel and pie"),
        ({"queue": {"kind": "codel", "ecn": True}}, "queue.ecn: mahimahi's queues do not"),
        ({"queue": {"kind": "pie", "alpha": 2}}, "pie supports only target_ms"),
        ({"queue": {"kind": "codel", "target_ms": 0.5}}, "queue.target: 0.5 ms: mahimahi supports"),
    ],
)
def test_a_link_that_mahimahi_cannot_express_is_refused_in_one_line(link, rule):
    planned = _planned(**link)
    with pytest.raises(InputError, match=rule) as caught:
        MahimahiLinks().check(planned, planned.chain[0])
    assert "\n" not in str(caught.value)


def test_linuxs_defaults_stand_in_for_knobs_that_mahimahi_must_be_told():
    codel = _planned(queue={"kind": "codel", "target_ms": 7}).chain[0]
    assert mahimahi_links.queue(codel, "").limits == {"packets": 1000, "target": 7, "interval": 100}
    pie = _planned(queue={"kind": "pie", "packets": 90}).chain[0]
    assert mahimahi_links.queue(pie, "").limits == {"packets": 90, "qdelay_ref": 15, "max_burst": 150}
