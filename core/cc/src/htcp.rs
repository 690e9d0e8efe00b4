//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004; draft-leith-tcp-htcp-06).

use crate::window::Window;
use crate::{Ack, Congestion, CongestionControl, Nanos, Recovery};

const MILLISECOND: Nanos = 1_000_000;
const SECOND: f64 = 1e9;
/// draft §3: β within 0.5 and 0.8.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// draft §3: Δ_L, the low-speed regime's length.
const LOW_SPEED: f64 = 1.0;
/// Linux: round trips below this leave β at a half.
const RTT_FOR_ADAPTATION: Nanos = 10 * MILLISECOND;
/// Linux: an RTT sample may raise the maximum by no more than this.
const RTT_RISE: Nanos = 20 * MILLISECOND;

/// Grows faster the longer ago the last congestion was; comes down by the queue that it had built.
#[derive(Clone, Debug)]
pub struct Htcp {
    window: Window,
    alpha: f64,
    beta: f64,
    adapts: bool,
    acked: u32,
    min_rtt: Nanos,
    max_rtt: Nanos,
    last_congestion: Option<Nanos>,
    throughput: Throughput,
    /// When the last congestion was, the largest RTT and rate before the last reduction.
    prior: (Option<Nanos>, Nanos, f64),
}

/// Achieved throughput between congestions, in packets a second.
#[derive(Clone, Debug, Default)]
struct Throughput {
    packets: u32,
    begin: Nanos,
    smoothed: f64,
    min: f64,
    max: f64,
    /// The largest before the congestion before.
    old_max: f64,
}

impl Htcp {
    /// A new connection.
    #[must_use]
    pub fn new() -> Self {
        Self {
            window: Window::new(),
            alpha: 1.0,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: None,
            throughput: Throughput::default(),
            prior: (None, 0, 0.0),
        }
    }

    fn since_congestion(&mut self, now: Nanos) -> Nanos {
        now.saturating_sub(*self.last_congestion.get_or_insert(now))
    }

    fn measure(&mut self, ack: &Ack) {
        let open = ack.recovery == Recovery::Open;
        if open {
            self.acked = ack.delivered;
        }
        if let Some(rtt) = ack.rtt {
            if self.min_rtt == 0 || rtt < self.min_rtt {
                self.min_rtt = rtt;
            }
            if open {
                self.max_rtt = self.max_rtt.max(self.min_rtt);
                if rtt > self.max_rtt && rtt <= self.max_rtt + RTT_RISE {
                    self.max_rtt = rtt;
                }
            }
        }
        if open {
            self.measure_throughput(ack);
        } else {
            self.throughput.packets = 0;
            self.throughput.begin = ack.now;
        }
    }

    fn measure_throughput(&mut self, ack: &Ack) {
        let since = self.since_congestion(ack.now);
        let throughput = &mut self.throughput;
        throughput.packets = throughput.packets.saturating_add(ack.delivered);
        let length = ack.now.saturating_sub(throughput.begin);
        let round = self.window.packets.saturating_sub((self.alpha as u32).max(1));
        if throughput.packets < round || self.min_rtt == 0 || length < self.min_rtt {
            return;
        }
        let sample = f64::from(throughput.packets) / (length.max(1) as f64 / SECOND);
        if since / self.min_rtt <= 3 {
            // Just after a congestion: begin anew.
            (throughput.smoothed, throughput.min, throughput.max) = (sample, sample, sample);
        } else {
            throughput.smoothed = (3.0 * throughput.smoothed + sample) / 4.0;
            throughput.max = throughput.max.max(throughput.smoothed);
            throughput.min = throughput.min.min(throughput.max);
        }
        throughput.packets = 0;
        throughput.begin = ack.now;
    }

    /// draft §3.2: β = RTT_min / RTT_max, unless the throughput has changed by more than a fifth since the last congestion.
    fn update_beta(&mut self) {
        let (max, old) = (self.throughput.max, self.throughput.old_max);
        self.throughput.old_max = max;
        if !(4.0 * old..=6.0 * old).contains(&(5.0 * max)) {
            self.beta = BETA_MIN;
            self.adapts = false;
        } else if self.adapts && self.min_rtt > RTT_FOR_ADAPTATION && self.max_rtt > 0 {
            self.beta = (self.min_rtt as f64 / self.max_rtt as f64).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.adapts = true;
        }
    }

