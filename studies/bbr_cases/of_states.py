"""Expectations of the cases about states and the transitions between them."""

from __future__ import annotations

import itertools

import numpy as np

from studies.bbr_cases.checks import (
    AFTER_STARTUP,
    LEAST_WINDOW,
    PACING_MARGIN,
    SAMPLED,
    Check,
    Checks,
    Version,
    at_end,
    equal,
    follows,
    gain,
    in_flight,
    length_s,
    rounds_in,
    within,
)
from studies.bbr_cases.course import Course, Spell


def startup_plateau(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting STARTUP on Bandwidth Plateau"."""
    spell = course.first("STARTUP")
    bandwidth = at_end(course, spell, "bw_mbps")
    share = None if bandwidth is None else bandwidth / course.capacity_mbps()
    yield within("bandwidth estimate over the link's, after STARTUP", share, 0.98, 1.02)
    if not np.isnan(course["full_bw_count"]).all():
        yield within("rounds without growth, after STARTUP", at_end(course, spell, "full_bw_count"), 3, 3)
    yield equal("state after STARTUP", follows(course, spell), "DRAIN")


def startup_loss(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting STARTUP on Loss When Application-Limited"."""
    spell = course.first("STARTUP")
    if version.number == 1:
        # Linux: bbr_check_full_bw_reached returns if the sample is application-limited, and knows no loss.
        yield equal("state 1 s after the losses", course.state_at(course.row(3.0)), "STARTUP", applies=False)
        yield within("packets lost", float(course["lost_packets"].sum()), 100, float("inf"), applies=False)
        return
    wait = None if spell is None else course["time_s"][spell.end] - course.event_s
    # A round to detect losses, a round in recovery, and parts of both.
    yield within("time from the first loss to the end of STARTUP", wait, 0.04, 0.16, "s")
    # With no more than a BDP in flight, the ACK that enters DRAIN also ends it.
    yield within("in flight over BDP after STARTUP", in_flight(course, spell), 0, 1 + SAMPLED)
    after = follows(course, spell)
    yield Check("state after STARTUP", after or "none", "DRAIN, or after it", after in AFTER_STARTUP)


def drain_inflight(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting DRAIN Based on Inflight"."""
    spell = course.first("DRAIN")
    yield gain("pacing gain in DRAIN", course, spell, version.drain_gain)
    yield within("in flight over BDP at the end of DRAIN", in_flight(course, spell), 1 - SAMPLED, 1 + SAMPLED)
    yield within("round trips in DRAIN", rounds_in(course, spell), 0, 3)
    yield Check(
        "state after DRAIN",
        follows(course, spell) or "none",
        "a state of PROBE_BW",
        follows(course, spell) in ("PROBE_DOWN", "CRUISE", "PROBE_UP"),
    )


def drain_time(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting DRAIN Based on Time"."""
    spell = course.first("DRAIN")
    if version.number == 1:
        # Linux: bbr_check_drain waits for the in-flight target alone.
        # The target includes three bursts.
        yield within(
            "in flight over BDP at the end of DRAIN", in_flight(course, spell), 0, 1 + 2 * SAMPLED, "", False
        )
        return
    yield within(
        "in flight over BDP at the end of DRAIN", in_flight(course, spell), 1 + SAMPLED, float("inf")
    )
    # CheckDrainDone: "BBR.round_count > BBR.drain_start_round + 3"
    yield within("round trips in DRAIN", rounds_in(course, spell), 4, 4)
    yield equal("state after DRAIN", follows(course, spell), "PROBE_DOWN")


def probe_up_plateau(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting PROBE_UP on Bandwidth Plateau"."""
    spell = course.first("PROBE_UP", course.event_s)
    lost = None if spell is None else float(course["lost_packets"][spell.begin : spell.end + 1].sum())
    yield within("packets lost in PROBE_UP", lost, 0, 0)
    yield gain("pacing gain in PROBE_UP", course, spell, version.up_gain)
    if version.number == 1:
        # Linux: bbr_is_next_cycle_phase. A phase of 1.25 ends after a min RTT, at 1.25 BDP in flight.
        yield within(
            "in flight over BDP at the end of PROBE_UP",
            in_flight(course, spell),
            1.25 - SAMPLED,
            1.25 + SAMPLED,
            "",
            False,
        )
    else:
        yield within("rounds without growth, after PROBE_UP", at_end(course, spell, "full_bw_count"), 3, 3)
        yield within("round trips in PROBE_UP", rounds_in(course, spell), 3, 6)
    yield equal("state after PROBE_UP", follows(course, spell), "PROBE_DOWN")


def probe_up_loss(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting PROBE_UP on Loss When Application-Limited"."""
    row = course.row(course.event_s)
    yield equal("state before the losses", course.state_at(row), "PROBE_UP")
    spell = course.at_event("PROBE_UP")
    wait = None if spell is None else course["time_s"][spell.end] - course.event_s
    yield within("time from the first loss to the end of PROBE_UP", wait, 0.02, 0.14, "s")
    # With little in flight, the ACK that enters PROBE_DOWN also ends it.
    after = follows(course, spell)
    yield Check(
        "state after PROBE_UP", after or "none", "PROBE_DOWN, or after it", after in AFTER_STARTUP[1:]
    )
    if version.number == 3:
        # HandleInflightTooHigh: "if (!RS.is_app_limited)"
        bound = None if spell is None else float(course["inflight_longterm_packets"][spell.end])
        before = float(course["inflight_longterm_packets"][row])
        yield equal("inflight_longterm", f"{bound}", f"{before}")


def _stays(course: Course, state: str, from_s: float) -> Check:
    """Return the check that a flow leaves a state for PROBE_RTT alone."""
    stays = [spell for spell in course.spells(from_s) if spell.state == state]
    next_states = {follows(course, spell) for spell in stays}
    visited = course.inside(state)
    # Between a stay's begin and the next change, or the run's end.
    changes = np.flatnonzero(np.diff(visited.astype(int))) + 1
    edges = [0, *changes.tolist(), len(visited) - 1]
    lengths = [
        float(course["time_s"][end] - course["time_s"][begin])
        for begin, end in itertools.pairwise(edges)
        if visited[begin]
    ]
    longest = max(lengths, default=0.0)
    return Check(
        f"longest time in {state}; states after it",
        f"{longest:.2f} s; {', '.join(sorted(next_states)) or 'none'}",
        "≥ 1 s; none but PROBE_RTT",
        longest >= 1.0 and next_states <= {"PROBE_RTT"},
    )


def app_limited(course: Course, version: Version) -> Checks:
    """Return the check of "Never Exiting PROBE_UP … When Application-Limited With No Loss"."""
    yield _stays(course, "PROBE_UP", 6.5)


def app_limited_startup(course: Course, version: Version) -> Checks:
    """Return the check of "Never Exiting … STARTUP When Application-Limited With No Loss"."""
    yield _stays(course, "STARTUP", 0.0)


def probe_down_inflight(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting PROBE_DOWN on Inflight"."""
    spell = course.first("PROBE_DOWN", course.event_s)
    yield gain("pacing gain in PROBE_DOWN", course, spell, version.down_gain)
    if version.number == 1:
        yield within("in flight over BDP at the end of PROBE_DOWN", in_flight(course, spell), 0, 1 + SAMPLED)
        yield within("length of PROBE_DOWN in min RTTs", _min_rtts(course, spell), 0.05, 1.3)
    else:
        bound = None
        if spell is not None:
            headroom = 0.85 * course["inflight_longterm_packets"][spell.end]
            bound = float(course["in_flight_packets"][spell.end]) / min(headroom, course.bdp(spell.end))
        yield within(
            "in flight over InflightWithHeadroom and BDP at its end", bound, 1 - 2 * SAMPLED, 1 + SAMPLED
        )
    yield equal("state after PROBE_DOWN", follows(course, spell), "CRUISE")


def _min_rtts(course: Course, spell: Spell | None) -> float | None:
    length = length_s(course, spell)
    return (
        None if spell is None or length is None else length * 1e3 / float(course["min_rtt_ms"][spell.begin])
    )


def probe_down_time(course: Course, version: Version) -> Checks:
    """Return the checks of "Exiting PROBE_DOWN After Max Time"."""
    spell = course.at_event("PROBE_DOWN")
    if version.number == 1:
        # Linux: bbr_is_next_cycle_phase. A phase of 0.75 ends after a min RTT, or earlier.
        yield within("length of PROBE_DOWN in min RTTs", _min_rtts(course, spell), 0.5, 1.5, "", False)
        yield equal("state after PROBE_DOWN", follows(course, spell), "CRUISE", False)
        return
    # BBR.bw_probe_wait is 2 to 3 s; a probe may begin earlier, after 63 round trips.
    yield within("length of PROBE_DOWN", length_s(course, spell), 2.0, 3.05, "s")
    yield equal("state after PROBE_DOWN", follows(course, spell), "REFILL")


def _probe_rtt(course: Course, version: Version, spell: Spell | None) -> Checks:
    window = None if spell is None else float(course["cwnd_packets"][spell.begin : spell.end].max())
    if version.number == 1:
        yield within("window in PROBE_RTT", window, LEAST_WINDOW, LEAST_WINDOW, "packets")
    else:
        share = None if spell is None or window is None else window / course.bdp(spell.begin)
        window_gain = version.probe_rtt_gain
        yield within("window in PROBE_RTT over BDP", share, 0.9 * window_gain, 1.02 * window_gain)
    # 200 ms from when no more than the window is in flight, and a round trip.
    yield within("length of PROBE_RTT", length_s(course, spell), 0.2, 0.33, "s")


def probe_rtt(course: Course, version: Version) -> Checks:
    """Return the checks of "Entering and Exiting PROBE_RTT"."""
    first = course.first("PROBE_RTT")
    second = None if first is None else course.first("PROBE_RTT", float(course["time_s"][first.end]))
    wait = None
    if first is not None and second is not None:
        wait = float(course["time_s"][second.begin] - course["time_s"][first.end])
    interval = version.probe_rtt_interval_s
    yield within("time from one PROBE_RTT to the next", wait, interval, interval + 0.3, "s")
    yield from _probe_rtt(course, version, first)
    yield Check(
        "state after PROBE_RTT",
        follows(course, first) or "none",
        "a state of PROBE_BW",
        follows(course, first)
        in (("CRUISE",) if version.number == 3 else ("CRUISE", "PROBE_UP", "PROBE_DOWN")),
    )
    back = (
        None
        if first is None
        else course.mean("goodput_mbps", course["time_s"][first.end] + 0.2, course["time_s"][first.end] + 1.2)
    )
    yield within(
        "goodput afterwards over the link's",
        None if back is None else back / course.capacity_mbps(),
        0.9,
        1.02,
    )


def probe_rtt_idle(course: Course, version: Version) -> Checks:
    """Return the checks of "Skipping PROBE_RTT Due to Application-Limited Sending"."""
    idle_from, resumed = course.event_s, course.event_s + 12.0
    sent = course.mean("send_mbps", idle_from + 0.5, resumed - 0.01)
    yield within("rate in the pause", sent, 0, 0, "Mbit/s")
    states = {course.state_at(row) for row in range(course.row(idle_from), course.row(resumed + 2.0))}
    yield Check(
        "PROBE_RTT in or after the pause",
        "yes" if "PROBE_RTT" in states else "no" if states - {""} else "none",
        "no",
        bool(states - {""}) and "PROBE_RTT" not in states,
    )
    row = course.row(resumed + 0.03)
    rate = float(course["pacing_mbps"][row] / course["bw_mbps"][row] / PACING_MARGIN)
    yield within("pacing gain after the pause", rate, 0.98, 1.02)
    goodput = course.mean("goodput_mbps", resumed + 0.045, resumed + 0.105) / course.capacity_mbps()
    yield within("goodput from the first ACK on, over the link's", goodput, 0.9, 1.05)


def startup_probe_rtt(course: Course, version: Version) -> Checks:
    """Return the checks of "Entering and Exiting PROBE_RTT During STARTUP"."""
    spell = course.first("PROBE_RTT")
    began = None if spell is None else float(course["time_s"][spell.begin])
    yield within(
        "start of PROBE_RTT", began, version.probe_rtt_interval_s, version.probe_rtt_interval_s + 0.5, "s"
    )
    before = "" if spell is None or spell.begin == 0 else course.state_at(spell.begin - 1)
    yield equal("state before PROBE_RTT", before, "STARTUP")
    yield equal("state after PROBE_RTT", follows(course, spell), "STARTUP")


def probe_up_longterm(course: Course, version: Version) -> Checks:
    """Return the checks of "Handling Loss During PROBE_UP After inflight_longterm is Set"."""
    spell = course.at_event("PROBE_UP")
    wait = None if spell is None else float(course["time_s"][spell.end] - course.event_s)
    yield within("time from the first loss to the end of PROBE_UP", wait, 0.02, 0.12, "s")
    yield equal("state after PROBE_UP", follows(course, spell), "PROBE_DOWN")
    if version.number == 1:
        return
    bound = course["inflight_longterm_packets"]
    before = course.row(course.event_s)
    yield within("inflight_longterm before the losses", float(bound[before]), LEAST_WINDOW, 1e6, "packets")
    after = None if spell is None else float(bound[spell.end]) / float(bound[before])
    # BBR.Beta bounds it from below.
    yield within("inflight_longterm afterwards over the one before", after, 0.4, 0.99)


def refill_app_limited(course: Course, version: Version) -> Checks:
    """Return the checks of "Handling Application-Limited Sending During PROBE_REFILL"."""
    at = course.row(course.event_s)
    state = course.state_at(at)
    paused = course.mean("send_mbps", course.event_s + 0.01, course.event_s + 0.035)
    yield within("rate in the pause", paused, 0, 0, "Mbit/s")
    if version.number == 1:
        yield equal("state in the pause (version 1 has no REFILL)", state, "CRUISE", applies=False)
    else:
        yield equal("state in the pause", state, "REFILL")
        spell = next((spell for spell in course.spells() if spell.begin <= at < spell.end), None)
        yield equal("state after REFILL", follows(course, spell), "PROBE_UP")
    before = float(course["bw_mbps"][course.row(course.event_s - 0.02)])
    lowest = float(course["bw_mbps"][at : course.row(course.event_s + 0.15)].min())
    # A maximum over ten rounds or two cycles forgets nothing in one round.
    yield within("lowest bandwidth estimate in 150 ms over the one before", lowest / before, 0.98, 1.02)
