import numpy as np
import pytest

from leogym.kernel_bridge.runner.link_shells import LinkEvents
from leogym.kernel_bridge.runner.plan import plan
from leogym.kernel_bridge.runner.run_folder import _find_fault
from leogym.kernel_bridge.runner.run_log import FlowRecord
from leogym.kernel_bridge.runner.socket_log import Counts
from tests.support.scenarios import scenario

CALL = {"scheme": "gcc", "route": ["l"], "workload": {"call": {}}}
NOTHING = np.zeros(0, dtype=np.int64)


def _events(**late):
    return LinkEvents(*(NOTHING,) * 8, marked_packets=0, lead_ns=0, delay_lead_ns=0, **late)


@pytest.mark.parametrize(
    ("flows", "late", "fault"),
    [
        ([CALL], {"late": None, "late_if_steady": "late"}, None),
        (
            [CALL, {"scheme": "reno", "route": ["l"]}],
            {"late": None, "late_if_steady": "late"},
            "links.l: late",
        ),
        ([CALL], {"late": "mm-leo was late"}, "links.l: mm-leo was late"),
    ],
)
def test_a_link_over_which_only_workloads_flow_is_not_late_because_they_pause(flows, late, fault):
    planned = plan(
        scenario(1, {"l": {"rate_mbps": 9, "delay_ms": 1}}, *flows), {}, ["gcc", "reno"], "mahimahi"
    )
    records = [FlowRecord(Counts(NOTHING, NOTHING), Counts(NOTHING, NOTHING)) for _ in flows]
    message = _find_fault(planned, [_events(**late)], records)
    assert message == (fault and f"{fault}: this machine is too slow or too busy")
