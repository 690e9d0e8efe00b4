//! The sender's copies of the receiver's counters (RFC 9768 §3.2.2 and §3.2.3).

use super::option::COUNTER_MASK;
use super::{ACE_MASK, AccurateFeedback, CE, Counters};
use crate::SEGMENT_BYTES;

/// The ACE field counts modulo this.
const CYCLE: u64 = ACE_MASK + 1;

/// The sender's knowledge about an ACK besides its feedback.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Packets that it newly acknowledges, cumulatively or selectively.
    pub delivered: u32,
    /// Its cumulative ACK number is below an earlier one's.
    pub behind: bool,
    /// Its own timestamp in ms.
    pub left_ms: u32,
}

/// The counters s.cep, s.ceb, s.e0b and s.e1b.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    counters: Counters,
    /// Timestamp of the newest ACK.
    newest_ms: u32,
    heard: Option<AccurateFeedback>,
}

impl Decoder {
    /// Keep the feedback of the ACK that [`Decoder::decode`] takes next.
    pub const fn hear(&mut self, feedback: AccurateFeedback) {
        self.heard = Some(feedback);
    }

    /// Decode the feedback last heard; return how many marked packets it newly reports.
    #[cold]
    pub fn decode(&mut self, progress: Progress) -> u32 {
        let Some(feedback) = self.heard.take() else { return 0 };
        if self.is_superseded(progress) {
            return 0;
        }
        self.newest_ms = progress.left_ms;
        let marked_bytes = self.decode_option(&feedback);
        let least = (u64::from(feedback.ace) + CYCLE - self.counters.cep % CYCLE) % CYCLE;
        let marked = safest(least, u64::from(progress.delivered), marked_bytes);
        let marked = marked + self.cycles_that_bytes_reveal(marked) * CYCLE;
        self.counters.cep += marked;
        marked as u32
    }

    /// Return how often the ACE field must have cycled besides, as a packet brings a segment at most.
    ///
    /// A marked packet that arrives twice acknowledges nothing new: where all ACKs of eight of them are lost, the packets
    /// newly acknowledged do not show them. The counter of bytes does, whichever ACK brings it.
    const fn cycles_that_bytes_reveal(&self, marked: u64) -> u64 {
        let full = self.counters.payload_bytes(CE as u8).div_ceil(SEGMENT_BYTES as u64);
        full.saturating_sub(self.counters.marked_packets() + marked).div_ceil(CYCLE)
    }

    /// RFC 9768 §3.2.2.2: "it first checks whether it has already been superseded … by another ACK in which case it ignores
    /// the ECN feedback"; Appendix A.1: by "the TCP acknowledgement number and any SACK options" and by timestamps.
    const fn is_superseded(&self, progress: Progress) -> bool {
        let no_news = progress.delivered == 0 && progress.left_ms == self.newest_ms;
        progress.behind || progress.left_ms < self.newest_ms || no_news
    }

    /// RFC 9768 §3.2.3.1: "the minimum positive increment". Return that of the bytes marked CE; `None` without their counter.
    fn decode_option(&mut self, feedback: &AccurateFeedback) -> Option<u64> {
        if feedback.option.is_absent() {
            return None;
        }
        // A counter that never changed is omitted (§3.2.3.3).
        let mut marked = (self.counters.payload_bytes(CE as u8) == 0).then_some(0);
        for (ecn, counter) in feedback.option.counters() {
            let more = counter.wrapping_sub(self.counters.bytes[ecn]) & COUNTER_MASK;
            self.counters.bytes[ecn] += more;
            if ecn == CE {
                marked = Some(more);
            }
        }
        marked
    }

