"""Adaptive video against a slow reference, and in simulations."""

import itertools
import json
import math
import random
from typing import Any

import leosim
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leogym.configs.scenario import Scenario, Video

RULES = ["bba", "bola", "rate", "mpc", "robust_mpc"]
PAST, HORIZON = 5, 5


def prediction(throughputs: list[float], cautious: bool) -> float:
    """Return the harmonic mean of the last throughputs, less its largest recent error (Yin et al. §4.3)."""
    past = throughputs[-PAST:]
    errors = [0.0]
    for index in range(max(1, len(throughputs) - PAST), len(throughputs)):
        before = throughputs[max(0, index - PAST) : index]
        predicted = len(before) / sum(1 / value for value in before)
        errors.append(abs(predicted - throughputs[index]) / throughputs[index])
    return len(past) / sum(1 / value for value in past) / (1 + max(errors) if cautious else 1)


def best_qoe(video: Video, rates: list[float], first: int, last: int, buffer_s: float, mbps: float) -> float:
    """Return the best QoE of the next chunks of which the first has the bitrate ``first``: all sequences."""
    best = -math.inf
    for rest in itertools.product(range(len(rates)), repeat=HORIZON - 1):
        buffer, before, total = buffer_s, rates[last], 0.0
        for level in (first, *rest):
            download_s = rates[level] * video.chunk_s / mbps
            stall_s = max(0.0, download_s - buffer)
            buffer = min(max(0.0, buffer - download_s) + video.chunk_s, video.buffer_s)
            total += rates[level] - abs(rates[level] - before) - rates[-1] * stall_s
            before = rates[level]
        best = max(best, total)
    return best


def values(
    video: Video, rates: list[float], levels: list[int], buffer_s: float, throughputs: list[float]
) -> list[float]:
    """Return what each bitrate is worth to a rule; it takes the first of the best."""
    top = len(rates) - 1
    last = levels[-1] if levels else 0
    if video.adaptation == "bba":
        # Huang et al., algorithm 1.
        span_s = video.cushion_s
        mapped = rates[0] + (rates[top] - rates[0]) * (buffer_s - video.reservoir_s) / span_s
        up, down = rates[min(last + 1, top)], rates[max(last - 1, 0)]
        if buffer_s <= video.reservoir_s:
            chosen = 0
        elif buffer_s >= video.reservoir_s + span_s:
            chosen = top
        elif mapped >= up:
            chosen = max((n for n in range(top + 1) if rates[n] < mapped), default=0)
        elif mapped <= down:
            chosen = min((n for n in range(top + 1) if rates[n] > mapped), default=top)
        else:
            chosen = last
        return [float(n == chosen) for n in range(top + 1)]
    if video.adaptation == "bola":
        # Spiteri et al., eq. 9, with Q in chunks.
        utilities = [math.log(rate / rates[0]) for rate in rates]
        weight = (video.buffer_s / video.chunk_s - 1) / (utilities[-1] + 5)
        chunks = buffer_s / video.chunk_s
        return [
            (weight * (utility + 5) - chunks) / rate for utility, rate in zip(utilities, rates, strict=True)
        ]
    if not throughputs:
        return [1.0] + [0.0] * top
    mbps = prediction(throughputs, video.adaptation == "robust_mpc")
    if video.adaptation == "rate":
        return [rate if rate <= mbps else -rate for rate in rates]
    return [best_qoe(video, rates, first, last, buffer_s, mbps) for first in range(top + 1)]


def check_against_reference(video: Video, downloads_ns: list[int]) -> dict[str, Any]:
    """Play a video with the core and assert that a client in seconds of its own does the same."""
    bitrates, buffers, seen = leosim.play_video(video.model_dump_json(), downloads_ns)
    rates = [rate / 1e3 for rate in video.bitrates_kbps or [350, 600, 1000, 2000, 3000]]
    chunk, most = round(video.chunk_s * 1e9), round(video.buffer_s * 1e9)
    buffer, startup, stalls, levels, throughputs = 0, None, [], [], []
    now = 0
    for download, bitrate, after_s in zip(downloads_ns, bitrates, buffers, strict=True):
        worth = values(video, rates, levels, buffer / 1e9, throughputs)
        level = rates.index(bitrate)
        assert worth[level] >= max(worth) - 1e-9 * abs(max(worth))
        if video.adaptation not in ("mpc", "robust_mpc"):
            assert level == worth.index(max(worth))
        now += download
        if startup is None:
            startup = now
        else:
            stalls.append(max(0, download - buffer))
        buffer = max(0, buffer - download) + chunk
        levels.append(level)
        throughputs.append(rates[level] * video.chunk_s / (download / 1e9))
        assert after_s == pytest.approx(buffer / 1e9, abs=1e-9)
        # Wait until another chunk fits.
        wait = max(0, buffer + chunk - most)
        now, buffer = now + wait, buffer - wait
    taken = [rates[level] for level in levels]
    changes = [abs(after - before) for before, after in itertools.pairwise(taken)]
    assert startup is not None
    stalled_s = sum(stalls) / 1e9
    qoe = (sum(taken) - sum(changes) - rates[-1] * (stalled_s + startup / 1e9)) / len(taken)
    assert seen["startup_s"] == pytest.approx(startup / 1e9, abs=1e-9)
    assert seen["rebuffer_s"] == pytest.approx(stalled_s, abs=1e-9)
    assert seen["rebuffers"] == sum(stall > 0 for stall in stalls)
    assert seen["bitrate_mbps"] == pytest.approx(sum(taken) / len(taken))
    assert seen["switches"] == sum(change > 0 for change in changes)
    assert seen["qoe"] == pytest.approx(qoe, abs=1e-9)
    return seen


