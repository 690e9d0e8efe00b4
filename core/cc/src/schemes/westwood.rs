//! TCP Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas", CCR 34(2), 2004).

use crate::parts::ticks::{self, HZ};
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// Least ticks between bandwidth samples, 50 ms (Linux's TCP_WESTWOOD_RTT_MIN).
const SAMPLE_MIN: u64 = HZ / 20;
/// Initial RTT, 20 s (Linux's TCP_WESTWOOD_INIT_RTT).
const RTT_INITIAL: u64 = 20 * HZ;

/// Reno that backs off to the measured bandwidth-delay product instead of half its window.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    /// Filtered once and twice, in packets per tick.
    bandwidth_once: f64,
    bandwidth: f64,
    /// In ticks, like all times here.
    sample_begin: Option<u64>,
    sample_packets: u64,
    /// Packets counted at duplicate ACKs.
    counted: u32,
    rtt: u64,
    rtt_min: u64,
    /// The path may have changed: reset the smallest RTT with the next sample.
    forget_rtt_min: bool,
    /// A reduction without a timeout is under way.
    reducing: bool,
}

impl Westwood {
    pub fn new() -> Self {
        Self { rtt: RTT_INITIAL, rtt_min: RTT_INITIAL, forget_rtt_min: true, ..Self::default() }
    }

    /// §2: BWE · RTT_min, in packets.
    fn pipe(&self) -> u32 {
        ((self.bandwidth * self.rtt_min as f64) as u32).max(2)
    }

    /// §2.1: a sample per round trip, low-pass filtered twice by 7/8. Linux measures before it updates the RTT.
    fn measure(&mut self, ack: &Ack) {
        let now = ticks::at(ack.now);
        let length = now.saturating_sub(*self.sample_begin.get_or_insert(now));
        if length > self.rtt.max(SAMPLE_MIN) {
            let sample = self.sample_packets as f64 / length as f64;
            if self.bandwidth_once == 0.0 && self.bandwidth == 0.0 {
                self.bandwidth_once = sample;
                self.bandwidth = sample;
            } else {
                self.bandwidth_once = (7.0 * self.bandwidth_once + sample) / 8.0;
                self.bandwidth = (7.0 * self.bandwidth + self.bandwidth_once) / 8.0;
            }
            self.sample_packets = 0;
            self.sample_begin = Some(now);
        }
        self.sample_packets += u64::from(self.count(ack));
        if self.forget_rtt_min {
            self.rtt_min = self.rtt;
            self.forget_rtt_min = false;
        } else {
            self.rtt_min = self.rtt_min.min(self.rtt);
        }
        if let Some(rtt) = ack.rtt {
            self.rtt = ticks::of(rtt);
        }
    }

    /// §2.1 (Linux's westwood_acked_count): a duplicate ACK counts one packet, which the next cumulative ACK leaves out.
    fn count(&mut self, ack: &Ack) -> u32 {
        match ack.acked {
            0 => {
                self.counted = self.counted.saturating_add(1);
                1
            }
            1 => 1,
            packets if self.counted >= packets => {
                self.counted -= packets;
                1
            }
            packets => packets - std::mem::take(&mut self.counted),
        }
    }
}

impl WindowBased for Westwood {
    fn on_start(&mut self, _window: &mut Window, now: Nanos, _srtt: Nanos) {
        self.sample_begin = Some(ticks::at(now));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        if ack.may_grow && ack.window_limited {
            window.grow_as_reno(ack.delivered);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        window.reduce(window.packets / 2, kind);
        self.reducing = !kind.is_timeout();
        if kind.is_timeout() {
            window.threshold = self.pipe();
            self.forget_rtt_min = true;
        }
    }

    fn on_recovered(&mut self, window: &mut Window, _now: Nanos) {
        // Linux: the estimate takes effect when the reduction is complete.
        if std::mem::take(&mut self.reducing) {
            window.threshold = self.pipe();
            window.packets = window.threshold;
        }
    }

    fn on_undo(&mut self) {
        self.reducing = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, avoiding_at, round_of_acks};

    #[test]
    fn after_a_loss_the_window_is_what_the_path_delivered_in_the_smallest_rtt() {
        // The path delivers 500 packets per 100 ms, so recovery from a random loss restores the window.
        let mut westwood = avoiding_at(500, Westwood::new());
        let mut now = 0;
        for _ in 0..40 {
            westwood.window.packets = 500;
            now = round_of_acks(&mut westwood, now);
        }
        westwood.window.packets = 500;
        westwood.on_congestion(Congestion::Loss, now);
        assert_eq!(westwood.window(), 250);
        westwood.on_recovered(now);
        assert!(westwood.window().abs_diff(500) <= 10, "{}", westwood.window());
    }

    #[test]
    fn packets_that_duplicates_have_counted_are_not_counted_again() {
        let mut westwood = Westwood::new();
        let count = |westwood: &mut Westwood, acked| westwood.count(&Ack { acked, ..Ack::default() });
        // Three duplicate ACKs, then one that covers four packets: only the fourth is new.
        assert_eq!([0, 0, 0].map(|acked| count(&mut westwood, acked)), [1, 1, 1]);
        assert_eq!(count(&mut westwood, 4), 1);
        assert_eq!(count(&mut westwood, 2), 2);
        // One duplicate ACK, then one that covers seven packets: six are new.
        assert_eq!([0, 7].map(|acked| count(&mut westwood, acked)), [1, 6]);
    }
}
