"""Series for the tests of formats."""

import numpy as np
from hypothesis import strategies as st

from leogym.traces.formats.series import Series, unreachable_events, without_overtaking


def make_series(rows, period_ms, loss=0.0):
    """Return a series from (time_ms, delay_ms, uplink_mbps, downlink_mbps, connected) rows."""
    time_ms, delay_ms, uplink, downlink, connected = (np.array(column) for column in zip(*rows, strict=True))

    def whole(values, scale):
        return np.round(values * scale).astype(np.int64)

    return Series(
        round(period_ms * 1_000_000),
        whole(time_ms, 1e6),
        whole(delay_ms, 1e6),
        whole(uplink, 1e6),
        whole(downlink, 1e6),
        np.full(len(rows), float(loss)),
        connected.astype(bool),
        np.zeros(len(rows), dtype=np.int64),
        unreachable_events(connected.astype(bool)),
    )


@st.composite
def random_series(draw, unit_ms=1):
    """Draw a series with up to 12 rows at odd times, and a period that is a multiple of ``unit_ms``."""
    count = draw(st.integers(1, 12))
    gaps_us = draw(st.lists(st.integers(1, 400_000), min_size=count, max_size=count))
    time_us = np.concatenate([[0], np.cumsum(gaps_us)])
    period_ms = -(-int(time_us[-1]) // (unit_ms * 1000)) * unit_ms
    rate = st.one_of(st.just(0.0), st.floats(0.001, 400.0))
    series = make_series(
        [
            (us / 1000, draw(st.floats(0.5, 200.0)), draw(rate), draw(rate), draw(st.booleans()))
            for us in time_us[:-1].tolist()
        ],
        period_ms,
    )
    return without_overtaking(series)[0]
