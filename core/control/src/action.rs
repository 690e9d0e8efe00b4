//! What an agent's action does to the flow: Astraea's multiplicative window and the pacing rate that follows it.

/// What the sender does from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Congestion window, in packets.
    pub cwnd_packets: u32,
    /// Pacing rate, in bytes/s; 0 leaves the flow unpaced (before the first RTT sample).
    pub pacing_bytes_per_s: u64,
}

/// Smallest window an action leads to, in packets. Sage and Orca clamp at 4 as well: the fewest packets with which
/// one loss still brings the three duplicate ACKs of a fast retransmit (RFC 5681, section 3.2).
pub const MIN_CWND_PACKETS: u32 = 4;

/// Largest window an action leads to, in packets: Sage's bound, some 29 MB.
pub const MAX_CWND_PACKETS: u32 = 20_000;

/// Astraea's step size α: an action of 1 grows the window by 2.5 % an interval.
const ALPHA: f64 = 0.025;

/// Astraea's new window for `action`: `⌈cwnd (1 + αa)⌉` for a ≥ 0, `⌊cwnd / (1 - αa)⌋` for a < 0, α = 0.025.
///
/// Every non-zero action moves the window by at least one packet, and 0 keeps it. Computed in double precision, as
/// the released Python client does. The action is clamped to [-1, 1], the window to
/// [`MIN_CWND_PACKETS`], [`MAX_CWND_PACKETS`]. A NaN keeps the window; faces that take actions from outside reject
/// it before it gets here.
///
/// Source: Astraea (EuroSys 2024), `map_action` of the released client.
pub fn map_action(action: f32, cwnd_packets: u32) -> u32 {
    let a = if action.is_nan() { 0.0 } else { f64::from(action).clamp(-1.0, 1.0) };
    let cwnd = f64::from(cwnd_packets);
    let target =
        if a >= 0.0 { (cwnd * (1.0 + ALPHA * a)).ceil() } else { (cwnd / (1.0 - ALPHA * a)).floor() };
    (target as u32).clamp(MIN_CWND_PACKETS, MAX_CWND_PACKETS)
}

/// Pacing rate in bytes/s: `mss · max(cwnd, packets_out) / srtt`, gain 1; 0 (unpaced) without an RTT.
///
/// Astraea's kernel module evaluates it on every ACK with the `srtt` of that moment.
pub fn pacing_rate_bytes_per_s(mss_bytes: u32, cwnd_packets: u32, packets_out: u32, srtt_us: u32) -> u64 {
    if srtt_us == 0 {
        return 0;
    }
    // 2^32 · 2^32 · 10^6 needs 84 bits; the product of realistic values fits, and the rest saturates.
    let bytes = u64::from(mss_bytes) * u64::from(cwnd_packets.max(packets_out));
    bytes.saturating_mul(1_000_000) / u64::from(srtt_us)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_positive_action_grows_the_window_rounding_up() {
        assert_eq!(map_action(1.0, 100), 103); // 102.5
        assert_eq!(map_action(1.0, 40), 41); // 41 exactly
        assert_eq!(map_action(0.5, 1_000), 1_013); // 1012.5
        assert_eq!(map_action(0.001, 10), 11);
    }

    #[test]
    fn a_negative_action_shrinks_the_window_rounding_down() {
        assert_eq!(map_action(-1.0, 100), 97); // 97.56
        assert_eq!(map_action(-1.0, 41), 40); // 40 exactly
        assert_eq!(map_action(-0.5, 1_000), 987); // 987.65
        assert_eq!(map_action(-0.001, 10), 9);
    }

    #[test]
    fn no_action_keeps_the_window() {
        for cwnd in [MIN_CWND_PACKETS, 10, 417, MAX_CWND_PACKETS] {
            assert_eq!(map_action(0.0, cwnd), cwnd);
            assert_eq!(map_action(-0.0, cwnd), cwnd);
            assert_eq!(map_action(f32::NAN, cwnd), cwnd);
        }
    }

    #[test]
    fn actions_beyond_one_count_as_one() {
        assert_eq!(map_action(7.0, 100), map_action(1.0, 100));
        assert_eq!(map_action(f32::NEG_INFINITY, 100), map_action(-1.0, 100));
    }

    #[test]
    fn the_pacing_rate_is_a_window_an_rtt() {
        assert_eq!(pacing_rate_bytes_per_s(1_448, 100, 80, 50_000), 2_896_000);
        assert_eq!(pacing_rate_bytes_per_s(1_448, 80, 100, 50_000), 2_896_000);
        assert_eq!(pacing_rate_bytes_per_s(1_448, 100, 80, 0), 0);
        assert!(pacing_rate_bytes_per_s(u32::MAX, u32::MAX, 0, 1) > 1 << 60);
    }

    proptest! {
        #[test]
        fn the_window_stays_within_its_bounds_and_moves_with_the_action(
            action in -2.0f32..2.0,
            other in -2.0f32..2.0,
            cwnd in any::<u32>(),
        ) {
            let next = map_action(action, cwnd);
            prop_assert!((MIN_CWND_PACKETS..=MAX_CWND_PACKETS).contains(&next));
            if action <= other {
                prop_assert!(next <= map_action(other, cwnd));
            }
        }
    }
}
