//! A check that paths are first in, first out: of a flow's packets on one path none overtakes another of its kind.
//!
//! Every run of a build with debug assertions makes it, so that all tests do; others pay nothing.

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
    /// When the last data packet to arrive was sent.
    sent_at: Nanos,
    /// What the last acknowledgement to arrive said: a receiver never takes anything back.
    cumulative: u64,
}

impl Order {
    /// `packet` has come to the end of its path.
    ///
    /// # Panics
    /// It overtook another.
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
