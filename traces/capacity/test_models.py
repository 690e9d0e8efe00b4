import itertools
from operator import attrgetter

import numpy as np
import pytest

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.capacity import modcod, terminal
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
    return int(one.time_ns[np.flatnonzero(one.forward.capacity)[0]])


def test_starlinks_capacity_lies_in_its_table_and_its_uplink_is_the_smaller(slots):
    own = terminal.load("starlink")
    down = np.array([_mean(one, one.forward.capacity, 2 * NS_PER_S) for one in slots])
    up = np.array([_mean(one, one.backward.capacity, 2 * NS_PER_S) for one in slots])
    table = own.downlink.capacity_mbps
    # Seconds differ by up to 14 %, and a slot's mean over 13 of them by a tenth of it.
    assert table[0] * 0.97 < down.min() < table[1] < table[-2] < down.max() < table[-1] * 1.03
    # Four standard errors of the mean of 300 slots.
    assert down.mean() == pytest.approx(terminal.mean(table), abs=4 * down.std() / 300**0.5 + 0.5)
    assert up.mean() / down.mean() == pytest.approx(14.84 / 104.71, rel=0.07)
    assert abs(np.corrcoef(down, up)[0, 1]) < 4 / 300**0.5


def test_neighbouring_slots_correlate_as_told_and_every_slot_is_drawn_by_itself():
    tree = terminal.load("starlink").model_dump()
    tree["downlink"] |= {"capacity_correlation": 0.7, "capacity_mbps": (10.0, 90.0)}
    own = terminal.parse(tree, "here")
    model = Starlink(GRID, 4, own)
    mbps = np.array([model.values(slot)["downlink.capacity_mbps"] for slot in range(4000)])
    # Ranks correlate by 6 / π asin(ρ / 2) where normal scores correlate by ρ.
    expected = 6 / np.pi * np.arcsin(0.7 / 2)
    assert np.corrcoef(mbps[1:], mbps[:-1])[0, 1] == pytest.approx(expected, abs=0.05)
    assert np.quantile(mbps, [0, 0.25, 0.5, 0.75, 1]) == pytest.approx([10, 30, 50, 70, 90], abs=5)
    assert Starlink(GRID, 4, own).values(3999)["downlink.capacity_mbps"] == mbps[3999]


def test_every_reconfiguration_has_a_gap_and_loses_what_is_in_flight_before_it(slots):
    own = terminal.load("starlink").downlink
    gaps, losses = [], []
    for one in slots:
        gaps.append(_gap_ns(one) / NS_PER_MS)
        assert (one.forward.loss[one.time_ns < _gap_ns(one)] < 1).all()
        lost = one.forward.loss == 1
        assert lost[-1]
        assert np.diff(lost.astype(int)).sum() == 1
        losses.append(15_000 - one.time_ns[lost][0] / NS_PER_MS)
    # A burst may begin up to 15 ms after the gap.
    assert own.gap_ms[0] <= min(gaps)
    assert max(gaps) < own.gap_ms[-1] + 15
    assert np.mean(gaps) == pytest.approx(terminal.mean(own.gap_ms) + 2, abs=4 * np.std(gaps) / 300**0.5 + 2)
    assert own.lost_ms[0] <= min(losses) < max(losses) <= own.lost_ms[-1]
    assert np.mean(losses) == pytest.approx(terminal.mean(own.lost_ms), abs=4 * np.std(losses) / 300**0.5)


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


def _burst_starts_ns(one: Span):
    after = one.time_ns > 300 * NS_PER_MS
    time_ns, on = one.time_ns[after], one.forward.capacity[after] > 0
    return time_ns[on & np.append(False, ~on[:-1])]


def test_starlinks_bursts_begin_with_frames_and_as_often_as_those_of_a_measured_download(slots):
    starts = [_burst_starts_ns(one) for one in slots[:20]]
    frames = np.concatenate(starts) / (4 / 3 * NS_PER_MS)
    assert np.abs(frames - np.rint(frames)).max() < 1e-5
    # The measurement has whole milliseconds.
    pauses = np.concatenate([np.diff(times // NS_PER_MS) for times in starts])
    measured = np.repeat(list(PAUSES_MS), list(PAUSES_MS.values()))
    assert pauses.mean() == pytest.approx(measured.mean(), rel=0.02)
    ms = np.arange(20)
    ours, theirs = ((one[:, None] <= ms).mean(axis=0) for one in (pauses, measured))
    # Measured bursts leave up to a millisecond early or late, so pauses of 2 ms are more frequent there.
    assert np.abs(ours - theirs).max() < 0.06


def test_jitter_and_its_swing_stay_above_the_base_and_fall_no_faster_than_they_are_drawn():
    tree = terminal.load("starlink").model_dump()
    tree["round_trip"] |= {"base_ms": (40.0, 40.0), "jitter_ms": (0.0, 10.0), "swing": 0.5, "swing_s": 3.0}
    one = Starlink(GRID, 2, terminal.parse(tree, "here"), with_base=True).draw(0)
    rtt_ms = 2 * one.forward.extra_ns / NS_PER_MS
    assert rtt_ms.min() >= 40
    assert rtt_ms.max() > 52
    changes_ns = one.time_ns[1:][np.diff(one.forward.extra_ns) != 0]
    assert (changes_ns % (20 * NS_PER_MS) == 0).all()
    assert len(changes_ns) > 700


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
