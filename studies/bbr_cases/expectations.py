"""The expectation of each case."""

from __future__ import annotations

from collections.abc import Callable

from studies.bbr_cases import of_paths, of_states
from studies.bbr_cases.checks import Checks, Version
from studies.bbr_cases.course import Course

EXPECTATIONS: dict[str, Callable[[Course, Version], Checks]] = {
    "startup-plateau": of_states.startup_plateau,
    "startup-loss": of_states.startup_loss,
    "drain-inflight": of_states.drain_inflight,
    "drain-time": of_states.drain_time,
    "probe-up-plateau": of_states.probe_up_plateau,
    "probe-up-loss": of_states.probe_up_loss,
    "app-limited": of_states.app_limited,
    "app-limited-startup": of_states.app_limited_startup,
    "probe-down-inflight": of_states.probe_down_inflight,
    "probe-down-time": of_states.probe_down_time,
    "probe-rtt": of_states.probe_rtt,
    "probe-rtt-idle": of_states.probe_rtt_idle,
    "startup-aggregation": of_paths.startup_aggregation,
    "cruise-aggregation": of_paths.cruise_aggregation,
    "sub-packet": of_paths.sub_packet,
    "rate-up": of_paths.rate_up,
    "rate-down": of_paths.rate_down,
    "policer": of_paths.policer,
    "spurious-recovery": of_paths.spurious_recovery,
    "spurious-rto": of_paths.spurious_rto,
    "startup-probe-rtt": of_states.startup_probe_rtt,
    "probe-up-longterm": of_states.probe_up_longterm,
    "refill-app-limited": of_states.refill_app_limited,
}
"""The checks of each case, by its name."""
