import numpy as np

from studies.startup.__main__ import Start, after_s, lines


def test_a_flow_has_started_when_nine_tenths_of_the_payload_arrive_in_an_interval_with_capacity():
    end_s = np.array([0.1, 0.2, 0.3, 0.4])
    capacity = np.array([100.0, 0.0, 100.0, 100.0])
    # 90 % of 100 Mbit/s × 1,448/1,500 is 86.88.
    assert after_s(end_s, np.array([50.0, 0.0, 86.8, 86.9]), capacity) == 0.4
    assert after_s(end_s, np.array([50.0, 60.0, 70.0, 80.0]), capacity) is None


def test_means_are_over_the_repeats_that_got_there():
    found = [Start("s", "path", "cubic", 1.0, 2.0, 0.01), Start("s", "path", "cubic", None, None, 0.03)]
    assert list(lines(found, ["cubic"]))[2:] == ["| s | path | cubic | 1.00 | 2.0 | 1 of 2 | 2.00 |"]
