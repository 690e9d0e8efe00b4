import numpy as np
import pytest

from leogym.kernel_bridge.programs import connections


@pytest.mark.parametrize(
    ("minima_us", "wanted_ms"), [([2**32 - 1, 2**32 - 1], None), ([2**32 - 1, 41_500], 41.5)]
)
def test_a_connection_without_a_sample_of_the_rtt_has_no_minimum(minima_us, wanted_ms):
    samples = np.zeros(2, connections._SAMPLE)
    samples["time_ns"] = [10, 20]
    samples["info"]["bytes_received"] = [0, 1000]
    samples["info"]["min_rtt_us"] = minima_us
    summary = connections._summary("host", samples, 0)
    assert summary is not None
    assert summary["rtt_min_ms"] == wanted_ms
    assert summary["rtt_mean_ms"] is None
