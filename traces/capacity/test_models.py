import itertools
from operator import attrgetter

import numpy as np
import pytest

from leogym.configs.units import NS_PER_MS, NS_PER_S
from leogym.traces.capacity import modcod, starlink
from leogym.traces.capacity.loss import ConstantLoss, GilbertElliott
from leogym.traces.capacity.settings import LossBurst, parse_loss_burst, parse_rain
from leogym.traces.capacity.span import Grid, Span, View, combined, span
from leogym.traces.capacity.starlink import Starlink
from leogym.traces.capacity.uniform_steps import UniformSteps

GRID = Grid(15 * NS_PER_S)
FIELDS = [
    attrgetter(name)
    for name in (
        "time_ns",
        *(
            f"{way}.{name}"
            for way in ("forward", "backward")
            for name in ("capacity", "extra_ns", "loss", "up")
        ),
    )
]


def _view(start_ns, end_ns):
    return View(np.array([start_ns]), end_ns, lambda _: None)


def _same(one: Span, other: Span) -> bool:
    return all(np.array_equal(field(one), field(other)) for field in FIELDS)


@pytest.fixture(scope="module")
def slots():
    model = Starlink(GRID, 7)
    return [model.draw(slot) for slot in range(300)]


def _mean(one: Span, values, start_ns=0):
    length = np.diff(np.append(one.time_ns, 15 * NS_PER_S)) * (one.time_ns >= start_ns)
    return float((values * length).sum() / length.sum())


def _gap_ns(one: Span) -> int:
    # The loss burst starts when capacity returns.
    return int(one.time_ns[np.flatnonzero(one.forward.loss == starlink.BURST_LOSS)[0]])


def test_starlinks_capacity_lies_in_the_measured_range_and_its_uplink_is_the_smaller(slots):
    down = np.array([_mean(one, one.forward.capacity, _gap_ns(one)) for one in slots])
    up = np.array([_mean(one, one.backward.capacity, _gap_ns(one)) for one in slots])
    # The cycle cut by the gap or the slot's end moves a slot's mean by at most 0.5 %.
    assert 30 * 0.995 < down.min() < 38
    assert 60 < down.max() < 73 * 1.005
    # Four standard errors of the mean of 300 slots.
    assert down.mean() == pytest.approx(48.7, abs=4 * 8 / 300**0.5)
    assert up.mean() / down.mean() == pytest.approx(14.84 / 104.71, rel=0.05)
    assert abs(np.corrcoef(down, up)[0, 1]) < 4 / 300**0.5


def test_every_reconfiguration_has_a_gap_a_spike_and_a_burst_of_the_measured_lengths(slots):
    gaps, spikes, heights, bursts = [], [], [], []
    for one in slots:
        gap_ns = _gap_ns(one)
        gaps.append(gap_ns / NS_PER_MS)
        assert (one.forward.capacity[one.time_ns < gap_ns] == 0).all()
        assert (one.forward.extra_ns[one.time_ns < gap_ns] == 0).all()
        height = one.forward.extra_ns.max()
        heights.append(height / NS_PER_MS)
        falls = one.time_ns[one.forward.extra_ns == height].max()
        first_below = one.time_ns[(one.time_ns > falls) & (one.forward.extra_ns < height)][0]
        # The first step down comes one ramp step after the spike's end.
        spikes.append((first_below - gap_ns) / NS_PER_MS - starlink._RAMP_MS)
        over = one.time_ns[(one.forward.loss < 1) & (one.time_ns > gap_ns)][0]
        bursts.append((over - gap_ns) / NS_PER_MS)
    for drawn, (low, high) in (
        (gaps, (59, 135)),
        (spikes, (20, 110)),
        (heights, (31, 68)),
        (bursts, (30, 50)),
    ):
        assert low <= min(drawn) < max(drawn) <= high
        assert np.mean(drawn) == pytest.approx((low + high) / 2, abs=4 * (high - low) / 12**0.5 / 300**0.5)


# Milliseconds from one burst of packets to the next in LeoReplayer's example trace (LeoCC, commit 867e673),
# and how often: every packet of a saturated downlink for 120 s, without the eight reconfigurations.
PAUSES_MS = {
    2: 3349,
    3: 4384,
    4: 10104,
    5: 4488,
    6: 3579,
    7: 822,
    8: 829,
    9: 45,
    10: 35,
    11: 29,
    12: 56,
    13: 48,
}
PAUSES_MS |= {14: 11, 15: 12, 16: 2}


