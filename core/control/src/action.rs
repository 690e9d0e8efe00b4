//! Actions by name: how an agent's output changes a flow.

mod cwnd_ratio;
mod rate_step;

use crate::Report;
use crate::orbit::{Controller, GAINS};

/// The window and the rate that the sender uses from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Congestion window, in packets.
    pub cwnd_packets: u32,
    /// Pacing rate, in bytes/s; 0 leaves the flow unpaced (before the first RTT sample).
    pub pacing_bytes_per_s: u64,
}

/// Smallest window after an action, in packets, as in Sage and Orca. With fewer packets a loss cannot cause
/// the three duplicate ACKs of a fast retransmit (RFC 5681, section 3.2).
pub const MIN_CWND_PACKETS: u32 = 4;

/// Largest window after an action, in packets: Sage's limit, about 29 MB.
pub const MAX_CWND_PACKETS: u32 = 20_000;

/// Astraea's step size α: an action of 1 grows the window by 2.5 % per interval.
const ALPHA: f64 = 0.025;

/// Return Astraea's new window: `⌈cwnd (1 + αa)⌉` for a ≥ 0, `⌊cwnd / (1 - αa)⌋` for a < 0, α = 0.025.
///
/// Every non-zero action moves the window by at least a packet; 0 and NaN keep it. Clamps the action to [-1,
/// 1] and the window to [`MIN_CWND_PACKETS`], [`MAX_CWND_PACKETS`]. Source: Astraea (EuroSys 2024),
/// `map_action` of the released Python client, in double precision as there.
pub fn map_action(action: f32, cwnd_packets: u32) -> u32 {
    let a = bounded(action);
    let cwnd = f64::from(cwnd_packets);
    let target =
        if a >= 0.0 { (cwnd * (1.0 + ALPHA * a)).ceil() } else { (cwnd / (1.0 - ALPHA * a)).floor() };
    (target as u32).clamp(MIN_CWND_PACKETS, MAX_CWND_PACKETS)
}

/// Clamp `action` to [-1, 1]; NaN becomes 0.
fn bounded(action: f32) -> f64 {
    if action.is_nan() { 0.0 } else { f64::from(action).clamp(-1.0, 1.0) }
}

/// The effect of a one-number action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `cwnd_step`: Astraea's; changes the window by at most 2.5 %.
    CwndStep,
    /// `cubic_ratio`: Orca's; multiplies CUBIC's window by 4^a.
    CubicRatio,
    /// `rate_step`: Aurora's; changes the sending rate by at most 2.5 %.
    RateStep,
    /// `cwnd_ratio`: multiplies the window by 4^a, Sage's range, without a scheme beneath.
    CwndRatio,
    /// `path_gains`: Orbit's; scales the parts of a controller on an estimate of the path.
    PathGains,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 5] =
        [Self::CwndStep, Self::CubicRatio, Self::RateStep, Self::CwndRatio, Self::PathGains];

    /// Name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CwndStep => "cwnd_step",
            Self::CubicRatio => "cubic_ratio",
            Self::RateStep => "rate_step",
            Self::CwndRatio => "cwnd_ratio",
            Self::PathGains => "path_gains",
        }
    }

    /// The agent that published the action, whose name is an alias.
    pub const fn agent(self) -> Option<&'static str> {
        match self {
            Self::CwndStep => Some("astraea"),
            Self::CubicRatio => Some("orca"),
            Self::RateStep => Some("aurora"),
            Self::CwndRatio => Some("sage"),
            Self::PathGains => Some("orbit"),
        }
    }

    /// Numbers in an action, each in [-1, 1].
    pub const fn dim(self) -> usize {
        match self {
            Self::PathGains => GAINS,
            _ => 1,
        }
    }

    /// Version of the definition.
    pub const fn version(self) -> u32 {
        match self {
            Self::PathGains => 2,
            _ => 1,
        }
    }

    /// Whether the sender must run CUBIC beneath the agent.
    pub const fn is_over_cubic(self) -> bool {
        matches!(self, Self::CubicRatio)
    }

    /// Whether the action sets a rate, so the sender must pace packets one by one.
    pub const fn sets_rate(self) -> bool {
        matches!(self, Self::RateStep | Self::PathGains)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ActionState {
    CwndStep,
    CubicRatio { slow_start_over: bool },
    RateStep(rate_step::RateStep),
    CwndRatio(cwnd_ratio::OwnWindow),
    PathGains(Box<Controller>),
}

impl ActionState {
    pub(crate) fn new(action: Action) -> Self {
        match action {
            Action::CwndStep => Self::CwndStep,
            Action::CubicRatio => Self::CubicRatio { slow_start_over: false },
            Action::RateStep => Self::RateStep(rate_step::RateStep::default()),
            Action::CwndRatio => Self::CwndRatio(cwnd_ratio::OwnWindow::default()),
            Action::PathGains => Self::PathGains(Box::default()),
        }
    }

    pub(crate) fn observe(&mut self, report: &Report) {
        match self {
            // Orca's released server: slow start is over for good once the threshold is below the window.
            Self::CubicRatio { slow_start_over } => *slow_start_over |= report.ssthresh < report.cwnd,
            Self::RateStep(rate) => rate.observe(report),
            Self::PathGains(controller) => controller.observe(report),
            Self::CwndStep | Self::CwndRatio(_) => {}
        }
    }

    /// Base-2 logarithm of the action's factor on the window, if nothing else changes the window.
    pub(crate) fn log2_ratio(&self, action: f32) -> Option<f64> {
        matches!(self, Self::CwndRatio(_)).then(|| cwnd_ratio::log2_ratio(action))
    }

    pub(crate) fn act(&mut self, actions: &[f32], report: &Report) -> Command {
        let action = actions[0];
        let cwnd_packets = match self {
            Self::PathGains(controller) => return controller.act(actions, report),
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

/// Bytes of a packet besides its payload: IP (20), TCP (20) and timestamps (12).
const HEADER_BYTES: u32 = 52;

/// Pacing rate in bytes/s: `mtu · max(cwnd, packets_out) / srtt`, gain 1; 0 (unpaced) without an RTT.
///
/// Like Astraea's and Orca's kernels (`tcp_mss_to_mtu`), this counts headers, but pacing charges only
/// payload, so the rate exceeds a window per RTT by 3.6 % and the window decides. They do this on every ACK.
pub fn pacing_rate_bytes_per_s(mss_bytes: u32, cwnd_packets: u32, packets_out: u32, srtt_us: u32) -> u64 {
    window_rate_bytes_per_s(mss_bytes.saturating_add(HEADER_BYTES), cwnd_packets, packets_out, srtt_us)
}

/// `packet_bytes · max(cwnd, packets_out) / srtt`, in bytes/s; 0 without an RTT. With payload sizes, paces
/// Sage's policies and pool. Whether Sage's unreleased kernel, based on Orca's, counts headers is unknown.
pub fn window_rate_bytes_per_s(packet_bytes: u32, cwnd_packets: u32, packets_out: u32, srtt_us: u32) -> u64 {
    if srtt_us == 0 {
        return 0;
    }
    // 2^32 · 2^32 · 10^6 needs 84 bits. Realistic values fit; the rest saturates.
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
            other_action in -2.0f32..2.0,
            cwnd in any::<u32>(),
        ) {
            let next = map_action(action, cwnd);
            prop_assert!((MIN_CWND_PACKETS..=MAX_CWND_PACKETS).contains(&next));
            if action <= other_action {
                prop_assert!(next <= map_action(other_action, cwnd));
            }
        }
    }
}
