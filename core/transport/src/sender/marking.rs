//! Marks that ACKs report: accurate ECN (RFC 9768). The classic echo (RFC 3168) is a bit of the ACK.

use leo_cc::{CongestionControl, EcnMode};

use super::Sender;
use crate::accurate_ecn::{AccurateFeedback, Counters, Decoder, Progress};
use crate::receiver::AckToSend;

impl Sender {
    /// Use ECN in the `mode` that the ends have agreed on. Call before the start.
    pub fn use_ecn(&mut self, mode: EcnMode) {
        self.scheme.on_ecn_mode(mode);
        self.accurate_ecn = (mode == EcnMode::Accurate).then(Box::default);
    }

    /// Take the feedback of the ACK that [`Sender::on_ack`] gets next.
    pub fn hear(&mut self, feedback: AccurateFeedback) {
        if let Some(decoder) = &mut self.accurate_ecn {
            decoder.hear(feedback);
        }
    }

    /// The counters of accurate ECN, if in use.
    pub fn ecn_counters(&self) -> Option<&Counters> {
        self.accurate_ecn.as_deref().map(Decoder::counters)
    }

    /// Return how many packets `ack`, which delivers `delivered` packets, newly reports as marked.
    #[inline]
    pub(super) fn newly_marked(&mut self, ack: &AckToSend, prior_una: u64, delivered: u32) -> u32 {
        let Some(decoder) = &mut self.accurate_ecn else { return 0 };
        decoder.decode(Progress { delivered, behind: ack.cumulative < prior_una, left_ms: ack.left_ms })
    }
}
