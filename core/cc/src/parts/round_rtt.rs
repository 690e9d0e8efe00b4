//! The smallest RTT of each round and of the connection, for Vegas and its descendants.

use crate::{Ack, Congestion, Nanos, Recovery};

/// RTTs of a round, which begins with the next packet sent and ends when that is acknowledged.
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
    /// False during recovery, when RTTs are unreliable.
    pub active: bool,
    /// The last ACK was outside recovery.
    open: bool,
    /// The next ACK begins a round.
    begins: bool,
}

impl Default for RoundRtt {
    fn default() -> Self {
        let (base, min) = (Nanos::MAX, Nanos::MAX);
        Self { base, min, samples: 0, end: 0, active: true, open: true, begins: false }
    }
}

impl RoundRtt {
    /// Add the sample of an ACK. The end of recovery begins a new round.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        if self.begins {
            self.begins = false;
            self.begin(ack.next);
        }
        if let Some(rtt) = ack.rtt {
            // Linux adds a microsecond, so no RTT is zero.
            let rtt = rtt.saturating_add(1_000);
            self.base = self.base.min(rtt);
            self.min = self.min.min(rtt);
            self.samples += 1;
        }
        let open = ack.recovery == Recovery::Open;
        if open != self.open {
            self.open = open;
            self.active = open;
            if open {
                self.begin(ack.next);
            }
        }
    }

    /// Reset the base RTT, because the connection was idle.
    pub const fn restart(&mut self) {
        self.base = Nanos::MAX;
        self.active = true;
        self.begins = true;
    }

    /// Linux also resets the base RTT after a timeout (CA_EVENT_TX_START), and measures during that recovery.
    pub const fn on_congestion(&mut self, kind: Congestion) {
        if kind.is_timeout() {
            self.restart();
            self.open = false;
        }
    }

    /// Whether this ACK ends the round.
    pub const fn has_ended(&self, ack: &Ack) -> bool {
        ack.una > self.end
    }

    /// Begin a round.
    pub const fn begin(&mut self, next: u64) {
        self.end = next;
        self.samples = 0;
        self.min = Nanos::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(una: u64, rtt: Nanos, recovery: Recovery) -> Ack {
        Ack { una, next: una + 10, rtt: Some(rtt), recovery, ..Ack::default() }
    }

    #[test]
    fn a_timeout_forgets_the_base_rtt_and_a_repair_does_not() {
        let mut rtt = RoundRtt::default();
        rtt.observe(&ack(1, 50_000, Recovery::Open));
        rtt.observe(&ack(2, 90_000, Recovery::Recovery));
        assert!(!rtt.active);
        assert_eq!(rtt.base, 51_000);
        rtt.on_congestion(Congestion::Loss);
        assert_eq!(rtt.base, 51_000);
        rtt.on_congestion(Congestion::Timeout);
        rtt.observe(&ack(3, 80_000, Recovery::Loss));
        assert!(rtt.active, "RTTs after a timeout count, although losses are being repaired");
        assert_eq!((rtt.base, rtt.min, rtt.samples), (81_000, 81_000, 1));
        rtt.observe(&ack(4, 90_000, Recovery::Open));
        assert_eq!((rtt.base, rtt.samples), (81_000, 0), "with the repair's end a round begins");
    }

    #[test]
    fn a_round_ends_when_a_packet_sent_after_its_begin_is_acknowledged() {
        let mut rtt = RoundRtt::default();
        rtt.begin(10);
        assert!(!rtt.has_ended(&ack(10, 1, Recovery::Open)));
        assert!(rtt.has_ended(&ack(11, 1, Recovery::Open)));
    }
}