    /// The packets and bytes that were reported.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Return how many packets of `delivered` are newly marked if the ACE field grew by `least` or by a cycle or more beyond it.
///
/// RFC 9768 §3.2.2.5.2: "it SHOULD deem whether it cycled by taking the safest likely case". Appendix A.2.1: "dSafer.cep =
/// newlyAckedPkt - ((newlyAckedPkt - d.cep) % DIVACE)". Appendix A.2.2, with the bytes newly marked: fewer do where their mean
/// size would not exceed a segment. A.2.2 chooses between the least and the most; here every number of cycles between is
/// tried, so that full-sized packets are counted exactly.
fn safest(least: u64, delivered: u64, marked_bytes: Option<u64>) -> u64 {
    // "The Data Sender SHOULD consider the ACE counter to be correct": more marks than packets.
    let Some(excess) = delivered.checked_sub(least) else { return least };
    let most = delivered - excess % CYCLE;
    let Some(bytes) = marked_bytes else { return most };
    let full = bytes.div_ceil(u64::from(SEGMENT_BYTES));
    (least + full.saturating_sub(least).div_ceil(CYCLE) * CYCLE).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accurate_ecn::{Echo, EcnOption};

    const MSS: u64 = SEGMENT_BYTES as u64;

    #[test]
    fn without_bytes_the_most_marks_that_fit_are_assumed() {
        // RFC 9768 Appendix A.2.1: 9 packets and an increase of 2 are 2 marks, 10 packets 10.
        assert_eq!(safest(2, 9, None), 2);
        assert_eq!(safest(2, 10, None), 10);
        assert_eq!([safest(0, 7, None), safest(0, 8, None), safest(0, 44, None)], [0, 8, 40]);
        // §3.2.2.5.2: more marks than packets newly acknowledged.
        assert_eq!(safest(3, 2, None), 3);
    }

    #[test]
    fn bytes_tell_how_often_the_field_cycled() {
        // RFC 9768 Appendix A.2.2, with its three examples (an MSS of 1,460 there).
        assert_eq!(safest(0, 8, Some(MSS)), 8, "d.cep cannot have been correct");
        assert_eq!(safest(2, 10, Some(MSS)), 2, "d.cep is safe enough");
        assert_eq!(safest(7, 15, Some(7 * MSS - 20)), 7, "d.cep is safe enough");
        // Between the two: 2, 10, 18 or 26 of 30.
        assert_eq!([2, 10, 18, 26].map(|marks| safest(2, 30, Some(marks * MSS))), [2, 10, 18, 26]);
        assert_eq!(safest(2, 11, Some(100 * MSS)), 10, "never more than were acknowledged");
    }

    #[test]
    fn an_acknowledgement_that_another_has_overtaken_is_passed_over() {
        // RFC 9768 §3.2.2.2 and Appendix A.1.
        let progress = Progress { delivered: 1, behind: false, left_ms: 7 };
        let feedback = |ace| AccurateFeedback { ace, option: EcnOption::default() };
        let mut decoder = Decoder::default();
        let mut decode = |ace, progress| {
            decoder.hear(feedback(ace));
            decoder.decode(progress)
        };
        assert_eq!(decode(7, progress), 2);
        assert_eq!(decode(6, Progress { left_ms: 6, ..progress }), 0, "its timestamp is older");
        assert_eq!(decode(6, Progress { behind: true, ..progress }), 0, "its number is lower");
        assert_eq!(decode(6, Progress { delivered: 0, ..progress }), 0, "it says nothing new");
        assert_eq!(
            decode(0, Progress { delivered: 0, left_ms: 8, ..progress }),
            1,
            "a duplicate that was marked"
        );
        assert_eq!(decoder.counters.marked_packets(), 3);
    }

    #[test]
    fn marked_packets_that_arrived_twice_are_counted_though_the_acknowledgements_of_eight_were_lost() {
        let mut echo = Echo::default();
        let mut decoder = Decoder::default();
        let mut take = |packets: usize, delivered, blocks, left_ms| {
            (0..packets).for_each(|_| _ = echo.on_packet(CE as u8, SEGMENT_BYTES));
            decoder.hear(echo.feedback(blocks));
            (decoder.decode(Progress { delivered, behind: false, left_ms }), echo.counters().marked_packets())
        };
        assert_eq!(take(10, 10, 0, 1), (10, 10));
        // Of 9 marked packets only the last is new, and three SACK blocks leave no room for the option.
        assert_eq!(take(9, 1, 3, 2), (1, 19));
        // The next ACK has the option: 8 packets more than the field alone tells.
        assert_eq!(take(1, 1, 0, 3), (9, 20));
        assert_eq!(decoder.counters.marked_packets(), 20);
    }

    #[test]
    fn an_option_whose_counter_has_wrapped_is_understood() {
        // Appendix A.1: s.ceb = 33,554,433 and ECEB = 1461 are d.ceb = 1460.
        let mut decoder = Decoder::default();
        decoder.counters.bytes[CE] = 33_554_433;
        let mut bytes = [0; 4];
        bytes[CE] = 1461;
        let feedback = AccurateFeedback { ace: 0, option: EcnOption::new(&bytes, true, 2) };
        assert_eq!(decoder.decode_option(&feedback), Some(1460));
        assert_eq!(decoder.counters.payload_bytes(CE as u8), 33_555_893);
    }

    #[test]
    fn a_counter_of_bytes_that_never_changed_is_known_without_its_field() {
        let mut echo = Echo::default();
        (0..10).for_each(|_| _ = echo.on_packet(0b01, SEGMENT_BYTES));
        let mut decoder = Decoder::default();
        decoder.hear(echo.feedback(0));
        // Without the option's word, 8 of the 10 might have been marked.
        assert_eq!(decoder.decode(Progress { delivered: 10, behind: false, left_ms: 1 }), 0);
    }
}