def _frame_starts_ns(one: Span):
    after = one.time_ns > 300 * NS_PER_MS
    time_ns, on = one.time_ns[after], one.forward.capacity[after] > 0
    return time_ns[on & np.append(False, ~on[:-1])], time_ns[~on & np.append(False, on[:-1])]


def test_starlinks_silence_is_whole_frames_of_at_most_15_ms(slots):
    longest_ns = 0
    for one in slots[:10]:
        on_ns, off_ns = _frame_starts_ns(one)
        lengths_ns = np.diff(np.sort(np.concatenate([on_ns, off_ns])))
        frames = lengths_ns / (4 / 3 * NS_PER_MS)
        assert np.abs(frames - np.rint(frames)).max() < 1e-5
        longest_ns = max(longest_ns, lengths_ns.max())
    # 11 frames take 14.67 ms, 12 would take 16 ms.
    assert 13 * NS_PER_MS < longest_ns < 15 * NS_PER_MS


def test_starlinks_bursts_come_as_often_as_those_of_a_measured_download(slots):
    starts = [_frame_starts_ns(one)[0] for one in slots[:20]]
    # The measurement has whole milliseconds.
    pauses = np.concatenate([np.diff(times // NS_PER_MS) for times in starts])
    measured = np.repeat(list(PAUSES_MS), list(PAUSES_MS.values()))
    assert pauses.mean() == pytest.approx(measured.mean(), rel=0.02)
    ms = np.arange(20)
    ours, theirs = ((one[:, None] <= ms).mean(axis=0) for one in (pauses, measured))
    # Measured bursts leave up to a millisecond early or late, so pauses of 2 ms are more frequent there.
    assert np.abs(ours - theirs).max() < 0.05


def test_an_upload_over_starlink_is_a_download_turned_round():
    down, up = Starlink(GRID, 3).draw(5), Starlink(GRID, 3, terminal_at="from").draw(5)
    assert np.array_equal(down.forward.capacity, up.backward.capacity)
    assert np.array_equal(down.backward.capacity, up.forward.capacity)
    assert (down.forward.loss.min(), up.forward.loss.min()) == pytest.approx((1e-4, 2e-3))


def test_uniform_steps_fill_their_ranges_evenly():
    model = UniformSteps(GRID, 1, rtt_ms=(10, 100), max_loss=0.01)
    drawn = [model.draw(slot) for slot in range(2000)]
    for values, low, high in (
        ([one.forward.capacity[0] for one in drawn], 50, 100),
        ([2 * one.forward.extra_ns[0] / NS_PER_MS for one in drawn], 10, 100),
        ([one.forward.loss[0] for one in drawn], 0, 0.01),
    ):
        share = (np.array(values) - low) / (high - low)
        assert 0 <= share.min() < 0.01
        assert 0.99 < share.max() <= 1
        counts, _ = np.histogram(share, bins=10, range=(0, 1))
        # Chi-square with 9 degrees of freedom exceeds 27.9 for one seed in a thousand.
        assert ((counts - 200) ** 2 / 200).sum() < 27.9
        assert abs(np.corrcoef(share[1:], share[:-1])[0, 1]) < 4 / 2000**0.5


def test_loss_leaves_the_capacities_and_delays_of_the_same_seed_alone():
    clean, lossy = (
        UniformSteps(GRID, 1, rtt_ms=(10, 100)),
        UniformSteps(GRID, 1, rtt_ms=(10, 100), max_loss=0.01),
    )
    for slot in range(5):
        one, other = clean.draw(slot), lossy.draw(slot)
        assert (one.forward.capacity[0], one.forward.extra_ns[0]) == (
            other.forward.capacity[0],
            other.forward.extra_ns[0],
        )


@pytest.mark.parametrize("burst", [LossBurst(0.01, 40, 1.0), LossBurst(0.05, 200, 0.5)])
def test_bursts_have_their_mean_length_and_the_loss_asked_for(burst):
    end_ns = round(20_000 * (burst.burst_ms + burst.pause_ms)) * NS_PER_MS
    bursts = GilbertElliott(burst, 1).window(_view(0, end_ns))
    length_ns = np.diff(np.append(bursts.time_ns, end_ns))
    bad = bursts.forward.loss > 0
    assert set(bursts.forward.loss.tolist()) == {0, burst.burst_loss}
    # With about 20,000 of each, four standard errors are below 3 %, and below 5 % for a quotient.
    assert length_ns[bad].mean() / NS_PER_MS == pytest.approx(burst.burst_ms, rel=0.03)
    assert (length_ns * bursts.forward.loss).sum() / end_ns == pytest.approx(burst.mean, rel=0.05)
    # The standard deviation of an exponential equals its mean.
    assert length_ns[bad].std() == pytest.approx(length_ns[bad].mean(), rel=0.05)


@pytest.mark.parametrize(
    "model",
    [
        lambda seed: Starlink(Grid(15 * NS_PER_S, 4 * NS_PER_S), seed),
        lambda seed: UniformSteps(Grid(15 * NS_PER_S, 4 * NS_PER_S), seed),
        lambda seed: GilbertElliott(LossBurst(0.01, 40, 1.0), seed),
        lambda seed: ConstantLoss(0.25 + seed / 100),
    ],
)
def test_a_seed_gives_the_same_values_however_a_trace_is_cut_and_another_seed_others(model):
    end_ns = 60 * NS_PER_S
    whole = model(1).window(_view(0, end_ns))
    assert _same(whole, model(1).window(_view(0, end_ns)))
    assert not _same(whole, model(2).window(_view(0, end_ns)))
    cut = model(1)
    edges = [0, 1, 10 * NS_PER_S, 11 * NS_PER_S - 1, 26 * NS_PER_S, 41_234_567_891, end_ns]
    for start_ns, stop_ns in itertools.pairwise(edges):
        part = cut.window(_view(start_ns, stop_ns))
        assert part.time_ns[0] == start_ns
        assert part.time_ns[-1] < stop_ns
        assert _same(part, whole.at(part.time_ns))


def test_slots_begin_with_re_selections_even_when_the_trace_begins_in_between():
    steps = UniformSteps(Grid(15 * NS_PER_S, 4 * NS_PER_S), 1).window(_view(0, 60 * NS_PER_S))
    assert (steps.time_ns / NS_PER_S).tolist() == [0, 11, 26, 41, 56]


def test_models_combine_capacities_as_shares_delays_as_sums_and_losses_as_chances():
    one = span(np.array([0, 10]), forward=np.array([50.0, 80.0]), extra_ns=3, loss=0.1)
    other = span(
        np.array([0, 20]), forward=0.5, extra_ns=np.array([0, 4]), loss=0.2, up=np.array([True, False])
    )
    both = combined([one, other], np.array([0, 5]))
    assert both.time_ns.tolist() == [0, 5, 10, 20]
    assert both.forward.capacity.tolist() == [25, 25, 40, 40]
    assert both.forward.extra_ns.tolist() == [3, 3, 3, 7]
    assert both.forward.loss == pytest.approx([0.28] * 4)
    assert both.forward.up.tolist() == [True, True, True, False]


def test_a_stronger_signal_is_never_slower_and_every_row_of_the_table_is_used():
    assert (np.diff(modcod.THRESHOLD_DB) > 0).all()
    assert (np.diff(modcod.BITS_PER_SYMBOL) > 0).all()
    assert modcod.best(np.array([-2.36, -2.35, 1.0, 11.6, 11.61, 99])).tolist() == [-1, 0, 3, 14, 15, 20]


def test_a_code_loses_nothing_at_its_threshold_and_everything_well_below():
    row = np.array([3, 3, 3])
    loss = modcod.residual_loss(row, np.array([1.0, 0.8, 0.6]))
    assert loss[0] == pytest.approx(1e-7)
    assert 1e-7 < loss[1] < 1
    assert loss[2] == 1


@pytest.mark.parametrize("text", ["", "0.01", "1,40", "0.5,40,0.4", "0.01,0", "nan,40", "0.01,40,1,2", "a,b"])
def test_bursts_that_mean_nothing_are_named(text):
    with pytest.raises(ValueError, match="loss_burst: must be MEAN,BURST_MS"):
        parse_loss_burst(text)


@pytest.mark.parametrize("text", ["", "-5", "0%", "11%", "300", "nan", "inf%", "wet"])
def test_rain_that_means_nothing_is_named(text):
    with pytest.raises(ValueError, match="rain: must be a rate"):
        parse_rain(text)


def test_rain_is_a_rate_a_share_of_the_year_or_any():
    assert parse_rain("20") == ("mm_per_h", 20)
    assert parse_rain("0.1%") == ("percent", 0.1)
    assert parse_rain("any")[0] == "any"
