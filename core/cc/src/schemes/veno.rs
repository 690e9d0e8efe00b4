//! TCP Veno (Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", JSAC 21(2), 2003).

use crate::parts::round_rtt::RoundRtt;
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// §III: with fewer packets queued, a loss counts as random. In half packets, like Linux.
const BETA_HALVES: u64 = 6;

/// Reno that tells random loss from congestion by the queue.
#[derive(Clone, Debug)]
pub struct Veno {
    rtt: RoundRtt,
    /// N of the paper, in half packets.
    queued_halves: u64,
    /// §III-B: in the critical region the window grows in every other round trip.
    grows_next: bool,
}

impl Veno {
    pub fn new() -> Self {
        Self { rtt: RoundRtt::default(), queued_halves: 0, grows_next: true }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let packets = u64::from(window.packets);
        if self.rtt.min != Nanos::MAX {
            let target =
                (u128::from(packets) * u128::from(self.rtt.base) * 2 / u128::from(self.rtt.min)) as u64;
            self.queued_halves = (2 * packets).saturating_sub(target);
        }
        let acked = window.slow_start(ack.delivered);
        if acked == 0 {
            return;
        }
        if self.queued_halves < BETA_HALVES {
            window.increase(acked, window.packets);
        } else if window.counted >= window.packets {
            if self.grows_next {
                window.packets = window.packets.saturating_add(1);
            }
            self.grows_next = !self.grows_next;
            window.counted = 0;
        } else {
            window.counted += acked;
        }
    }
}

impl WindowBased for Veno {
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {
        self.rtt.restart();
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.rtt.observe(ack);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        if self.rtt.active && self.rtt.samples > 2 {
            self.grow(window, ack);
        } else {
            window.grow_as_reno(ack.delivered);
        }
        // Linux resets the smallest RTT at each ACK, but not the count of samples.
        self.rtt.min = Nanos::MAX;
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        self.rtt.on_congestion(kind);
        // §III-A: 4/5 after a random loss, a half after congestion.
        let reduced = if self.queued_halves < BETA_HALVES {
            u64::from(window.packets) * 4 / 5
        } else {
            u64::from(window.packets / 2)
        };
        window.reduce(reduced as u32, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, RTT, Windowed, avoiding_at, round_at};

    fn after_rounds_at(rtt: Nanos) -> Windowed<Veno> {
        let mut veno = avoiding_at(100, Veno::new());
        veno.scheme.rtt.base = RTT;
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
