"""Google congestion control against a plain version, and calls in simulations."""

import math
import random
from typing import Any

import leosim
import numpy as np
import pytest

from leogym.configs.scenario import Scenario

Packet = tuple[int, int, int, int]
RATES = (300_000, 30_000, 2_500_000)


def recorded(seed: int) -> list[tuple[int, int, list[Packet]]]:
    """Return reports of a call through a queue whose capacity changes, with jitter and losses."""
    random_ = random.Random(seed)
    capacity_mbps = {second: random_.choice([0.5, 1.0, 2.0, 4.0]) for second in range(0, 40, 5)}
    packets: list[Packet] = []
    free_ns, seq = 0, 0
    for frame in range(30 * 40):
        left_ns = frame * 33_333_333
        for _ in range(random_.randrange(1, 7)):
            seq += 1
            size = random_.randrange(200, 1241)
            mbps = capacity_mbps[left_ns // 10**9 // 5 * 5]
            free_ns = max(free_ns, left_ns) + round(size * 8e3 / mbps)
            if free_ns - left_ns > 400_000_000:
                free_ns -= round(size * 8e3 / mbps)
                continue
            arrived_ns = free_ns + 25_000_000 + random_.randrange(200_000)
            packets.append((seq, left_ns, max(arrived_ns, packets[-1][2] if packets else 0), size))
    reports = []
    for begin_ns in range(0, 41 * 10**9, 100_000_000):
        own = [packet for packet in packets if begin_ns <= packet[2] < begin_ns + 100_000_000]
        if own:
            reports.append((begin_ns + 125_000_000, 50_000_000 + own[-1][2] - own[-1][1], own))
    return reports


class PlainGcc:
    """The controller with its whole history: draft-ietf-rmcat-gcc-02, and libwebrtc's trend line."""

    def __init__(self, start: float, least: float, most: float) -> None:
        self.least, self.most = least, most
        self.arrivals: list[tuple[int, int]] = []
        self.groups: list[list[tuple[int, int]]] = []
        self.points: list[tuple[float, float]] = []
        self.trend = self.modified = 0.0
        self.threshold, self.adapted_ns = 12.5, None
        self.over_ms, self.over_groups = None, 0
        self.usage, self.state = 0, "hold"
        self.rate = self.loss_rate = start
        self.updated_ns = self.loss_updated_ns = None
        self.mean_kbps = self.variance = None
        self.seqs: list[int] = []
        self.loss_highest = 0

    def arrive(self, seq: int, left_ns: int, arrived_ns: int, size: int) -> None:
        self.arrivals.append((arrived_ns, size))
        self.seqs.append(seq)
        if self.groups:
            group = self.groups[-1]
            gap_ms = (arrived_ns - group[-1][1]) / 1e6
            burst = (
                gap_ms <= 5
                and gap_ms < (left_ns - max(left for left, _ in group)) / 1e6
                and arrived_ns - group[0][1] < 100_000_000
            )
            if left_ns - group[0][0] <= 5_000_000 or burst:
                group.append((left_ns, arrived_ns))
                return
        self.groups.append([(left_ns, arrived_ns)])
        if len(self.groups) < 4 - 1:
            return
        before, complete = self.groups[-3], self.groups[-2]
        departed_ms = (complete[-1][0] - before[-1][0]) / 1e6
        variation_ms = (complete[-1][1] - before[-1][1]) / 1e6 - departed_ms
        delay_ms = (self.points_delay if self.points else 0.0) + variation_ms
        self.points_delay = delay_ms
        smoothed = 0.9 * (self.points[-1][1] if self.points else 0.0) + 0.1 * delay_ms
        self.points.append(((complete[-1][1] - self.groups[0][0][1]) / 1e6, smoothed))
        trend = self.trend
        if len(self.points) >= 20:
            times, delays = np.array(self.points[-20:]).T
            trend = float(np.polyfit(times - times[0], delays, 1)[0])
        self.detect(trend, departed_ms, complete[-1][1])

    def detect(self, trend: float, departed_ms: float, at_ns: int) -> None:
        if len(self.points) < 2:
            self.trend = trend
            return
        self.modified = min(len(self.points), 60) * trend * 4
        if self.modified > self.threshold:
            self.over_ms = departed_ms / 2 if self.over_ms is None else self.over_ms + departed_ms
            self.over_groups += 1
            if self.over_ms > 10 and self.over_groups > 1 and trend >= self.trend:
                self.over_ms, self.over_groups, self.usage = 0.0, 0, 1
        else:
            self.over_ms, self.over_groups = None, 0
            self.usage = -1 if self.modified < -self.threshold else 0
        self.trend = trend
        elapsed_ms = 0.0 if self.adapted_ns is None else min((at_ns - self.adapted_ns) / 1e6, 100.0)
        self.adapted_ns = at_ns
        if abs(self.modified) <= self.threshold + 15:
            gain = 0.039 if abs(self.modified) < self.threshold else 0.0087
            moved = self.threshold + gain * (abs(self.modified) - self.threshold) * elapsed_ms
            self.threshold = min(max(moved, 6.0), 600.0)

    def update(self, now_ns: int, rtt_ns: int) -> None:
        table = {
            1: {"hold": "decrease", "increase": "decrease", "decrease": "decrease"},
            0: {"hold": "increase", "increase": "increase", "decrease": "hold"},
            -1: {"hold": "hold", "increase": "hold", "decrease": "hold"},
        }
        self.state = table[self.usage][self.state]
        latest_ns = self.arrivals[-1][0]
        received = sum(size for at, size in self.arrivals if at > latest_ns - 500_000_000) * 8 / 0.5
        elapsed_s = 0.0 if self.updated_ns is None else (now_ns - self.updated_ns) / 1e9
        self.updated_ns = now_ns
        if self.state == "increase":
            if self.mean_kbps is not None and received / 1e3 > self.mean_kbps + self.spread():
                self.mean_kbps = None
            if self.mean_kbps is None:
                grown = self.rate * 1.08 ** min(elapsed_s, 1.0)
            else:
                frame_bits = self.rate / 30
                packet_bits = frame_bits / math.ceil(frame_bits / 9600)
                share = min(elapsed_s * 1e3 / (100 + rtt_ns / 1e6), 1.0)
                grown = self.rate + max(1000.0, 0.5 * share * packet_bits)
            self.rate = self.within(min(grown, max(1.5 * received, self.rate)))
        elif self.state == "decrease":
            self.rate = self.within(min(0.85 * received, self.rate))
            sample = received / 1e3
            if self.mean_kbps is None or sample < self.mean_kbps - self.spread():
                self.mean_kbps, self.variance = sample, 0.4
            else:
                self.mean_kbps = 0.95 * self.mean_kbps + 0.05 * sample
                error = self.mean_kbps - sample
                variance = 0.95 * self.variance + 0.05 * error**2 / max(self.mean_kbps, 1.0)
                self.variance = min(max(variance, 0.4), 2.5)
        self.update_loss(now_ns)

    def update_loss(self, now_ns: int) -> None:
        if self.loss_updated_ns is None:
            self.loss_updated_ns = now_ns
        sent = max(self.seqs) - self.loss_highest if self.seqs else 0
        if now_ns - self.loss_updated_ns < 10**9 or sent == 0:
            return
        lost = 1 - min(len(self.seqs) / sent, 1.0)
        factor = 1 - 0.5 * lost if lost > 0.1 else 1.05 if lost < 0.02 else 1.0
        self.loss_rate = self.within(self.loss_rate * factor)
        self.loss_updated_ns, self.loss_highest, self.seqs = now_ns, max(self.seqs), []

    def spread(self) -> float:
        return 3 * math.sqrt(self.variance * self.mean_kbps)

    def within(self, rate: float) -> float:
        return min(max(rate, self.least), self.most)


@pytest.mark.parametrize("seed", range(4))
def test_filter_detector_and_rate_equal_a_plain_version_on_recorded_arrivals(seed):
    reports = recorded(seed)
    plain = PlainGcc(*RATES)
    signals = set()
    for (now_ns, rtt_ns, packets), state in zip(
        reports, leosim.google_congestion_control(RATES, reports), strict=True
    ):
        for packet in packets:
            plain.arrive(*packet)
        plain.update(now_ns, rtt_ns)
        modified, threshold_ms, usage, rate_bps = state
        assert modified == pytest.approx(plain.modified, rel=1e-6, abs=1e-6)
        assert threshold_ms == pytest.approx(plain.threshold, rel=1e-6)
        assert usage == plain.usage
        assert rate_bps == pytest.approx(min(plain.rate, plain.loss_rate), rel=1e-6, abs=1)
        signals.add((usage, plain.state))
    # All signals and states occur, or the comparison would say little.
    assert {usage for usage, _ in signals} == {-1, 0, 1}
    assert {state for _, state in signals} == {"hold", "increase", "decrease"}


def called(scheme: str, rate_mbps: float, **link: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return row and series of a call of two minutes over a link of 20 ms each way."""
    scenario = Scenario.model_validate(
        {
            "duration_s": 120.0,
            "links": {"a": {"rate_mbps": rate_mbps, "delay_ms": 20.0, "queue": {"packets": 60}, **link}},
            "flows": [{"scheme": scheme, "route": ["a"], "workload": {"call": {}}}],
        }
    )
    [log] = leosim.run([scenario.to_json()], {}, series_ms=1000.0)
    return log.flows[0], log.flow_series


def test_a_call_alone_reaches_its_most_without_a_queue_and_never_freezes():
    call, series = called("gcc", 20.0)
    assert call["workload"] == "call"
    # From 0.3 to 2.5 Mbit/s at 8 % per second takes 28 s.
    late = series["goodput_mbps"][(series["flow"] == 0) & (series["time_s"] > 60)]
    assert late.mean() == pytest.approx(2.5, rel=0.02)
    assert call["freezes"] == 0
    # The last of a frame's nine packets waits for the eight before it: 4 ms at 20 Mbit/s.
    assert 20.0 < call["delay_p50_ms"] < 24.5
    assert call["delay_p50_ms"] <= call["delay_p95_ms"] <= call["delay_p99_ms"] < 26.0


def test_a_call_keeps_the_queue_of_a_slow_link_short_where_a_constant_rate_fills_it():
    adaptive, series = called("gcc", 1.0)
    constant, _ = called("udp", 1.0)
    late = series["goodput_mbps"][(series["flow"] == 0) & (series["time_s"] > 60)]
    assert 0.6 < late.mean() < 1.0
    # 60 packets of 1,165 bytes take half a second.
    assert constant["delay_p50_ms"] > 400
    assert adaptive["delay_p50_ms"] < 150
    assert constant["freezes"] > 0


def test_a_call_over_a_lossy_link_falls_to_its_least_rate_and_freezes():
    call, series = called("gcc", 20.0, loss=0.5)
    late = series["goodput_mbps"][(series["flow"] == 0) & (series["time_s"] > 60)]
    assert late.mean() == pytest.approx(0.5 * 0.03, rel=0.1)
    # Six frames of a packet each must be lost in a row, which happens to one of 64.
    assert 10 < call["freezes"] < 60
    assert call["freeze_s"] > 0.18 * call["freezes"]
