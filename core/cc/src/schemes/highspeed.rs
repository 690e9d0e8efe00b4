//! HighSpeed TCP (RFC 3649).

use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// RFC 3649 appendix B: up to the i-th of these windows, a round trip adds i + 1 packets.
const WINDOWS: [u32; 73] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596,
    5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424,
    15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975,
    32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799,
    64851, 68113, 71617, 75401, 79517, 84035, 89053, 94717,
];

/// RFC 3649 §5: Low_Window, High_Window and High_Decrease.
const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;

/// Reno at small windows; the larger the window, the faster it grows and the less it backs off.
#[derive(Clone, Debug, Default)]
pub struct HighSpeed {
    /// Row of [`WINDOWS`].
    row: usize,
}

impl HighSpeed {
    fn find_row(&mut self, window: u32) {
        while window > WINDOWS[self.row] && self.row < WINDOWS.len() - 1 {
            self.row += 1;
        }
        while self.row > 0 && window <= WINDOWS[self.row - 1] {
            self.row -= 1;
        }
    }

    /// RFC 3649 §5: b(w) = (High_Decrease - 0.5) (log(w) - log(W)) / (log(W_1) - log(W)) + 0.5, in 1/256.
    fn decrease(&self) -> u32 {
        let share = (libm::log(f64::from(WINDOWS[self.row])) - libm::log(LOW_WINDOW))
            / (libm::log(HIGH_WINDOW) - libm::log(LOW_WINDOW));
        (256.0 * ((HIGH_DECREASE - 0.5) * share + 0.5)) as u32
    }
}

impl WindowBased for HighSpeed {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.delivered);
            return;
        }
        self.find_row(window.packets);
        // RFC 3649 §5: each ACK adds a(w) / w, as in Linux, however many packets it covers.
        window.counted += self.row as u32 + 1;
        if window.counted >= window.packets {
            window.counted -= window.packets;
            window.packets = window.packets.saturating_add(1);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        let reduction = (u64::from(window.packets) * u64::from(self.decrease())) >> 8;
        window.reduce(window.packets - reduction as u32, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, avoiding_at, round_of_acks};

    #[test]
    fn it_grows_and_shrinks_as_the_table_of_rfc_3649_says() {
        // RFC 3649 appendix B: w, a(w), b(w).
        for (window, a, b) in [(38, 1, 0.50), (1058, 8, 0.33), (5036, 20, 0.25), (26_881, 47, 0.16)] {
            let mut scheme = avoiding_at(window - a, HighSpeed::default());
            round_of_acks(&mut scheme, 0);
            assert!(scheme.window().abs_diff(window) <= 1, "{window}: {}", scheme.window());
            let before = scheme.window();
            scheme.on_congestion(Congestion::Loss, 0);
            let reduction = 1.0 - f64::from(scheme.window()) / f64::from(before);
            assert!((reduction - b).abs() < 0.01, "{window}: {reduction} for {b}");
        }
    }

    #[test]
    fn rows_of_the_table_are_where_the_formula_reaches_whole_packets() {
        // RFC 3649 §5: a(w) = w² p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 / w^1.2.
        for (row, &window) in WINDOWS.iter().enumerate() {
            let w = f64::from(window);
            let share = (w / 38.0).ln() / (83_000.0_f64 / 38.0).ln();
            let b = 0.5 - 0.4 * share;
            let a = w.powf(0.8) * 0.078 * 2.0 * b / (2.0 - b);
            assert!((a - (row as f64 + 1.0)).abs() < 0.12, "{window}: {a}");
        }
    }
}
