import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leogym.common.errors import InputError
from leogym.traces.formats import hypatia


def _read(tmp_path, text):
    file = tmp_path / "rtt.txt"
    file.write_text(text)
    return hypatia.read(file, 100.0)


def test_delays_are_half_of_the_rtts_and_zero_is_unreachable(tmp_path):
    text = "0,0\n100000000,29423137.7582285441\n200000000,0\n300000000,0\n400000000,30000000\n"
    series = _read(tmp_path, text)
    assert series.up.delay_ns.tolist() == [14_711_569, 14_711_569, 14_711_569, 14_711_569, 15_000_000]
    assert series.up.connected.tolist() == [False, True, False, False, True]
    assert series.event == ["unreachable", "", "unreachable", "", ""]
    assert series.period_ns == 500_000_000
    assert set(series.up.bps.tolist()) == {100_000_000}


def test_a_file_that_starts_later_is_moved_to_0(tmp_path):
    assert _read(tmp_path, "500,20\n700,30\n").time_ns.tolist() == [0, 200]


@given(
    rtts=st.lists(st.one_of(st.just(0.0), st.floats(2.0, 2e8)), min_size=2, max_size=50),
    step_ns=st.integers(1, 10**9),
)
def test_a_round_trip_keeps_every_rtt_to_a_nanosecond(tmp_path_factory, rtts, step_ns):
    if not any(rtts):
        return
    text = "".join(f"{index * step_ns},{rtt:.10f}\n" for index, rtt in enumerate(rtts))
    series = _read(tmp_path_factory.mktemp("hypatia"), text)
    assert series.time_ns.tolist() == [index * step_ns for index in range(len(rtts))]
    back = np.where(series.up.connected, 2 * series.up.delay_ns, 0)
    assert back == pytest.approx(np.array(rtts), abs=1.01)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": file: is empty"),
        ("0,20\n", ":1: file: must have at least two rows"),
        ("0,20\n1\n", ":2: row: must be time_ns,rtt_ns, not 1 columns"),
        ("0,20\n0,20\n", ":2: time_ns: must be after the row before"),
        ("0,20\nx,20\n", ":2: time_ns: must be an integer from 0 to"),
        ("0,20\n1,nan\n", ":2: rtt_ns: must be a number from 0 to 1.9998e+10, not 'nan'"),
        ("0,20\n1,-1\n", ":2: rtt_ns: must be a number from 0 to"),
        ("0,0\n1,0\n", ":2: rtt_ns: is 0 in every row: the pair is never connected"),
    ],
)
def test_a_malformed_file_is_named_with_line_and_rule(tmp_path, text, message):
    with pytest.raises(InputError) as error:
        _read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'rtt.txt'}{message}")
