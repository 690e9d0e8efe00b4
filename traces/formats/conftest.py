"""Series for the tests of formats."""

import numpy as np
from hypothesis import strategies as st

from leogym.traces.capacity.columns import OneWay
from leogym.traces.formats.series import Series, unreachable_events, without_overtaking


def make_series(rows, period_ms, loss=0.0):
    """Return a series from (time_ms, delay_ms, uplink_mbps, downlink_mbps, connected) rows.

    Delay and connected may be pairs, up and down.
    """
    time_ms, delay_ms, uplink, downlink, connected = (list(column) for column in zip(*rows, strict=True))

    def whole(values):
        return np.round(np.array(values) * 1e6).astype(np.int64)

    def way(direction, mbps):
        delays, up = (
            [one[direction] if isinstance(one, tuple) else one for one in column]
            for column in (delay_ms, connected)
        )
        return OneWay(whole(delays), whole(mbps), np.full(len(rows), float(loss)), np.array(up, dtype=bool))

    up, down = way(0, uplink), way(1, downlink)
    events = unreachable_events(up.connected, down.connected)
    period_ns = round(period_ms * 1_000_000)
    return Series(period_ns, whole(time_ms), up, down, np.zeros(len(rows), dtype=np.int64), events)


@st.composite
def random_series(draw, unit_ms=1):
    """Draw a series with up to 12 rows at odd times, and a period that is a multiple of ``unit_ms``."""
    count = draw(st.integers(1, 12))
    gaps_us = draw(st.lists(st.integers(1, 400_000), min_size=count, max_size=count))
    time_us = np.concatenate([[0], np.cumsum(gaps_us)])
    period_ms = -(-int(time_us[-1]) // (unit_ms * 1000)) * unit_ms
    rate, delay, flag = st.one_of(st.just(0.0), st.floats(0.001, 400.0)), st.floats(0.5, 200.0), st.booleans()
    if draw(flag):
        # Each direction has its own.
        delay, flag = st.tuples(delay, delay), st.tuples(flag, flag)
    series = make_series(
        [(us / 1000, draw(delay), draw(rate), draw(rate), draw(flag)) for us in time_us[:-1].tolist()],
        period_ms,
    )
    return without_overtaking(series)[0]
