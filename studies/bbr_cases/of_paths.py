"""Expectations of the cases about paths: aggregation, small and changing rates, policers, reordering."""

from __future__ import annotations

import numpy as np

from studies.bbr_cases.checks import (
    GROWING_ROUNDS,
    LEAST_WINDOW,
    LONGEST_RECOVERY_S,
    Check,
    Checks,
    Version,
    at_end,
    equal,
    rounds_in,
    within,
)
from studies.bbr_cases.course import Course, Spell


def startup_aggregation(course: Course, version: Version) -> Checks:
    """Return the checks of "Achieving Expected STARTUP Bandwidth on a Link With Aggregation"."""
    spell = course.first("STARTUP")
    end = 0 if spell is None else spell.end
    extra = float(course["extra_acked_packets"][: end + 1].max())
    # ACKs that wait for 20 ms cover up to what the link carries in that time.
    batch = course.capacity_mbps() * 1e6 * 0.02 / 8 / 1448
    yield within("extra_acked over an ACK batch, in STARTUP", extra / batch, 0.5, 3.0)
    window = float(course["cwnd_packets"][: end + 1].max()) / course.bdp(end)
    yield within("window over BDP, in STARTUP", window, 2.0, 6.0)
    bandwidth = at_end(course, spell, "bw_mbps")
    # A sample that spans two silences can count three batches.
    yield within(
        "bandwidth estimate over the link's, after STARTUP",
        None if bandwidth is None else bandwidth / course.capacity_mbps(),
        0.95,
        1.5,
    )


def cruise_aggregation(course: Course, version: Version) -> Checks:
    """Return the checks of "Achieving Expected Cruise Bandwidth on a Link With Aggregation"."""
    before, after = course.row(course.event_s - 0.05), course.row(course.event_s + 2.0)
    batch = course.capacity_mbps() * 1e6 * 0.06 / 8 / 1448
    rise = float(course["extra_acked_packets"][after] - course["extra_acked_packets"][before])
    yield within("rise of extra_acked over an ACK batch", rise / batch, 0.5, 2.0)
    spell = course.first("CRUISE", course.event_s + 1.5)
    row = 0 if spell is None else spell.end - 1
    window = float(course["cwnd_packets"][row]) - 2 * course.bdp(row)
    share = window / (float(course["extra_acked_packets"][row]) or float("nan"))
    yield within("window beyond 2 BDP over extra_acked, in CRUISE", share, 0.8, 1.2)
    goodput = course.mean("goodput_mbps", course.event_s + 1.0, course.event_s + 5.0)
    # Two BDPs without extra_acked would last for 80 of every 100 ms.
    yield within("goodput over the link's", goodput / course.capacity_mbps(), 0.9, 1.02)


def sub_packet(course: Course, version: Version) -> Checks:
    """Return the checks of "Correctly Managing Sub-Packet BDPs"."""
    after = course["time_s"] > course.event_s
    yield within("least window", float(course["cwnd_packets"][after].min()), LEAST_WINDOW, 8, "packets")
    cruising = after & course.inside("CRUISE")
    rate = float(course["pacing_mbps"][cruising].mean()) if cruising.any() else float("nan")
    yield within("pacing rate over the link's, in CRUISE", rate / course.capacity_mbps(), 0.95, 1.05)
    yield within(
        "goodput over the link's", course.mean("goodput_mbps", 5.0, 20.0) / course.capacity_mbps(), 0.95, 1.01
    )


def rate_up(course: Course, version: Version) -> Checks:
    """Return the checks of "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached"."""
    now = course["bw_mbps"] / course.capacity_mbps()
    later = course["time_s"] > course.event_s
    full = np.flatnonzero(later & (now >= 0.95))
    probe = course.first("PROBE_UP", course.event_s)
    rounds = None
    if len(full) and probe is not None:
        rounds = float(course["round"][full[0]] - course["round"][probe.begin])
    # O(log BDP): a factor of at most 1.25 a round trip, and as long again until it shows. Linux's phase, too,
    # lasts until there are 1.25 BDP in flight (bbr_is_next_cycle_phase).
    yield within(
        "round trips from the first probe to 95 % of the link",
        rounds,
        4,
        2 * np.log(10) / np.log(version.up_gain),
    )
    if version.number == 1:
        return
    ratio = _growth_of_steps(course, probe)
    yield within("inflight_longterm's step over the previous round's", ratio, 1.6, 2.5)


def _growth_of_steps(course: Course, probe: Spell | None) -> float | None:
    """Return the median ratio of inflight_longterm's growth from one round of a probe to the next."""
    if probe is None:
        return None
    bound, rounds = course["inflight_longterm_packets"], course["round"]
    inside = range(probe.begin, probe.end)
    starts = [row for row in inside if row == probe.begin or rounds[row] > rounds[row - 1]]
    # Later, the bound no longer limits the window.
    values = [float(bound[row]) for row in starts[:GROWING_ROUNDS]]
    steps = np.diff(values)
    steps = steps[np.isfinite(steps) & (steps > 0)]
    return float(np.median(steps[1:] / steps[:-1])) if len(steps) > 1 else None


