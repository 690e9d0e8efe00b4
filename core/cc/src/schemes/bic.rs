//! BIC (Xu, Harfoush and Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks", INFOCOM 2004).

use crate::parts::ticks::{self, HZ};
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// §IV: S_max, the largest increase in packets per round trip.
const MAX_INCREMENT: u32 = 16;
/// Up to this window BIC is Reno (Linux's low_window).
const LOW_WINDOW: u32 = 14;
/// Linux's β: 819 / 1024.
const BETA: u64 = 819;
/// The binary search divides the distance by this, not by 2 (Linux's BICTCP_B).
const SEARCH: u32 = 4;
/// Round trips for the last packets up to the maximum (Linux's smooth_part).
const SMOOTH_PART: u32 = 20;
/// Packets per ACK are counted in 1/16 (Linux's ACK_RATIO_SHIFT).
const ACK_RATIO_SHIFT: u32 = 4;
/// The increment is recomputed after more ticks than this, or when the window has changed.
const UPDATE_TICKS: u64 = HZ / 32;

/// Searches between the last window and the last maximum, then beyond.
#[derive(Clone, Debug, Default)]
pub struct Bic {
    last_max: u32,
    /// Window, tick and result of the last computation.
    last_window: u32,
    last_tick: u64,
    per_packet: u32,
    delayed_ack_16: u32,
}

impl Bic {
    pub fn new() -> Self {
        Self { per_packet: 1, delayed_ack_16: 2 << ACK_RATIO_SHIFT, ..Self::default() }
    }

    /// Packets to acknowledge for the window to grow by one.
    fn per_packet(&mut self, window: u32, now: Nanos) -> u32 {
        let tick = ticks::at(now);
        if self.last_window == window && tick.saturating_sub(self.last_tick) <= UPDATE_TICKS {
            return self.per_packet;
        }
        self.last_window = window;
        self.last_tick = tick;
        if window <= LOW_WINDOW {
            self.per_packet = window;
            return window;
        }
        let mut per_packet = if window < self.last_max {
            let distance = (self.last_max - window) / SEARCH;
            if distance > MAX_INCREMENT {
                // §IV-A, additive increase: the midpoint is too far away.
                window / MAX_INCREMENT
            } else if distance <= 1 {
                window * SMOOTH_PART / SEARCH
            } else {
                // §IV-B, binary search increase.
                window / distance
            }
        } else if window < self.last_max + SEARCH {
            // §IV-C, max probing: slow start beyond the maximum.
            window.saturating_mul(SMOOTH_PART) / SEARCH
        } else if window < self.last_max + MAX_INCREMENT * (SEARCH - 1) {
            window.saturating_mul(SEARCH - 1) / (window - self.last_max)
        } else {
            window / MAX_INCREMENT
        };
        if self.last_max == 0 {
            per_packet = per_packet.min(20);
        }
        self.per_packet = (u64::from(per_packet) << ACK_RATIO_SHIFT)
            .checked_div(u64::from(self.delayed_ack_16))
            .unwrap_or(0) as u32;
        self.per_packet = self.per_packet.max(1);
        self.per_packet
    }
}

impl WindowBased for Bic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.was_disordered {
            let ratio = self.delayed_ack_16;
            self.delayed_ack_16 = ratio.saturating_add(ack.acked) - (ratio >> ACK_RATIO_SHIFT);
        }
        if ack.may_grow && ack.window_limited {
            window.grow(ack.delivered, |packets| self.per_packet(packets, ack.now));
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        let packets = window.packets;
        // §IV-D, fast convergence.
        self.last_max = if packets < self.last_max {
            (u64::from(packets) * (1024 + BETA) / 2048) as u32
        } else {
            packets
        };
        let reduced =
            if packets <= LOW_WINDOW { packets / 2 } else { (u64::from(packets) * BETA / 1024) as u32 };
        window.reduce(reduced, kind);
        if kind.is_timeout() {
            self.last_max = 0;
            self.last_window = 0;
            self.last_tick = 0;
            self.delayed_ack_16 = 2 << ACK_RATIO_SHIFT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, Windowed, round_of_acks};

    #[test]
    fn a_reduction_taken_back_leaves_the_maximum_that_it_set() {
        // Linux's bictcp_recalc_ssthresh: 900 × (1024 + 819) / 2048, below the last maximum of 1,000.
        let mut bic = Windowed::new(Bic::new());
        bic.window.packets = 900;
        bic.scheme.last_max = 1000;
        bic.on_congestion(Congestion::Loss, 0);
        bic.on_undo(0);
        assert_eq!((bic.window(), bic.scheme.last_max), (900, 809));
    }

    #[test]
    fn it_returns_by_no_more_than_16_packets_a_round_and_slows_down_near_the_maximum() {
        let mut bic = Windowed::new(Bic::new());
        // One packet per ACK.
        bic.scheme.delayed_ack_16 = 16;
        bic.window.packets = 1000;
        bic.on_congestion(Congestion::Loss, 0);
        assert_eq!(bic.window(), 799);
        let mut now = 0;
        let mut steps = Vec::new();
        while bic.window() < 998 && steps.len() < 200 {
            let before = bic.window();
            now = round_of_acks(&mut bic, now);
            steps.push(bic.window() - before);
        }
        assert!(steps[..8].iter().all(|step| (15..=17).contains(step)), "{steps:?}");
        assert!(steps.last().is_some_and(|&step| step <= 2), "{steps:?}");
        // 16 packets a round up to 936, a quarter of the distance to 1,000 up to 993, then smooth_part / 4 rounds a packet.
        assert!((25..=60).contains(&steps.len()), "{steps:?}");
    }
}
