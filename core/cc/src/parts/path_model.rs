//! What schemes make of a path's bandwidth and min RTT that model it by the two: BBR and its descendants.

use crate::{INITIAL_WINDOW, MILLISECOND, NANOS_PER_S, Nanos, SEGMENT_BYTES};

/// Before a bandwidth is known, `window` packets over `srtt`, in packets a second; over a millisecond while that is 0, not
/// known either (draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1).
pub fn initial_bandwidth(window: u32, srtt: Nanos) -> f64 {
    let rtt = if srtt > 0 { srtt } else { MILLISECOND };
    f64::from(window) * NANOS_PER_S / rtt as f64
}

/// Packets that `gain` products of `bandwidth`, in packets a second, and `min_rtt` hold; `Nanos::MAX` is not known.
pub fn bdp_packets(bandwidth: f64, min_rtt: Nanos, gain: f64) -> u32 {
    if min_rtt == Nanos::MAX {
        return INITIAL_WINDOW;
    }
    libm::ceil(bandwidth * min_rtt as f64 / NANOS_PER_S * gain).min(1e9) as u32
}

/// Packets of a burst: what `pacing_rate` bytes a second carry in 2^-10 s, within these bounds.
pub fn burst_packets(pacing_rate: f64, least: u32, most: u32) -> u32 {
    ((pacing_rate / 1024.0 / f64::from(SEGMENT_BYTES)) as u32).clamp(least, most)
}
