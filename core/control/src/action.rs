//! What an agent's action does to the flow: actions by name, Astraea's first.

mod cwnd_ratio;
mod rate_step;

use crate::Report;

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
    let a = bounded(action);
    let cwnd = f64::from(cwnd_packets);
    let target =
        if a >= 0.0 { (cwnd * (1.0 + ALPHA * a)).ceil() } else { (cwnd / (1.0 - ALPHA * a)).floor() };
    (target as u32).clamp(MIN_CWND_PACKETS, MAX_CWND_PACKETS)
}

/// `action` within [-1, 1]; a NaN is 0.
fn bounded(action: f32) -> f64 {
    if action.is_nan() { 0.0 } else { f64::from(action).clamp(-1.0, 1.0) }
}

/// What an action of one number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `cwnd_step`: Astraea's, the window grows or shrinks by at most 2.5 %.
    CwndStep,
    /// `cubic_ratio`: Orca's, CUBIC's window times 4^a.
    CubicRatio,
    /// `rate_step`: Aurora's, the sending rate grows or shrinks by at most 2.5 %.
    RateStep,
    /// `cwnd_ratio`: the window times 4^a, which is Sage's range, with nothing beneath.
    CwndRatio,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 4] = [Self::CwndStep, Self::CubicRatio, Self::RateStep, Self::CwndRatio];

    /// Its name, as in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CwndStep => "cwnd_step",
            Self::CubicRatio => "cubic_ratio",
            Self::RateStep => "rate_step",
            Self::CwndRatio => "cwnd_ratio",
        }
    }

    /// The agent that published it, by whose name it may go, too.
    pub const fn agent(self) -> Option<&'static str> {
        match self {
            Self::CwndStep => Some("astraea"),
            Self::CubicRatio => Some("orca"),
            Self::RateStep => Some("aurora"),
            Self::CwndRatio => Some("sage"),
        }
    }

    /// Version of its definition.
    pub const fn version(self) -> u32 {
        1
    }

    /// Whether the sender must run CUBIC beneath the agent.
    pub const fn is_over_cubic(self) -> bool {
        matches!(self, Self::CubicRatio)
    }

    /// Whether it sets a rate, so that packets are to be paced one by one.
    pub const fn sets_rate(self) -> bool {
        matches!(self, Self::RateStep)
    }
}

/// What an action remembers of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ActionState {
    CwndStep,
    CubicRatio { slow_start_over: bool },
    RateStep(rate_step::RateStep),
    CwndRatio(cwnd_ratio::OwnWindow),
}

impl ActionState {
    pub(crate) fn new(action: Action) -> Self {
        match action {
            Action::CwndStep => Self::CwndStep,
            Action::CubicRatio => Self::CubicRatio { slow_start_over: false },
            Action::RateStep => Self::RateStep(rate_step::RateStep::default()),
            Action::CwndRatio => Self::CwndRatio(cwnd_ratio::OwnWindow::default()),
        }
    }

    pub(crate) fn observe(&mut self, report: &Report) {
        match self {
            // Orca's released server: slow start has passed once the threshold is below the window, and stays so.
            Self::CubicRatio { slow_start_over } => *slow_start_over |= report.ssthresh < report.cwnd,
            Self::RateStep(rate) => rate.observe(report),
            Self::CwndStep | Self::CwndRatio(_) => {}
        }
    }

    /// Base-2 logarithm of what the action multiplies the window by, where nothing else moves it.
    pub(crate) fn log2_ratio(&self, action: f32) -> Option<f64> {
        matches!(self, Self::CwndRatio(_)).then(|| cwnd_ratio::log2_ratio(action))
    }

    pub(crate) fn act(&mut self, action: f32, report: &Report) -> Command {
        let cwnd_packets = match self {
            Self::CwndStep => map_action(action, report.cwnd),
            Self::CubicRatio { slow_start_over: false } => cwnd_ratio::in_slow_start(report.cwnd),
            Self::CubicRatio { slow_start_over: true } => cwnd_ratio::of_cubic(action, report.cwnd),
            Self::RateStep(rate) => return rate.act(action, report),
            Self::CwndRatio(window) => window.act(action, report.cwnd),
        };
        let rate = if matches!(self, Self::CwndRatio(_)) {
            window_rate_bytes_per_s
        } else {
            pacing_rate_bytes_per_s
        };
        let pacing_bytes_per_s = rate(report.mss, cwnd_packets, report.packets_out, report.srtt_us);
        Command { cwnd_packets, pacing_bytes_per_s }
    }
}

/// What a packet has beside its payload, in bytes: IP (20), TCP (20) and timestamps (12).
const HEADER_BYTES: u32 = 52;

/// Pacing rate in bytes/s: `mtu · max(cwnd, packets_out) / srtt`, gain 1; 0 (unpaced) without an RTT.
///
/// Astraea's and Orca's kernels begin with `tcp_mss_to_mtu`: a full packet counts with its headers, although pacing
/// charges a packet for its payload alone. So the rate is 3.6 % above a window a round trip, and the window decides.
/// They evaluate it on every ACK with the `srtt` of that moment.
pub fn pacing_rate_bytes_per_s(mss_bytes: u32, cwnd_packets: u32, packets_out: u32, srtt_us: u32) -> u64 {
    window_rate_bytes_per_s(mss_bytes.saturating_add(HEADER_BYTES), cwnd_packets, packets_out, srtt_us)
}

/// `packet_bytes · max(cwnd, packets_out) / srtt`, in bytes/s; 0 without an RTT.
///
/// With payloads it paces Sage's policies and its pool. The source of Sage's kernel, which descends from Orca's, was not
/// released: whether it counts headers is not known.
pub fn window_rate_bytes_per_s(packet_bytes: u32, cwnd_packets: u32, packets_out: u32, srtt_us: u32) -> u64 {
    if srtt_us == 0 {
        return 0;
    }
    // 2^32 · 2^32 · 10^6 needs 84 bits; the product of realistic values fits, and the rest saturates.
    let bytes = u64::from(packet_bytes) * u64::from(cwnd_packets.max(packets_out));
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
    fn the_pacing_rate_is_a_window_of_whole_packets_an_rtt() {
        // tcp_astraea.c: "rate = tcp_mss_to_mtu(sk, tcp_sk(sk)->mss_cache)", 1,500 bytes.
        assert_eq!(pacing_rate_bytes_per_s(1_448, 100, 80, 50_000), 3_000_000);
        assert_eq!(pacing_rate_bytes_per_s(1_448, 80, 100, 50_000), 3_000_000);
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