    /// draft §3.1: α(Δ) = 1 + 10 (Δ - Δ_L) + ((Δ - Δ_L) / 2)², times 2 (1 - β), in round trips of 100 ms.
    fn update_alpha(&mut self, now: Nanos) {
        let beyond = self.since_congestion(now) as f64 / SECOND - LOW_SPEED;
        let mut factor = if beyond > 0.0 { 1.0 + 10.0 * beyond + beyond * beyond / 4.0 } else { 1.0 };
        if self.min_rtt > 0 {
            let scale = (SECOND / (10.0 * self.min_rtt as f64)).clamp(0.5, 10.0);
            factor /= scale;
        }
        self.alpha = 2.0 * factor * (1.0 - self.beta);
    }
}

impl Default for Htcp {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Htcp {
    fn on_start(&mut self, now: Nanos, _srtt: Nanos) {
        self.last_congestion = Some(now);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(ack.acked);
            return;
        }
        // draft §3: cwnd grows by α / cwnd for each packet acknowledged.
        if f64::from(self.window.counted) * self.alpha >= f64::from(self.window.packets) {
            self.window.packets = self.window.packets.saturating_add(1);
            self.window.counted = 0;
            self.update_alpha(ack.now);
        } else {
            self.window.counted = self.window.counted.saturating_add(self.acked);
        }
        self.acked = 1;
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        if kind != Congestion::RepeatedTimeout {
            self.prior = (self.last_congestion, self.max_rtt, self.throughput.old_max);
            self.update_beta();
            self.update_alpha(now);
            // Linux: the largest RTT decays, so that the estimate follows a path that changes.
            if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
                self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) / 100 * 95;
            }
        }
        let reduced = f64::from(self.window.packets) * self.beta;
        self.window.reduce(reduced as u32, kind);
        self.last_congestion = Some(now);
    }

    fn on_recovered(&mut self, now: Nanos) {
        self.last_congestion = Some(now);
    }

    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        self.window.resize(window, threshold);
    }

    fn on_undo(&mut self, _now: Nanos) {
        (self.last_congestion, self.max_rtt, self.throughput.old_max) = self.prior;
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
    use crate::testing::{RTT, round_at, round_of_acks};

    #[test]
    fn growth_follows_the_time_since_the_last_congestion() {
        // draft §3.1 at 100 ms (scale 1) and β = 1/2: α = 1 up to 1 s; 1 + 10 × 2 + 1 = 22 at 3 s.
        let mut htcp = Htcp::new();
        htcp.on_start(0, RTT);
        htcp.window.packets = 4000;
        htcp.on_congestion(Congestion::Loss, 0);
        let mut now = RTT;
        for (until, alpha) in [(900, 1.0), (3000, 22.0)] {
            let mut before = htcp.window();
            while now < until * MILLISECOND {
                before = htcp.window();
                now = round_of_acks(&mut htcp, now);
            }
            let grown = f64::from(htcp.window() - before);
            assert!((grown - alpha).abs() <= 1.5, "{grown} for {alpha}");
        }
    }

    #[test]
    fn it_backs_off_by_the_queue_once_the_throughput_is_steady() {
        // draft §3.2: RTT_min / RTT_max = 100 / 150.
        let mut htcp = Htcp::new();
        htcp.on_start(0, RTT);
        htcp.window.packets = 500;
        htcp.window.threshold = 500;
        let mut now = 0;
        for _ in 0..4 {
            for _ in 0..10 {
                htcp.window.packets = 500;
                now = round_of_acks(&mut htcp, now);
            }
            for rtt in [115, 130, 150, 150] {
                htcp.window.packets = 500;
                now = round_at(&mut htcp, now, rtt * MILLISECOND);
            }
            htcp.window.packets = 500;
            htcp.on_congestion(Congestion::Loss, now);
        }
        assert!(htcp.window().abs_diff(333) <= 10, "{}", htcp.window());
    }
}