@pytest.mark.parametrize("rule", RULES)
def test_the_client_equals_a_slow_reference(rule):
    random_ = random.Random(rule)
    for _ in range(3 if "mpc" in rule else 40):
        video = Video(adaptation=rule, bitrates_kbps=None if "mpc" not in rule else [350.0, 1000.0, 3000.0])
        mean_s = random_.choice([0.5, 2.0, 4.0, 8.0])
        downloads = [round(random_.expovariate(1 / mean_s) * 1e9) + 1 for _ in range(40)]
        check_against_reference(video, downloads)


@settings(max_examples=60)
@given(
    st.sampled_from(["bba", "bola", "rate"]),
    st.lists(st.integers(1, 100_000), min_size=1, max_size=6, unique=True),
    st.sampled_from([0.5, 1.0, 2.0, 4.0, 10.0]),
    st.lists(st.integers(1, 30_000_000_000), min_size=1, max_size=30),
)
def test_the_client_equals_the_reference_with_any_bitrates_and_chunks(rule, bitrates, chunk_s, downloads):
    video = Video(
        adaptation=rule,
        bitrates_kbps=[float(rate) for rate in sorted(bitrates)],
        chunk_s=chunk_s,
        buffer_s=3 * chunk_s,
    )
    check_against_reference(video, downloads)


def simulated(rate_mbps: float, duration_s: float = 120.0, **video: Any) -> dict[str, Any]:
    """Return the run log's row of a video over a link of 20 ms each way."""
    scenario = Scenario.model_validate(
        {
            "duration_s": duration_s,
            "links": {"a": {"rate_mbps": rate_mbps, "delay_ms": 20.0, "queue": {"packets": 100}}},
            "flows": [{"scheme": "cubic", "route": ["a"], "workload": {"video": video}}],
        }
    )
    [log] = leosim.run([scenario.to_json()], {})
    return log.flows[0]


@pytest.mark.parametrize("rule", RULES)
def test_a_video_over_a_fast_link_starts_within_round_trips_and_plays_the_highest_bitrate(rule):
    seen = simulated(50.0, adaptation=rule)
    assert seen["workload"] == "video"
    # The 121 packets of the lowest bitrate take four windows, of 10, 20, 40 and 80 packets.
    assert 0.16 < seen["startup_s"] < 0.2
    assert (seen["rebuffers"], seen["rebuffer_s"]) == (0, 0.0)
    assert seen["bitrate_mbps"] > 2.4
    # It downloads as much as it plays, and a full buffer more.
    played_mbps = seen["goodput_mbps"] * 120 / (120 + 30)
    assert seen["bitrate_mbps"] == pytest.approx(played_mbps, rel=0.05)


def test_a_video_above_the_capacity_stands_still_for_the_rest_of_the_time():
    seen = simulated(1.0, 400.0, bitrates_kbps=[2000])
    payload_mbps = 1448 / 1500
    assert seen["goodput_mbps"] == pytest.approx(payload_mbps, rel=0.03)
    assert seen["rebuffer_s"] + seen["startup_s"] == pytest.approx(400 * (1 - payload_mbps / 2), abs=12)
    assert seen["switches"] == 0
    assert seen["qoe"] < 0


def test_a_video_that_never_starts_has_the_qoe_of_a_user_who_waits():
    seen = simulated(0.01, 20.0)
    assert (seen["startup_s"], seen["bitrate_mbps"]) == (None, None)
    assert seen["qoe"] == pytest.approx(-3.0 * 20.0, rel=1e-3)


def test_a_video_that_cannot_be_is_refused():
    with pytest.raises(leosim.InputError, match=r"chunk_s: must be a number from 0\.1 to 60"):
        leosim.play_video(json.dumps({"chunk_s": 0}), [1])
