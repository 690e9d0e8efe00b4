import json

import numpy as np
import pytest
import yaml

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.calibrate import distance, measured, recovery
from leogym.traces.calibrate.fit import fit
from leogym.traces.calibrate.measured import Capacity, made, of_series, probed, simulated
from leogym.traces.calibrate.observed import Sample, observe
from leogym.traces.capacity import terminal
from leogym.traces.capacity.columns import OneWay
from leogym.traces.capacity.span import Grid
from leogym.traces.capacity.starlink import Starlink, _jitter_ms
from leogym.traces.formats import series as rows

GRID = Grid(15 * NS_PER_S)
DRAWN = {"capacity": {"terminal_at": "to"}, "provenance": "drawn by LeoGym"}


def _known(**changed):
    tree = terminal.load("starlink").model_dump()
    # Few bursts make few rows.
    tree["frames"] = {"apart": (0.0,) * 7 + (0.5, 0.5), "burst_ms": (3.0, 5.0)}
    tree["downlink"] |= {"capacity_mbps": (60.0, 80.0, 100.0, 140.0), "gap_ms": (60.0, 80.0, 140.0)}
    tree["uplink"] |= {"capacity_mbps": (6.0, 8.0, 10.0, 14.0), "gap_ms": (60.0, 80.0, 140.0)}
    tree["round_trip"] |= {"base_ms": (60.0, 90.0, 102.0), "jitter_ms": (0.0, 0.0)}
    for group, values in changed.items():
        tree[group] |= values
    return terminal.parse(tree, "known")


def _measured(parameters, slots, seed):
    return of_series(made(Starlink(GRID, seed, parameters, with_base=True), slots), GRID, DRAWN, "known")


def test_made_from_known_parameters_it_finds_them():
    truth = _known()
    path = _measured(truth, 60, 3)
    found = fit(observe([path]), [path], terminal.load("starlink"), rounds=2).terminal
    # Within 5 % of 59 slots' own values: what is left is which values they drew.
    drawn = simulated(truth, path, 3).drawn
    assert drawn is not None
    for field in ("downlink.capacity_mbps", "uplink.capacity_mbps", "downlink.gap_ms", "round_trip.base_ms"):
        group, name = field.split(".")
        table = getattr(getattr(found, group), name)
        own = np.quantile(drawn[field], np.linspace(0, 1, len(table)))
        assert np.abs(np.array(table) - own).mean() < 0.05 * own.mean(), field
    assert found.frames.apart[7:] == pytest.approx((0.5, 0.5), abs=0.025)
    assert terminal.mean(found.frames.burst_ms) == pytest.approx(4, rel=0.05)


