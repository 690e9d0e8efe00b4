//! Windows and rates from a model of bandwidth and min RTT, for BBR and its descendants.

use crate::{INITIAL_WINDOW, MILLISECOND, NANOS_PER_S, Nanos, SEGMENT_BYTES};

/// The bandwidth in packets per second before the first sample: `window` over `srtt`, or over 1 ms while `srtt` is 0
/// (draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.1).
pub fn initial_bandwidth(window: u32, srtt: Nanos) -> f64 {
    let rtt = if srtt > 0 { srtt } else { MILLISECOND };
    f64::from(window) * NANOS_PER_S / rtt as f64
}

/// `gain` times the product of `bandwidth` (packets per second) and `min_rtt` (`Nanos::MAX` if unknown), in packets.
pub fn bdp_packets(bandwidth: f64, min_rtt: Nanos, gain: f64) -> u32 {
    if min_rtt == Nanos::MAX {
        return INITIAL_WINDOW;
    }
    libm::ceil(bandwidth * min_rtt as f64 / NANOS_PER_S * gain).min(1e9) as u32
}

/// Packets in a burst: `pacing_rate` bytes per second for 2^-10 s, within these bounds.
pub fn burst_packets(pacing_rate: f64, min: u32, max: u32) -> u32 {
    ((pacing_rate / 1024.0 / f64::from(SEGMENT_BYTES)) as u32).clamp(min, max)
}
