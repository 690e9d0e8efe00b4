//! TCP-LP (Kuzmanovic and Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", ToN 14(4), 2006).

use crate::window::Window;
use crate::{Ack, Congestion, CongestionControl, Nanos};

/// Resolution of the delays that Linux's module sees: milliseconds of the timestamp clock.
const RESOLUTION: Nanos = 1_000_000;
/// §III-B: δ = 15 % of the delay's range says congestion.
const THRESHOLD_PERCENT: Nanos = 15;
/// §III-C: the inference phase lasts this many round trips.
const INFERENCE_ROUNDS: Nanos = 3;

/// Reno that gives way as soon as delay grows: it uses what others leave.
///
/// The paper watches the one-way delay, here it is the RTT: after a reduction, when the range becomes one to two smoothed
/// delays, 15 % of it are more. Linux's module takes the one-way delay as a difference of both hosts' timestamps and so
/// notices congestion only where those have no random offsets (net.ipv4.tcp_timestamps = 2); else it is Reno.
#[derive(Clone, Debug)]
pub struct Lp {
    window: Window,
    /// Smoothed delay, times eight.
    smoothed_8: Nanos,
    min: Nanos,
    /// The largest but one, and the largest.
    max: Nanos,
    max_reserve: Nanos,
    last_drop: Option<Nanos>,
    inferring: bool,
    /// Acknowledgements are being delayed: those of single packets have waited for nothing and say nothing of the path.
    delayed_acks: bool,
}

impl Lp {
    /// A new connection.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            window: Window::new(),
            smoothed_8: 0,
            min: Nanos::MAX,
            max: 0,
            max_reserve: 0,
            last_drop: None,
            inferring: false,
            delayed_acks: false,
        }
    }

    fn measure(&mut self, delay: Nanos) {
        self.min = self.min.min(delay);
        if delay > self.max {
            // A single outlier must not stretch the range: the largest is held back until the next one.
            if delay > self.max_reserve {
                self.max = if self.max_reserve == 0 { delay } else { self.max_reserve };
                self.max_reserve = delay;
            } else {
                self.max = delay;
            }
        }
        self.smoothed_8 =
            if self.smoothed_8 == 0 { 8 * delay } else { self.smoothed_8 - self.smoothed_8 / 8 + delay };
    }

    /// §III-B: early congestion when the smoothed delay exceeds d_min + (d_max - d_min) δ.
    fn is_congested(&self) -> bool {
        let range = self.max.saturating_sub(self.min);
        self.smoothed_8 / 8 >= self.min.saturating_add(THRESHOLD_PERCENT * range / 100)
    }
}

impl Default for Lp {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Lp {
    fn on_ack(&mut self, ack: &Ack) {
        let inference = INFERENCE_ROUNDS * ack.rtt.unwrap_or(ack.srtt);
        self.inferring = self.last_drop.is_some_and(|drop| ack.now.saturating_sub(drop) < inference);
        self.delayed_acks |= ack.delivered > 1;
        let waited = self.delayed_acks && ack.delivered == 1;
        if let Some(rtt) = ack.rtt.filter(|_| !waited) {
            self.measure((rtt / RESOLUTION).max(1));
            if self.is_congested() {
                let smoothed = self.smoothed_8 / 8;
                (self.min, self.max, self.max_reserve) = (smoothed, 2 * smoothed, 2 * smoothed);
                // §III-C: half at first; to one packet if congestion persists through the inference phase.
                self.window.packets = if self.inferring { 1 } else { (self.window.packets / 2).max(1) };
                self.last_drop = Some(ack.now);
            }
        }
        if ack.may_grow && ack.window_limited && !self.inferring {
            self.window.grow_as_reno(ack);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        self.window.reduce(self.window.packets / 2, kind);
    }

    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        self.window.resize(window, threshold);
    }

    fn on_undo(&mut self, _now: Nanos) {
        self.window.undo();
    }

    fn window(&self) -> u32 {
        self.window.packets
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RTT, ack_of_one};

    #[test]
    fn delay_beyond_15_percent_of_its_range_halves_the_window_and_persisting_delay_takes_it_to_one() {
        let mut lp = Lp::new();
        let mut now = RTT;
        let feed = |lp: &mut Lp, now: Nanos, rtt: Nanos| {
            lp.on_ack(&Ack { rtt: Some(rtt), ..ack_of_one(now) });
            lp.window()
        };
        lp.window.packets = 100;
        lp.window.threshold = 100;
        (lp.min, lp.max, lp.max_reserve, lp.smoothed_8) = (100, 200, 200, 800);
        let mut windows = Vec::new();
        for _ in 0..60 {
            now += 10_000_000;
            windows.push(feed(&mut lp, now, 180_000_000));
        }
        let drops: Vec<(u32, u32)> = windows
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .filter(|(before, after)| after < before)
            .collect();
        assert!(drops[0].1.abs_diff(drops[0].0 / 2) <= 1, "{drops:?}");
        assert_eq!(drops[1].1, 1, "within three round trips of the first: {drops:?}");
        assert!(windows.iter().all(|&window| window >= 1));
    }
}
