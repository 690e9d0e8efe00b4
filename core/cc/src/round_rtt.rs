//! The smallest RTT of each round trip and of the connection, as Vegas and its descendants measure them.

use crate::{Ack, Nanos, Recovery};

/// RTTs of a round that begins with the next packet sent and ends when that is acknowledged.
#[derive(Clone, Debug)]
pub struct RoundRtt {
    /// Smallest of the connection; `Nanos::MAX` before the first sample.
    pub base: Nanos,
    /// Smallest of the round; `Nanos::MAX` before its first sample.
    pub min: Nanos,
    /// Samples of the round.
    pub samples: u32,
    /// The round ends when this is acknowledged.
    end: u64,
    /// False while losses are being repaired: RTTs then say little.
    pub active: bool,
}

impl RoundRtt {
    pub const fn new() -> Self {
        Self { base: Nanos::MAX, min: Nanos::MAX, samples: 0, end: 0, active: true }
    }

    /// Take an acknowledgement's sample; with the end of a repair a new round begins.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            // Linux adds a microsecond, lest an RTT be zero.
            let rtt = rtt.saturating_add(1_000);
            self.base = self.base.min(rtt);
            self.min = self.min.min(rtt);
            self.samples += 1;
        }
        let open = ack.recovery == Recovery::Open;
        if open && !self.active {
            self.begin(ack.next);
        }
        self.active = open;
    }

    /// Whether the round has ended with this acknowledgement.
    #[inline]
    pub const fn has_ended(&self, ack: &Ack) -> bool {
        ack.una > self.end
    }

    /// A new round begins.
    pub const fn begin(&mut self, next: u64) {
        self.end = next;
        self.samples = 0;
        self.min = Nanos::MAX;
    }
}