def test_a_probe_waits_for_capacity_both_ways():
    ms = np.array([0, 30, 40, 60], dtype=np.int64) * NS_PER_MS
    up = np.array([0, 8, 8, 8]) * 1_000_000
    down = np.array([8, 8, 0, 8]) * 1_000_000
    delay_ns, loss, yes = np.full(4, 5 * NS_PER_MS), np.array([0.5, 0, 0.1, 0.2]), np.ones(4, bool)
    series = rows.Series(
        100 * NS_PER_MS,
        ms,
        OneWay(delay_ns, up, loss, yes),
        OneWay(delay_ns, down, np.array([0, 0, 0, 0.5]), yes),
        np.zeros(4, dtype=np.int64),
        [""] * 4,
    )
    sent_ns, rtt_ms, lost = probed(series, 10 * NS_PER_MS)
    assert (sent_ns[:6] // NS_PER_MS).tolist() == [0, 10, 20, 30, 40, 50]
    # Sent at 0: leaves at 30, there at 35, back at 40. Sent at 40: there at 45, leaves at 60, back at 65.
    assert rtt_ms[:6].tolist() == [40, 30, 20, 10, 25, 15]
    assert lost[:6] == pytest.approx([0, 0, 0, 0, 0.55, 0.55])


def test_a_capacitys_bins_carry_what_its_rows_do():
    capacity = Capacity(np.array([0, 3, 10], dtype=np.int64), 20, np.array([6.0, 0.0, 2.0]))
    assert capacity.binned(5).mbps.tolist() == [3.6, 0, 2, 2]
    begin_ns, end_ns, on = capacity.runs()
    assert (begin_ns.tolist(), end_ns.tolist(), on.tolist()) == ([0, 3, 10], [3, 10, 20], [True, False, True])


def test_the_distance_is_that_of_scipy():
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(1)
    one, other = rng.normal(size=200), np.round(rng.normal(0.3, size=150), 1)
    assert distance.kolmogorov_smirnov(one, other) == pytest.approx(ks_2samp(one, other).statistic)
    assert distance.by_chance(100, 100) == pytest.approx(1.358 * 0.02**0.5)


@pytest.mark.parametrize("table", [(1.0, 2.0), (0.0, 1.0, 2.0, 3.0, 5.0, 9.0)])
def test_how_far_the_jitter_swings_shows_whatever_it_multiplies(table):
    own = terminal.RoundTrip(
        base_ms=(10.0, 10.0), jitter_ms=table, jitter_correlation=0.6, swing=0.5, swing_s=2.0
    )
    slots = [_jitter_ms(np.random.default_rng(slot), 700, own) for slot in range(200)]
    part = Sample(np.concatenate(slots), np.repeat(np.arange(200), 700))
    swing, swing_s = distance.swing((part,), np.array([20 * NS_PER_MS]))
    # 2,800 s are 700 independent values of the factor.
    assert swing == pytest.approx(0.5, rel=0.1)
    assert swing_s == pytest.approx(2.0, rel=0.25)


def test_jitter_that_does_not_swing_has_none():
    still = Sample(np.ones(1400), np.repeat(np.arange(2), 700))
    assert distance.swing((still,), np.array([20 * NS_PER_MS]))[0] == pytest.approx(0, abs=1e-12)
    assert distance.swing((), np.zeros(0, dtype=np.int64))[0] == 0


def test_what_all_fits_have_in_common_is_bias_and_the_rest_shrinks_with_more_data():
    truth = np.array([1.0, 3.0])
    found = recovery.of_fits("x", truth, [np.array([1.1, 3.3]), np.array([0.9, 3.1])])
    # Errors .1, .3, .1, .1 of a mean of 2; the mean fit is 1, 3.2; variances .02 and .02.
    assert found.error == pytest.approx(0.075)
    assert found.bias == pytest.approx(0.05)
    assert found.spread == pytest.approx(0.02**0.5 / 2)
    unbiased = recovery.of_fits("x", truth, [np.array([1.1, 3.0]), np.array([0.9, 3.0])])
    assert unbiased.needs == pytest.approx(unbiased.spread**2 / 0.05**2)
    biased = recovery.of_fits("x", truth, [np.array([1.1, 3.3]), np.array([1.1, 3.4])])
    assert np.isnan(biased.needs), "no data help against a bias of more than 5 %"
    assert np.isnan(recovery.of_fits("x", truth, [truth]).spread)


def _trace(folder, name, slots=8, **about):
    series = made(Starlink(GRID, 1, _known(), with_base=True), slots)
    head = {"name": name, "reattach_s": 15.0, "reattach_phase_s": 0.0, "provenance": "drawn", **about}
    rows.write(series, head, folder / name)
    return folder / name


def test_the_command_writes_parameters_that_synth_takes_and_a_picture(
    run_traces, tmp_path, monkeypatch, capsys
):
    data, out, picture = _trace(tmp_path, "mine.csv"), tmp_path / "mine.yaml", tmp_path / "fit.svg"
    monkeypatch.setattr(measured, "FEWEST_SIMULATED", 8)
    assert run_traces("calibrate", data, "--hold-out --out", out, "--picture", picture) == 0
    told = capsys.readouterr().out
    for line in (
        "fitted to 4 slots, judged by 4",
        "down_gap_ms",
        "autocorrelation of the RTT",
        "downlink.capacity",
    ):
        assert line in told
    assert picture.read_bytes().startswith(b"<?xml")
    made_from = yaml.safe_load(out.read_text())
    assert made_from["about"] == "fitted to 4 slots of mine.csv"
    assert "calibrate" in made_from["sources"]["command"]
    trace = tmp_path / "again.csv"
    assert run_traces("synth", "starlink", "--model", out, "--duration", 20, "--out", trace) == 0
    assert (
        json.loads(trace.read_text().splitlines()[0][2:])["capacity"]["terminal"]["about"]
        == made_from["about"]
    )


def test_recover_shows_each_fields_error(run_traces, tmp_path, monkeypatch, capsys):
    truth = tmp_path / "truth.yaml"
    truth.write_text(yaml.safe_dump(json.loads(_known().model_dump_json())))
    monkeypatch.setattr(measured, "FEWEST_SIMULATED", 8)
    assert run_traces("recover", truth, "--slots", 8, "--repeats", 1) == 0
    told = capsys.readouterr().out
    assert told.startswith("1 times 8 slots of 15 s (0.0 h)")
    for field in ("downlink.capacity_mbps", "uplink.gap_ms", "round_trip.base_ms", "frames.apart"):
        assert field in told
    # The truth has no jitter, so that no error is relative to it.
    [line] = [line for line in told.splitlines() if "jitter_ms" in line]
    assert line.split() == ["round_trip.jitter_ms"]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("--slots 7", "recover: --slots: must be from 8 to 20,000, not 7"),
        ("--repeats 0", "recover: --repeats: must be from 1 to 100, not 0"),
        ("--seed -1", "recover: --seed: must be at least 0, not -1"),
        ("nowhere", "model: 'nowhere': neither a file nor a known terminal"),
    ],
)
def test_recovers_bad_input_is_one_line_and_exit_status_2(words, rule, refused_traces):
    assert rule in refused_traces("recover", words)


@pytest.mark.parametrize(
    ("about", "words", "rule"),
    [
        ({}, "--model nowhere", "model: 'nowhere': neither a file nor a known terminal"),
        ({}, "--picture fit.txt", "fit.txt: --picture: must end with one of .png, .svg, .pdf"),
        ({}, "--reattach-s -1", "calibrate: --reattach-s: must be from 0 to 3,600, not -1"),
        ({}, "--seed -1", "calibrate: --seed: must be at least 0, not -1"),
        ({"reattach_s": None}, "", "mine.csv: reattach_s: the trace tells no reconfigurations"),
        (
            {"reattach_s": 40.0},
            "",
            "mine.csv: period: 0 whole slots of 40 s are too few to fit: must be at least 4",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(refused_traces, about, words, rule, tmp_path, monkeypatch):
    data = _trace(tmp_path, "mine.csv", slots=2, **about)
    monkeypatch.chdir(tmp_path)
    assert rule in refused_traces("calibrate", data.name, words)


def test_a_path_on_which_nothing_varies_has_nothing_to_fit(tmp_path):
    time_ns = np.arange(0, 100 * NS_PER_S, NS_PER_S, dtype=np.int64)
    series = rows.constant(time_ns, 100 * NS_PER_S, np.full(100, NS_PER_MS), 10.0)
    head = {"name": "x", "reattach_s": 15.0, "reattach_phase_s": 0.0, "provenance": "imported from x (irtt)"}
    rows.write(series, head, tmp_path / "still.csv")
    with pytest.raises(InputError, match=r"still\.csv: capacity, delay: both are constant: nothing to fit"):
        measured.load(str(tmp_path / "still.csv"))
