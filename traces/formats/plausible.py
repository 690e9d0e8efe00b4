"""Which round-trip times can be measurements."""

import math

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.orbit.earth import LIGHT_KM_PER_S

STARLINK_KM = 340.0
"""No satellite of Starlink serves users from below: the lowest shell that it applied for."""
_LEGS = 4  # user to satellite, satellite to ground, and back


def least_rtt_ns(altitude_km: float) -> float:
    """Return the time that light needs from the ground over a satellite to the ground, and back."""
    return _LEGS * altitude_km / LIGHT_KM_PER_S * NS_PER_S


def why_unmeasured(rtt_ns: float, floor_ns: float) -> str | None:
    """Return why an RTT is no measurement, as a kind of `tally.Tally`; None if it may be one."""
    if math.isnan(rtt_ns):
        return "have no RTT: not measured"
    if rtt_ns <= 0:
        return "have an RTT of 0: not measured" if rtt_ns == 0 else "have an RTT below 0: not measured"
    if rtt_ns < floor_ns:
        return f"have an RTT below the {floor_ns / NS_PER_MS:.3g} ms that light needs: not measured"
    return None