def rate_down(course: Course, version: Version) -> Checks:
    """Return the checks of "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down"."""
    share = course["bw_mbps"] / course.capacity_mbps()
    later = course["time_s"] > course.event_s
    if version.number == 1:
        # Linux: bbr_bw_rtts. The filter forgets after ten round trips.
        down = np.flatnonzero(later & (share <= 1.1))
        rounds = (
            float(course["round"][down[0]] - course["round"][course.row(course.event_s)])
            if len(down)
            else None
        )
        yield within(
            "round trips until the bandwidth estimate is at most 1.1 times the link's", rounds, 2, 14
        )
        return
    short = course["bw_shortterm_mbps"] / course.capacity_mbps()
    adapted = np.flatnonzero(later & (short <= 1.2))
    rounds = (
        float(course["round"][adapted[0]] - course["round"][course.row(course.event_s)])
        if len(adapted)
        else None
    )
    # Beta of 0.7 a round trip with losses: 7 for a factor of 10, and as many without losses in between.
    yield within("round trips until bw_shortterm is at most 1.2 times the link's", rounds, 1, 14)
    ups = [spell for spell in course.spells(course.event_s) if spell.state == "PROBE_UP"]
    # The filter advances a round trip after each PROBE_UP.
    row = ups[1].end if len(ups) > 1 else None
    third = ups[2].begin if len(ups) > 2 else None
    value = None if row is None else float(share[(third or len(share)) - 1])
    yield within("bandwidth estimate over the link's, two cycles later", value, 0.9, 1.1)


def policer(course: Course, version: Version) -> Checks:
    """Return the checks of "Handling Token Bucket Policers"."""
    sent, goodput = (course.mean(name, 20.0, 40.0) for name in ("send_mbps", "goodput_mbps"))
    # Packets of which none arrives count here, even if the sender has not noticed.
    lost = 1 - goodput / (sent * course.capacity_mbps() / course.steps[-1][1]) if sent else None
    if version.number == 3:
        bounds = np.isfinite(course["bw_shortterm_mbps"]) & (course["time_s"] > 1.0)
        lowest = (
            float(course["bw_shortterm_mbps"][bounds].min()) / course.capacity_mbps()
            if bounds.any()
            else None
        )
        yield within("lowest bw_shortterm over the token rate", lowest, 0.3, 1.1)
    else:
        # Linux: bbr_lt_bw_max_rtts. After two lossy intervals of equal rates, it paces at their rate for 48
        # rounds, and a cycle goes on with any phase. Otherwise it probes every eight rounds.
        calm = [rounds_in(course, spell) or 0.0 for spell in course.spells(20.0) if spell.state == "CRUISE"]
        yield within("most round trips without a probe, after 20 s", max(calm, default=float("nan")), 48, 64)
    yield within("goodput over the token rate, after 20 s", goodput / course.capacity_mbps(), 0.75, 1.02)
    # A sender that went on at 1.25 times the token rate would lose 20 %.
    yield within("lost after 20 s", None if lost is None else 100 * lost, 0, 10, "%")


def _undone(course: Course, version: Version) -> Checks:
    before = course.row(course.event_s)
    again = float(course["retransmitted_packets"][before:].sum())
    yield within("packets sent again", again, 1, float("inf"))
    later = course["time_s"] > course.event_s
    rows = np.flatnonzero(later & (course["time_s"] <= course.event_s + 1.5))
    window = course["cwnd_packets"]
    low = int(rows[np.argmin(window[rows])])
    back = float(window[low : rows[-1] + 1].max()) / float(window[before])
    lowest = float(window[low] / window[before])
    # Version 1 gives the window back at the end of any recovery (Linux: bbr_set_cwnd_to_recover_or_restore).
    yield Check(
        "window at its lowest, and then at its highest, over the one before",
        f"{lowest:.4g}, {back:.4g}",
        "≤ 0.95, ≥ 0.95",
        lowest <= 0.95 <= back,
        version.number == 3,
    )
    if version.number == 3:
        for name in ("bw_shortterm_mbps", "inflight_longterm_packets"):
            yield equal(
                f"{name.rsplit('_', 1)[0]} after the undo",
                f"{course[name][rows[-1]]:.4g}",
                f"{course[name][before]:.4g}",
            )
        # HandleSpuriousLossDetection starts REFILL, which a round's start ends at once.
        left = course.first("PROBE_DOWN", course.event_s)
        again = course.first("PROBE_UP", course.event_s + 1e-3)
        wait = (
            None
            if left is None or again is None
            else float(course["time_s"][again.begin] - course["time_s"][left.begin])
        )
        yield within("time from the end of PROBE_UP until it is back", wait, 0.0, LONGEST_RECOVERY_S, "s")


def spurious_recovery(course: Course, version: Version) -> Checks:
    """Return the checks of "Handling Spurious Fast Recovery"."""
    yield from _undone(course, version)


def spurious_rto(course: Course, version: Version) -> Checks:
    """Return the checks of "Handling Spurious RTO Recovery"."""
    yield within("retransmission timeouts", course.summary["rtos"], 1, 3)
    yield from _undone(course, version)
