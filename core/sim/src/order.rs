//! Checks that paths are FIFO: no packet of a flow overtakes another of its kind on the same path.
//! Runs only in builds with debug assertions, which all tests use.
//!
//! The exception is a queue with one part for L4S and one for the rest. It takes every marked packet for L4S (RFC 9331
//! §5.1), so a packet of a classic flow that was marked on an earlier link may overtake those that were not.

use std::collections::BTreeMap;

use leo_link::{Codepoint, Nanos};

use crate::packet::{Head, Kind};

/// The last arrivals on each path, and with each codepoint where queues part these.
#[derive(Clone, Debug, Default)]
pub struct Order {
    lanes: BTreeMap<(u32, Option<Codepoint>), Last>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// Send time of the last data packet to arrive.
    sent_at: Nanos,
    /// Cumulative number of the last ACK to arrive; it never decreases.
    cumulative: u64,
}

impl Order {
    /// Check a packet at the end of its path, on which queues part the packets of a flow by their codepoint if `parts`.
    ///
    /// # Panics
    /// The packet overtook another.
    pub fn check(&mut self, packet: &Head, parts: bool) {
        let codepoint = Some(packet.ecn.codepoint()).filter(|_| parts);
        if codepoint == Some(Codepoint::Ce) {
            // The packet does not show whether it was marked before the queues that part or in them.
            return;
        }
        let last = self.lanes.entry((packet.path, codepoint)).or_default();
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
            Kind::Syn | Kind::SynAck | Kind::Request | Kind::Report => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::Ecn;

    fn packet(kind: Kind, path: u32, seq: u64, timestamp: Nanos) -> Head {
        Head { hop: 1, seq, timestamp, ..Head::new(kind, 1500, 0, path) }
    }

    #[test]
    fn packets_of_other_paths_and_kinds_may_come_first() {
        let mut order = Order::default();
        for (kind, path, seq, timestamp) in
            [(Kind::Data, 1, 5, 50), (Kind::Data, 0, 4, 40), (Kind::Ack, 0, 1, 10), (Kind::Data, 1, 2, 50)]
        {
            order.check(&packet(kind, path, seq, timestamp), false);
        }
    }

    #[test]
    #[should_panic(expected = "overtook what was sent at 50")]
    fn data_that_was_sent_earlier_and_comes_later_was_overtaken() {
        let mut order = Order::default();
        order.check(&packet(Kind::Data, 0, 1, 50), false);
        order.check(&packet(Kind::Data, 0, 2, 49), false);
    }

    fn data(codepoint: Codepoint, timestamp: Nanos) -> Head {
        Head { ecn: Ecn::of_data(codepoint, false), ..packet(Kind::Data, 0, 1, timestamp) }
    }

    #[test]
    fn marked_data_may_come_first_where_queues_part_codepoints() {
        let mut order = Order::default();
        for (codepoint, timestamp) in [(Codepoint::Ect0, 1), (Codepoint::Ce, 3), (Codepoint::Ect0, 2)] {
            order.check(&data(codepoint, timestamp), true);
        }
    }

    #[test]
    #[should_panic(expected = "overtook what was sent at 3")]
    fn data_that_nothing_marked_keeps_its_order_there() {
        let mut order = Order::default();
        for (codepoint, timestamp) in [(Codepoint::Ect0, 3), (Codepoint::Ce, 4), (Codepoint::Ect0, 2)] {
            order.check(&data(codepoint, timestamp), true);
        }
    }

    #[test]
    #[should_panic(expected = "overtook what was sent at 3")]
    fn marked_data_keep_their_order_elsewhere() {
        let mut order = Order::default();
        for (codepoint, timestamp) in [(Codepoint::Ce, 3), (Codepoint::Ect0, 2)] {
            order.check(&data(codepoint, timestamp), false);
        }
    }

    #[test]
    #[should_panic(expected = "overtook one of 7")]
    fn an_acknowledgement_of_less_was_overtaken() {
        let mut order = Order::default();
        order.check(&packet(Kind::Ack, 0, 7, 0), false);
        order.check(&packet(Kind::Ack, 0, 6, 0), false);
    }
}
