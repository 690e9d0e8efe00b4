//! Rapid Start (draft-kazuho-ccwg-rapid-start-02): the window triples until a queue shows, and converges in the first recovery.

use crate::parts::window::Window;
use crate::{Ack, INITIAL_WINDOW, MILLISECOND, NANOS_PER_S, Nanos, SEGMENT_BYTES};

/// "a sender MAY use an initial window that is up to twice as large", paced over the RTT.
const INITIAL: u32 = 2 * INITIAL_WINDOW;
/// queue_buildup_thresh = min(min_rtt + 4 ms, min_rtt × 1.10)
const QUEUE: Nanos = 4 * MILLISECOND;
const QUEUE_PART: Nanos = 10;
/// K = 2/3 of "Reduction Factors"; CUBIC's β is 0.7.
const BETA: f64 = 0.7;
const ACK_FACTOR: f64 = 2.0 / 3.0 * (1.0 - BETA);
const LOSS_FACTOR: f64 = BETA + ACK_FACTOR;
const SILENCE_FACTOR: f64 = LOSS_FACTOR;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Growing,
    /// The first recovery: the window and its lower bound.
    Converging {
        window: f64,
        least: f64,
    },
    Over,
}

/// Start-up until the end of the first recovery.
#[derive(Clone, Debug, Default)]
pub struct RapidStart {
    phase: Phase,
    round_end: u64,
    /// rtt_floor: the smallest RTT of the current round.
    floor: Option<Nanos>,
    srtt: Nanos,
}

impl RapidStart {
    /// Start after a handshake that measured `srtt`. Without an RTT the first window cannot be paced, and remains ordinary.
    pub fn on_start(&mut self, window: &mut Window, srtt: Nanos) {
        self.srtt = srtt;
        if srtt > 0 {
            window.packets = INITIAL;
        }
    }

    /// Process an ACK; return by how many packets for each delivered the window may grow.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) -> u32 {
        self.srtt = ack.srtt;
        if let Phase::Converging { window: target, least } = &mut self.phase {
            // cwnd -= ack_factor * bytes_newly_acked; cwnd -= loss_factor * bytes_newly_lost
            *target -= ACK_FACTOR * f64::from(ack.delivered) + LOSS_FACTOR * f64::from(ack.lost);
            *target = target.max(*least);
            window.packets = *target as u32;
            window.threshold = window.packets;
            return 0;
        }
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.floor = None;
        }
        if let Some(rtt) = ack.rtt {
            self.floor = Some(self.floor.map_or(rtt, |floor| floor.min(rtt)));
        }
        let threshold = ack.min_rtt.saturating_add(QUEUE.min(ack.min_rtt / QUEUE_PART));
        if self.floor.is_some_and(|floor| floor <= threshold) { 2 } else { 1 }
    }

    /// Begin the first recovery at `packets`, if this is it, and return the window to begin with.
    pub fn on_congestion(&mut self, packets: u32) -> Option<u32> {
        if self.phase != Phase::Growing {
            self.phase = Phase::Over;
            return None;
        }
        let before = f64::from(packets);
        // "SHOULD NOT reduce the congestion window below pre_recovery_cwnd * beta / 3", and "MAY stop ... once it reaches
        // the initial window multiplied by the window decrease factor".
        let least = (before * BETA / 3.0).max(f64::from(INITIAL) * BETA).min(before);
        let reduced = (before * SILENCE_FACTOR).max(least);
        self.phase = Phase::Converging { window: reduced, least };
        Some(reduced as u32)
    }

    /// End Rapid Start after the first recovery; return its window if this was the first.
    pub fn on_recovered(&mut self) -> Option<f64> {
        let window = match self.phase {
            Phase::Converging { window, .. } => Some(window),
            Phase::Growing | Phase::Over => None,
        };
        if window.is_some() {
            self.phase = Phase::Over;
        }
        window
    }

    /// End Rapid Start after a timeout.
    pub const fn end(&mut self) {
        self.phase = Phase::Over;
    }

    /// The full BDP, computed from the final window.
    pub fn full_bdp(window: f64) -> f64 {
        window / BETA
    }

    /// Whether the first recovery goes on.
    pub const fn converges(&self) -> bool {
        matches!(self.phase, Phase::Converging { .. })
    }

    /// Pace over the full RTT while the window grows, in payload bytes per second.
    pub fn pacing_rate(&self, window: u32) -> Option<u64> {
        let growing = matches!(self.phase, Phase::Growing) && self.srtt > 0;
        growing.then(|| {
            (f64::from(window) * f64::from(SEGMENT_BYTES) * NANOS_PER_S / self.srtt as f64).max(1.0) as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RTT, ack_of_one};

    #[test]
    fn factors_for_cubic_are_nine_tenths_and_a_fifth() {
        // "When beta is 0.7 …: silence_factor = 9/10, ack_factor = 1/5, loss_factor = 9/10"
        assert!((SILENCE_FACTOR - 0.9).abs() < 1e-12 && (LOSS_FACTOR - 0.9).abs() < 1e-12);
        assert!((ACK_FACTOR - 0.2).abs() < 1e-12);
    }

    #[test]
    fn the_window_triples_until_the_rounds_smallest_rtt_shows_a_queue() {
        // 100 ms: the threshold is 104 ms, below 110 ms.
        let mut start = RapidStart::default();
        let mut window = Window::new();
        let mut growth = |una: u64, rtt: Nanos| {
            start.on_ack(&mut window, &Ack { rtt: Some(rtt), una, next: una + 10, ..ack_of_one(0) })
        };
        assert_eq!(growth(1, RTT), 2);
        assert_eq!(growth(12, RTT + 4 * MILLISECOND), 2);
        assert_eq!(growth(23, RTT + 4 * MILLISECOND + 1), 1);
        // The smallest of the round counts.
        assert_eq!(growth(24, RTT), 2);
        assert_eq!(growth(25, 2 * RTT), 2);
    }

    #[test]
    fn after_recovery_the_window_is_beta_times_the_full_bdp_whatever_was_lost() {
        // "pre_recovery_cwnd = bytes_acked + bytes_lost", and "bytes_acked = full_bdp": an overshoot of up to 3.
        for lost in [1, 50, 100, 200] {
            let mut start = RapidStart::default();
            let mut window = Window::new();
            window.packets = 100 + lost;
            window.packets = start.on_congestion(window.packets).expect("the first recovery");
            let ack = Ack { delivered: 1, ..ack_of_one(0) };
            start.on_ack(&mut window, &Ack { lost, ..ack });
            for _ in 0..99 {
                start.on_ack(&mut window, &ack);
            }
            let window = start.on_recovered().expect("the first recovery");
            assert!((window - 70.0).abs() < 0.1, "{lost}: {window}");
            assert!((RapidStart::full_bdp(window) - 100.0).abs() < 0.2);
            assert!(start.on_congestion(70).is_none() && start.on_recovered().is_none(), "only the first");
        }
    }

    #[test]
    fn the_first_window_is_twice_as_large_where_a_handshake_lets_it_be_paced() {
        let mut start = RapidStart::default();
        let mut window = Window::new();
        start.on_start(&mut window, 0);
        assert_eq!((window.packets, start.pacing_rate(10)), (10, None));
        start.on_start(&mut window, RTT);
        assert_eq!((window.packets, start.pacing_rate(20)), (20, Some(20 * 1448 * 10)));
    }
}
