//! Accurate ECN feedback (RFC 9768): the receiver counts marks, its ACKs repeat the counters, the sender decodes them.
//!
//! The two ECN bits of the IP header distinguish packets (RFC 3168 §5): 01 is ECT(1), 10 ECT(0), 11 CE.

mod counters;
mod decoder;
mod echo;
mod negotiation;
mod option;

pub use counters::Counters;
pub use decoder::{Decoder, Progress};
pub use echo::Echo;
pub use negotiation::negotiate;
pub use option::EcnOption;

const ECT_1: usize = 0b01;
const ECT_0: usize = 0b10;
const CE: usize = 0b11;

/// The ACE field has the three low bits of cep.
const ACE_MASK: u64 = 0b111;

/// The feedback of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccurateFeedback {
    /// The ACE field: AE, CWR and ECE of the TCP header as a number below 8.
    pub ace: u8,
    /// The byte counters, if there was something new and room for it.
    pub option: EcnOption,
}
