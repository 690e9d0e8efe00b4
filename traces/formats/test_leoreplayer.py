import io

import numpy as np
import pytest
from hypothesis import given

from leogym.common.errors import InputError
from leogym.traces.formats import leoreplayer, mahimahi
from leogym.traces.formats import series as rows
from leogym.traces.formats.conftest import make_series, random_series


def test_delays_are_sampled_every_10_ms_and_rounded_to_the_nearest_ms():
    series = make_series([(0, 20.4, 1, 1, 1), (9, 20.5, 1, 1, 1), (20, 25.6, 1, 1, 0)], period_ms=40)
    assert leoreplayer.delays_ms(series).tolist() == [20, 21, 26, 26]


@given(random_series(unit_ms=10))
def test_delays_are_to_the_nearest_ms_unless_a_packet_would_overtake(series):
    delays = leoreplayer.delays_ms(series)
    row = np.searchsorted(series.time_ns, np.arange(len(delays)) * 10_000_000, side="right") - 1
    nearest = np.abs(delays * 1_000_000 - series.rtt_ns[row] / 2) <= 500_000
    assert (np.diff(delays) >= -10).all()
    assert nearest[0]
    assert (nearest[1:] | (np.diff(delays) == -10)).all()


@given(random_series(unit_ms=10))
def test_a_round_trip_gives_the_same_delays(tmp_path_factory, series):
    folder = tmp_path_factory.mktemp("leoreplayer")
    file = io.StringIO()
    count = leoreplayer.write_delays(series, file)
    (folder / "delay.txt").write_text(file.getvalue())
    back = leoreplayer.read(folder / "delay.txt", None, None, 100.0)
    assert back.period_ns == series.period_ns == count * 10_000_000
    assert back.up.delay_ns.tolist() == (leoreplayer.delays_ms(series) * 1_000_000).tolist()
    # No delay was raised, so a second export and import changes nothing.
    assert rows.without_overtaking(back)[1] == 0
    again = io.StringIO()
    leoreplayer.write_delays(back, again)
    assert again.getvalue() == file.getvalue()


def test_bandwidth_traces_of_another_length_start_over(tmp_path):
    (tmp_path / "delay.txt").write_text("20\n" * 5)
    (tmp_path / "bw.txt").write_text("".join(f"{ms}\n" for ms in range(1, 21)))
    series = leoreplayer.read(tmp_path / "delay.txt", tmp_path / "bw.txt", None, 100.0)
    assert set(series.up.bps.tolist()) == {12_000_000}
    assert set(series.down.bps.tolist()) == {100_000_000}
    assert mahimahi.read_ms(tmp_path / "bw.txt").tolist() == list(range(1, 21))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": file: is empty"),
        ("\n\n", ":2: file: every line is blank"),
        ("20\n20.5\n", ":2: delay_ms: must be an integer from 0 to 9999, not '20.5'"),
        ("20\n-1\n", ":2: delay_ms: must be an integer from 0 to 9999, not '-1'"),
        ("20\n\n20\n", ":2: delay_ms: must be an integer from 0 to 9999, not ''"),
    ],
)
def test_a_malformed_file_is_named_with_line_and_rule(tmp_path, text, message):
    (tmp_path / "delay.txt").write_text(text)
    with pytest.raises(InputError) as error:
        leoreplayer.read_delays_ms(tmp_path / "delay.txt")
    assert str(error.value).startswith(f"{tmp_path / 'delay.txt'}{message}")
