//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004; draft-leith-tcp-htcp-06).

use crate::parts::ticks::{self, HZ};
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos, Recovery};

/// Unit of α and β.
const ONE: u64 = 128;
/// draft §3: β within 0.5 and 0.8.
const BETA_MIN: u64 = ONE / 2;
const BETA_MAX: u64 = 102;
/// draft §3: Δ_L, length of the low-speed regime in ticks.
const LOW_SPEED: u64 = HZ;
/// Linux: an RTT of at most 10 ms leaves β at a half.
const RTT_FOR_ADAPTATION: u64 = ticks::of(10_000_000);
/// Linux: a sample may raise the maximum RTT by at most 20 ms.
const RTT_RISE: u64 = ticks::of(20_000_000);

/// Grows faster the longer ago the last congestion was, and backs off by the queue that it built. Times are in ticks.
#[derive(Clone, Debug, Default)]
pub struct Htcp {
    alpha: u64,
    beta: u64,
    adapts: bool,
    acked: u32,
    min_rtt: u64,
    max_rtt: u64,
    last_congestion: Option<u64>,
    throughput: Throughput,
    /// Saved at the last reduction: time of the congestion before, largest RTT and throughput.
    prior: (Option<u64>, u64, u64),
}

/// Achieved throughput between congestions, in packets a second.
#[derive(Clone, Debug, Default)]
struct Throughput {
    packets: u32,
    begin: u64,
    smoothed: u64,
    min: u64,
    max: u64,
    /// The maximum at the congestion before.
    old_max: u64,
}

impl Htcp {
    pub fn new() -> Self {
        Self { alpha: ONE, beta: BETA_MIN, acked: 1, ..Self::default() }
    }

    fn since_congestion(&mut self, tick: u64) -> u64 {
        tick.saturating_sub(*self.last_congestion.get_or_insert(tick))
    }

    fn measure(&mut self, ack: &Ack, window: u32) {
        if !ack.was_disordered {
            self.acked = ack.acked;
        }
        if let Some(rtt) = ack.rtt.map(ticks::of) {
            if self.min_rtt == 0 || rtt < self.min_rtt {
                self.min_rtt = rtt;
            }
            if !ack.was_disordered {
                self.max_rtt = self.max_rtt.max(self.min_rtt);
                if rtt > self.max_rtt && rtt <= self.max_rtt + RTT_RISE {
                    self.max_rtt = rtt;
                }
            }
        }
        // The ACK that begins a recovery has already reduced the window.
        if !ack.was_repairing && ack.recovery == Recovery::Open {
            self.measure_throughput(ack, window);
        } else {
            self.throughput.packets = 0;
            self.throughput.begin = ticks::at(ack.now);
        }
    }

    fn measure_throughput(&mut self, ack: &Ack, window: u32) {
        let now = ticks::at(ack.now);
        let since = self.since_congestion(now);
        let throughput = &mut self.throughput;
        throughput.packets = throughput.packets.saturating_add(ack.acked);
        let length = now.saturating_sub(throughput.begin);
        let round = u64::from(window).saturating_sub((self.alpha / ONE).max(1));
        if u64::from(throughput.packets) < round || self.min_rtt == 0 || length < self.min_rtt {
            return;
        }
        let sample = u64::from(throughput.packets) * HZ / length;
        if since / self.min_rtt <= 3 {
            // Just after a congestion: start over.
            (throughput.smoothed, throughput.min, throughput.max) = (sample, sample, sample);
        } else {
            throughput.smoothed = (3 * throughput.smoothed + sample) / 4;
            throughput.max = throughput.max.max(throughput.smoothed);
            throughput.min = throughput.min.min(throughput.max);
        }
        throughput.packets = 0;
        throughput.begin = now;
    }

