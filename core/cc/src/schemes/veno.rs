//! TCP Veno (Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", JSAC 21(2), 2003).

use crate::parts::round_rtt::RoundRtt;
use crate::parts::window::Window;
use crate::{Ack, Congestion, CongestionControl, Nanos};

/// §III: with fewer packets queued than this, a loss is taken for random. In half packets, as Linux counts.
const BETA_HALVES: u64 = 6;

/// Reno that tells random loss from congestion by the queue that it sees.
#[derive(Clone, Debug)]
pub struct Veno {
    window: Window,
    rtt: RoundRtt,
    /// Queued packets in halves, N of the paper.
    queued_halves: u64,
    /// §III-B: in the critical region the window grows in every other round trip.
    grows_next: bool,
}

impl Veno {
    /// A new connection.
    #[must_use]
    pub const fn new() -> Self {
        Self { window: Window::new(), rtt: RoundRtt::new(), queued_halves: 0, grows_next: true }
    }

    fn grow(&mut self, ack: &Ack) {
        let window = u64::from(self.window.packets);
        if self.rtt.min != Nanos::MAX {
            let target =
                (u128::from(window) * u128::from(self.rtt.base) * 2 / u128::from(self.rtt.min)) as u64;
            self.queued_halves = (2 * window).saturating_sub(target);
        }
        let mut acked = ack.delivered;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked == 0 {
            return;
        }
        if self.queued_halves < BETA_HALVES {
            self.window.increase(acked, self.window.packets);
        } else if self.window.counted >= self.window.packets {
            if self.grows_next {
                self.window.packets = self.window.packets.saturating_add(1);
            }
            self.grows_next = !self.grows_next;
            self.window.counted = 0;
        } else {
            self.window.counted += acked;
        }
    }
}

impl Default for Veno {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Veno {
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {
        self.rtt.restart();
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.rtt.observe(ack);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        if self.rtt.active && self.rtt.samples > 2 {
            self.grow(ack);
        } else {
            self.window.grow_as_reno(ack);
        }
        // Linux: the smallest RTT is that since the last acknowledgement; the count goes on.
        self.rtt.min = Nanos::MAX;
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        self.rtt.on_congestion(kind);
        let window = self.window.packets;
        // §III-A: 4/5 after a random loss, a half after congestion.
        let reduced =
            if self.queued_halves < BETA_HALVES { u64::from(window) * 4 / 5 } else { u64::from(window / 2) };
        self.window.reduce(reduced as u32, kind);
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
    use crate::testing::{RTT, round_at};

    fn after_rounds_at(rtt: Nanos) -> Veno {
        let mut veno = Veno::new();
        veno.window.packets = 100;
        veno.window.threshold = 100;
        veno.rtt.base = RTT;
        let mut now = RTT;
        for _ in 0..10 {
            now = round_at(&mut veno, now, rtt);
        }
        veno
    }

    #[test]
    fn with_a_full_queue_it_grows_every_other_round_and_halves_after_a_loss() {
        let mut veno = after_rounds_at(RTT * 11 / 10);
        assert!((104..=106).contains(&veno.window()), "{}", veno.window());
        let before = veno.window();
        veno.on_congestion(Congestion::Loss, 0);
        assert_eq!(veno.window(), before / 2);
    }

    #[test]
    fn with_an_empty_queue_it_grows_every_round_and_takes_a_loss_for_random() {
        let mut veno = after_rounds_at(RTT);
        assert!((109..=111).contains(&veno.window()), "{}", veno.window());
        let before = veno.window();
        veno.on_congestion(Congestion::Loss, 0);
        assert_eq!(veno.window(), before * 4 / 5);
    }
}
