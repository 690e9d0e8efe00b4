import math
import os
import signal
import time

import pytest

from leogym.common.processes import descendants
from tests.support.lateness import Lateness


def test_a_machine_that_stood_still_is_a_reason_to_skip_and_one_that_did_not_is_none():
    children = set(descendants(os.getpid()))
    with Lateness(prompt=False) as lateness:
        sleepers = set(descendants(os.getpid())) - children
        assert len(sleepers) == len(os.sched_getaffinity(0))
        for sleeper in sleepers:
            os.kill(sleeper, signal.SIGSTOP)
        time.sleep(0.05)  # measured as lateness
        for sleeper in sleepers:
            os.kill(sleeper, signal.SIGCONT)
    assert lateness.worst_ms > 45
    assert lateness.quantile_ms(0.0) <= lateness.quantile_ms(0.99) <= lateness.worst_ms
    lateness.skip_above(lateness.worst_ms)
    with pytest.raises(pytest.skip.Exception, match="this machine stood still for"):
        lateness.skip_above(45)
    with pytest.raises(pytest.skip.Exception, match="99th percentile"):
        lateness.skip_above(math.inf, often_ms=-1)
