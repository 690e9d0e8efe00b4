//! The receiver's counters and what its ACKs say of them (RFC 9768 §3.2).

use super::option::{EcnOption, order_from};
use super::{ACE_MASK, AccurateFeedback, CE, Counters, ECT_0, ECT_1};

/// RFC 9768 §3.2.2.5.1: an ACK leaves "if 'n' CE marks have arrived since the previous ACK", "'n' SHOULD be 2".
const MARKS: u32 = 2;

/// The counters r.cep, r.ceb, r.e0b and r.e1b.
#[derive(Clone, Debug, Default)]
pub struct Echo {
    counters: Counters,
    /// The bytes in the last options.
    reported: Counters,
    /// Whether the last packet was marked.
    was_marked: bool,
    /// Marks since the last ACK.
    unreported_marks: u32,
}

impl Echo {
    /// Count a packet with these ECN bits and payload bytes. Return whether it must be acknowledged at once.
    ///
    /// RFC 9768 §3.2: r.cep counts "every Acceptable packet that it receives with the CE code point", "including CE
    /// marked control packets and retransmissions"; the byte counters count "TCP payload octets".
    pub const fn on_packet(&mut self, ecn_bits: u8, payload_bytes: u32) -> bool {
        let ecn = ecn_bits as usize & CE;
        self.counters.bytes[ecn] += payload_bytes as u64;
        let marked = ecn == CE;
        if marked {
            self.counters.cep += 1;
            self.unreported_marks += 1;
        }
        // §3.2.2.5.1, Change-Triggered ACKs: "whenever a data packet marked CE arrives after the previous packet was not
        // CE". Increment-Triggered ACKs: MARKS.
        let begins = marked && !self.was_marked;
        self.was_marked = marked;
        begins || self.unreported_marks >= MARKS
    }

    /// Return the feedback of the ACK that leaves now with this many SACK blocks. §3.2: "it MUST report the most recent
    /// value".
    pub fn feedback(&mut self, sack_blocks: usize) -> AccurateFeedback {
        self.unreported_marks = 0;
        AccurateFeedback { ace: (self.counters.cep & ACE_MASK) as u8, option: self.option(sack_blocks) }
    }

    /// RFC 9768 §3.2.3.3: an option "on every scheduled ACK if any byte counter has incremented", with "a field for every
    /// byte counter that has changed at some time during the connection"; fields at its end may be omitted, but none
    /// that has changed since the last option.
    fn option(&mut self, sack_blocks: usize) -> EcnOption {
        let news = |ecn: usize| self.counters.bytes[ecn] != self.reported.bytes[ecn];
        if !(news(ECT_0) || news(ECT_1) || news(CE)) {
            return EcnOption::default();
        }
        let used = |ecn: usize| self.counters.payload_bytes(ecn as u8) != 0;
        let order = order_from(used(ECT_1));
        let wanted = order.iter().rposition(|&ecn| used(ecn)).map_or(0, |last| last + 1);
        let needed = order.iter().rposition(|&ecn| news(ecn)).map_or(0, |last| last + 1);
        let Some(room) = EcnOption::fitting(sack_blocks).filter(|room| *room >= needed) else {
            return EcnOption::default();
        };
        let fields = wanted.min(room);
        let option = EcnOption::new(&self.counters.bytes, used(ECT_1), fields);
        for ecn in order.into_iter().take(fields) {
            self.reported.bytes[ecn] = self.counters.bytes[ecn];
        }
        option
    }

    /// The packets and bytes that came.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_ECT: u8 = 0b00;
    const ONE: u8 = ECT_1 as u8;
    const ZERO: u8 = ECT_0 as u8;
    const MARK: u8 = CE as u8;

    fn counters(feedback: AccurateFeedback) -> Vec<(usize, u64)> {
        feedback.option.counters().collect()
    }

    #[test]
    fn the_counters_begin_at_5_1_1_and_0_and_the_ace_field_wraps_after_8_marks() {
        // RFC 9768 §3.2.1 and §3.2.2.
        let mut echo = Echo::default();
        assert_eq!(echo.feedback(0), AccurateFeedback { ace: 5, option: EcnOption::default() });
        let aces = [(); 9].map(|()| {
            echo.on_packet(MARK, 1448);
            echo.feedback(0).ace
        });
        assert_eq!(aces, [6, 7, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!((echo.counters().marked_packets(), echo.counters().payload_bytes(MARK)), (9, 9 * 1448));
    }

    #[test]
    fn a_mark_after_none_and_every_second_mark_are_acknowledged_at_once() {
        // RFC 9768 §3.2.2.5.1, Change-Triggered and Increment-Triggered ACKs.
        let mut echo = Echo::default();
        let mut at_once = |bits| echo.on_packet(bits, 1448);
        assert_eq!([ONE, ONE, MARK, ONE].map(&mut at_once), [false, false, true, false]);
        echo.feedback(0);
        let mut at_once = |bits| echo.on_packet(bits, 1448);
        assert_eq!([MARK, MARK].map(&mut at_once), [true, true]);
        echo.feedback(0);
        let mut at_once = |bits| echo.on_packet(bits, 1448);
        assert_eq!([MARK, MARK, ONE].map(&mut at_once), [false, true, true], "until an ACK leaves");
    }

    #[test]
    fn the_option_has_the_counters_that_ever_changed_and_only_with_news() {
        // The examples of RFC 9768 §3.2.3.3: EE0B alone, then EE0B and ECEB.
        let mut echo = Echo::default();
        echo.on_packet(ZERO, 1000);
        assert_eq!(counters(echo.feedback(0)), [(ECT_0, 1001)]);
        assert!(echo.feedback(0).option.is_absent());
        echo.on_packet(MARK, 1000);
        echo.on_packet(ZERO, 1000);
        assert_eq!(counters(echo.feedback(0)), [(ECT_0, 2001), (CE, 1000)]);
        echo.on_packet(ZERO, 1000);
        assert_eq!(counters(echo.feedback(0)), [(ECT_0, 3001), (CE, 1000)]);
        echo.on_packet(NOT_ECT, 1000);
        assert!(echo.feedback(0).option.is_absent(), "Not-ECT has no counter");
        // With ECT(1), order 1.
        let mut echo = Echo::default();
        echo.on_packet(ONE, 1000);
        echo.on_packet(MARK, 500);
        assert_eq!(counters(echo.feedback(2)), [(ECT_1, 1001), (CE, 500)]);
    }

    #[test]
    fn what_three_sack_blocks_leave_no_room_for_comes_with_the_next_ack() {
        // RFC 9768 §3.2.3.3: "the entire AccECN TCP option MUST be omitted".
        let mut echo = Echo::default();
        echo.on_packet(ONE, 1000);
        echo.on_packet(MARK, 1000);
        let feedback = echo.feedback(3);
        assert!(feedback.option.is_absent() && feedback.ace == 6);
        assert_eq!(counters(echo.feedback(2)), [(ECT_1, 1001), (CE, 1000)]);
    }
}
