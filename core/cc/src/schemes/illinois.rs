//! TCP Illinois (Liu, Başar and Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm", VALUETOOLS 2006).

use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// §2: α is within 0.3 and 10 packets per round trip, β within 1/8 and 1/2.
const ALPHA_MIN: f64 = 0.3;
const ALPHA_MAX: f64 = 10.0;
const ALPHA_BASE: f64 = 1.0;
const BETA_MIN: f64 = 0.125;
const BETA_MAX: f64 = 0.5;
/// §3: W_thresh; below it Illinois is Reno.
const WINDOW_MIN: u32 = 15;
/// §3: θ, round trips without queueing before α returns to its maximum.
const LOW_ROUNDS: u32 = 5;
/// Longer samples count as 3.36 s: Linux's RTT_MAX, so that α's ten in 128ths times the µs fit 32 bits.
const RTT_MAX: Nanos = (u32::MAX / (10 << 7)) as Nanos * 1_000;

/// Loss triggers the reduction; queueing delay sets its size and the speed of growth.
#[derive(Clone, Debug, Default)]
pub struct Illinois {
    alpha: f64,
    beta: f64,
    rtt_sum: Nanos,
    rtt_samples: u32,
    base_rtt: Nanos,
    max_rtt: Nanos,
    round_end: u64,
    acked: u32,
    /// There was queueing since α was at its maximum.
    above: bool,
    /// Round trips without queueing since.
    low: u32,
}

impl Illinois {
    pub fn new() -> Self {
        Self { alpha: ALPHA_MAX, beta: BETA_MAX, base_rtt: Nanos::MAX, ..Self::default() }
    }

    fn measure(&mut self, ack: &Ack) {
        self.acked = ack.acked;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.min(RTT_MAX);
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.rtt_samples += 1;
            self.rtt_sum += rtt;
        }
    }

    fn end_round(&mut self, window: u32, next: u64) {
        if window < WINDOW_MIN {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_MAX;
        } else if self.rtt_samples > 0 {
            let largest = (self.max_rtt - self.base_rtt) as f64;
            let average = (self.rtt_sum / u64::from(self.rtt_samples)).saturating_sub(self.base_rtt) as f64;
            self.alpha = self.alpha_at(average, largest);
            self.beta = beta_at(average, largest);
        }
        self.begin_round(next);
    }

    fn begin_round(&mut self, next: u64) {
        self.round_end = next;
        self.rtt_samples = 0;
        self.rtt_sum = 0;
    }

    /// §2: α_max below d_1 = d_m / 100, else κ1 / (κ2 + d_a) from α_max at d_1 to α_min at d_m.
    fn alpha_at(&mut self, average: f64, largest: f64) -> f64 {
        let d1 = largest / 100.0;
        if average <= d1 {
            if !self.above {
                return ALPHA_MAX;
            }
            self.low += 1;
            if self.low < LOW_ROUNDS {
                return self.alpha;
            }
            self.low = 0;
            self.above = false;
            return ALPHA_MAX;
        }
        self.above = true;
        let (largest, average) = (largest - d1, average - d1);
        largest * ALPHA_MAX / (largest + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }
}

/// §2: β_min below d_2 = d_m / 10, β_max above d_3 = 8 d_m / 10, a line between.
fn beta_at(average: f64, largest: f64) -> f64 {
    let (d2, d3) = (largest / 10.0, 0.8 * largest);
    if average <= d2 {
        BETA_MIN
    } else if average >= d3 {
        BETA_MAX
    } else {
        BETA_MIN + (BETA_MAX - BETA_MIN) * (average - d2) / (d3 - d2)
    }
}

impl WindowBased for Illinois {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        if !ack.may_grow {
            return;
        }
        if ack.una > self.round_end {
            self.end_round(window.packets, ack.next);
        }
        if !ack.window_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.delivered);
            return;
        }
        window.counted = window.counted.saturating_add(self.acked);
        let grown = (f64::from(window.counted) * self.alpha) as u32;
        if grown >= window.packets {
            window.packets = window.packets.saturating_add(grown / window.packets);
            window.counted = 0;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        window.reduce(window.packets - (f64::from(window.packets) * self.beta) as u32, kind);
        if kind.is_timeout() {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_MAX;
            self.low = 0;
            self.above = false;
            self.begin_round(self.round_end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, RTT, Windowed, avoiding_at, round_at};

    #[test]
    fn alpha_and_beta_follow_the_curves_of_the_paper() {
        // §2 with d_m = 100 ms: α(1) = 10, α(100) = 0.3; at 50.5 ms half way: 10 / (1 + 0.5 × 32.3) = 0.58.
        let mut illinois = Windowed::new(Illinois::new());
        for (average, alpha) in [(0.5, 10.0), (100.0, 0.3), (50.5, 0.583)] {
            let value = illinois.scheme.alpha_at(average, 100.0);
            assert!((value - alpha).abs() < 0.005, "{value} at {average}");
        }
        for (average, beta) in [(5.0, 0.125), (45.0, 0.3125), (90.0, 0.5)] {
            let value = beta_at(average, 100.0);
            assert!((value - beta).abs() < 1e-9, "{value} at {average}");
        }
    }

    #[test]
    fn alpha_is_at_its_maximum_again_after_five_rounds_without_queueing() {
        let mut illinois = Windowed::new(Illinois::new());
        illinois.scheme.above = true;
        illinois.scheme.alpha = 1.0;
        let alphas: Vec<f64> = (0..5).map(|_| illinois.scheme.alpha_at(0.0, 100.0)).collect();
        assert_eq!(alphas, [1.0, 1.0, 1.0, 1.0, ALPHA_MAX]);
    }

    #[test]
    fn a_round_trip_beyond_three_seconds_counts_as_the_longest() {
        // Linux's tcp_illinois_acked: "ignore bogus values, this prevents wraparound in alpha math"; RTT_MAX is 3,355,443 µs.
        let mut illinois = Windowed::new(Illinois::new());
        for seconds in [1, 20] {
            illinois.on_ack(&Ack { rtt: Some(seconds * 1_000_000_000), ..Ack::default() });
        }
        assert_eq!(illinois.scheme.max_rtt, 3_355_443_000);
    }

    #[test]
    fn with_an_empty_queue_it_adds_ten_packets_a_round() {
        let mut illinois = avoiding_at(500, Illinois::new());
        let mut now = RTT;
        for _ in 0..3 {
            now = round_at(&mut illinois, now, RTT);
        }
        assert!(illinois.window().abs_diff(530) <= 3, "{}", illinois.window());
    }
}
