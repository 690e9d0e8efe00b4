//! Checks that paths are FIFO: no packet of a flow overtakes another of its kind on the same path.
//! Runs only in builds with debug assertions, which all tests use.

use std::collections::BTreeMap;

use leo_link::Nanos;

use crate::packet::{Kind, Packet};

/// The last arrivals on each path.
#[derive(Clone, Debug, Default)]
pub struct Order {
    paths: BTreeMap<u32, Last>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// Send time of the last data packet to arrive.
    sent_at: Nanos,
    /// Cumulative number of the last ACK to arrive; it never decreases.
    cumulative: u64,
}

impl Order {
    /// Check a packet at the end of its path.
    ///
    /// # Panics
    /// The packet overtook another.
    pub fn check(&mut self, packet: &Packet) {
        let last = self.paths.entry(packet.path).or_default();
        match packet.kind {
            Kind::Data => {
                assert!(
                    packet.timestamp >= last.sent_at,
                    "{packet:?} overtook what was sent at {}",
                    last.sent_at
                );
                last.sent_at = packet.timestamp;
            }
            Kind::Ack => {
                assert!(packet.seq >= last.cumulative, "{packet:?} overtook one of {}", last.cumulative);
                last.cumulative = packet.seq;
            }
            Kind::Syn | Kind::SynAck => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Head;

    fn packet(kind: Kind, path: u32, seq: u64, timestamp: Nanos) -> Packet {
        Head { hop: 1, seq, timestamp, ..Head::new(kind, 1500, 0, path) }.into()
    }

    #[test]
    fn packets_of_other_paths_and_kinds_may_come_first() {
        let mut order = Order::default();
        for (kind, path, seq, timestamp) in
            [(Kind::Data, 1, 5, 50), (Kind::Data, 0, 4, 40), (Kind::Ack, 0, 1, 10), (Kind::Data, 1, 2, 50)]
        {
            order.check(&packet(kind, path, seq, timestamp));
        }
    }

    #[test]
    #[should_panic(expected = "overtook what was sent at 50")]
    fn data_that_was_sent_earlier_and_comes_later_was_overtaken() {
        let mut order = Order::default();
        order.check(&packet(Kind::Data, 0, 1, 50));
        order.check(&packet(Kind::Data, 0, 2, 49));
    }

    #[test]
    #[should_panic(expected = "overtook one of 7")]
    fn an_acknowledgement_of_less_was_overtaken() {
        let mut order = Order::default();
        order.check(&packet(Kind::Ack, 0, 7, 0));
        order.check(&packet(Kind::Ack, 0, 6, 0));
    }
}
