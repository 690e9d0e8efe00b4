//! HyStart: leave slow start before it overshoots (Ha and Rhee, "Taming the elephants", Computer Networks 55, 2011).

use crate::{Ack, Nanos};

const MILLISECOND: Nanos = 1_000_000;
/// Below this window slow start is left alone (Linux's hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// RTT samples that make up a round's delay (RFC 9406 §4.3: N_RTT_SAMPLE).
const MIN_SAMPLES: u32 = 8;
/// Bounds of the delay increase that ends slow start (RFC 9406 §4.3: MIN_RTT_THRESH and MAX_RTT_THRESH).
const DELAY_MIN: Nanos = 4 * MILLISECOND;
const DELAY_MAX: Nanos = 16 * MILLISECOND;
/// ACKs closer together than this belong to one train (Linux's hystart_ack_delta).
const ACK_GAP: Nanos = 2 * MILLISECOND;

/// The two heuristics, ACK train length and delay increase, over rounds of one window.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    round_end: u64,
    round_start: Nanos,
    last_ack: Nanos,
    round_rtt: Nanos,
    samples: u32,
    found: bool,
    started: bool,
}

impl HyStart {
    /// Forget everything: slow start begins anew.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Take an ACK of slow start; true once the window should stop doubling.
    pub fn exits(&mut self, ack: &Ack, window: u32) -> bool {
        if !self.started || ack.una > self.round_end {
            self.started = true;
            self.round_end = ack.next;
            self.round_start = ack.now;
            self.last_ack = ack.now;
            self.round_rtt = Nanos::MAX;
            self.samples = 0;
        }
        if self.found || window < LOW_WINDOW {
            return false;
        }
        let min_rtt = ack.min_rtt;
        // ACK train: ACKs that follow closely span the bottleneck's share of the round; once the train
        // is as long as the one-way delay, the pipe is full.
        if ack.now.saturating_sub(self.last_ack) <= ACK_GAP {
            self.last_ack = ack.now;
            if ack.now - self.round_start > min_rtt / 2 {
                self.found = true;
            }
        }
        // Delay increase: the round's smallest RTT over the path's.
        if let Some(rtt) = ack.rtt {
            self.round_rtt = self.round_rtt.min(rtt);
            if self.samples < MIN_SAMPLES {
                self.samples += 1;
            } else if self.round_rtt > min_rtt.saturating_add((min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX)) {
                self.found = true;
            }
        }
        self.found
    }
}