    /// draft §3.2: β = RTT_min / RTT_max, unless throughput has changed by more than a fifth since the last congestion.
    fn update_beta(&mut self) {
        let (max, old) = (self.throughput.max, self.throughput.old_max);
        self.throughput.old_max = max;
        if !(4 * old..=6 * old).contains(&(5 * max)) {
            self.beta = BETA_MIN;
            self.adapts = false;
        } else if self.adapts && self.min_rtt > RTT_FOR_ADAPTATION && self.max_rtt > 0 {
            self.beta = (ONE * self.min_rtt / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.adapts = true;
        }
    }

    /// draft §3.1: α(Δ) = 1 + 10 (Δ - Δ_L) + ((Δ - Δ_L) / 2)², times 2 (1 - β), in round trips of 100 ms. Linux uses
    /// integers of at least one, so short RTTs slow the growth only once it is fast.
    fn update_alpha(&mut self, tick: u64) {
        let beyond = self.since_congestion(tick).saturating_sub(LOW_SPEED);
        let mut factor = 1 + (10 * beyond + (beyond / 2) * (beyond / 2) / HZ) / HZ;
        if self.min_rtt > 0 {
            let scale_8 = (8 * HZ / (10 * self.min_rtt)).clamp(4, 80);
            factor = (8 * factor / scale_8).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }
}

impl WindowBased for Htcp {
    fn on_start(&mut self, _window: &mut Window, now: Nanos, _srtt: Nanos) {
        self.last_congestion = Some(ticks::at(now));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack, window.packets);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.delivered);
            return;
        }
        // draft §3: cwnd grows by α / cwnd for each packet acknowledged.
        if u64::from(window.counted) * self.alpha / ONE >= u64::from(window.packets) {
            window.packets = window.packets.saturating_add(1);
            window.counted = 0;
            self.update_alpha(ticks::at(ack.now));
        } else {
            window.counted = window.counted.saturating_add(self.acked);
        }
        self.acked = 1;
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, now: Nanos) {
        let tick = ticks::at(now);
        if kind != Congestion::RepeatedTimeout {
            self.update_beta();
            self.update_alpha(tick);
            if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
                // Linux lets the maximum decay, so it follows a path that has become shorter.
                self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
            }
            // Linux saves this only now, after the updates: an undo restores the time alone.
            self.prior = (self.last_congestion, self.max_rtt, self.throughput.old_max);
        }
        let reduced = u64::from(window.packets) * self.beta / ONE;
        window.reduce(reduced as u32, kind);
        self.last_congestion = Some(tick);
    }

    fn on_recovered(&mut self, _window: &mut Window, now: Nanos) {
        self.last_congestion = Some(ticks::at(now));
    }

    fn on_undo(&mut self) {
        (self.last_congestion, self.max_rtt, self.throughput.old_max) = self.prior;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MILLISECOND;
    use crate::testing::{CongestionControl, RTT, Windowed, avoiding_at, round_at, round_of_acks};

    #[test]
    fn growth_follows_the_time_since_the_last_congestion() {
        // draft §3.1 at 100 ms (scale 1) and β = 1/2: α = 1 up to 1 s; 1 + 10 × 1.9 + 0.9 = 21 at 2.9 s.
        let mut htcp = Windowed::new(Htcp::new());
        htcp.on_start(0, RTT);
        htcp.window.packets = 4000;
        htcp.on_congestion(Congestion::Loss, 0);
        let mut now = RTT;
        for (until, alpha) in [(900, 1.0), (3000, 21.0)] {
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
        let mut htcp = avoiding_at(500, Htcp::new());
        htcp.on_start(0, RTT);
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

    #[test]
    fn short_round_trips_grow_by_a_packet_like_reno_and_not_by_a_fifth() {
        // draft §3.1 divides α by 5 at 20 ms; in Linux's integers α is at least 1.
        let mut htcp = Windowed::new(Htcp::new());
        htcp.on_start(0, RTT);
        htcp.scheme.min_rtt = ticks::of(20 * MILLISECOND);
        htcp.scheme.update_alpha(0);
        assert_eq!(htcp.scheme.alpha, ONE);
        htcp.scheme.update_alpha(3 * HZ);
        // 22 / 5, rounded down.
        assert_eq!(htcp.scheme.alpha, 4 * ONE);
    }
}
