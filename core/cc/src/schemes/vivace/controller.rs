//! What the three public implementations have in common: they plan monitor intervals and learn from what they measured.

use super::{Completion, Kernel, Measurement, Nsdi2018, Plan, Proteus};
use crate::Nanos;

/// Bits on the wire for each byte of payload: a packet of 1,500 bytes carries 1,448.
const WIRE_BITS_PER_PAYLOAD_BYTE: f64 = super::utility::PACKET_BITS / crate::SEGMENT_BYTES as f64;

/// Payload bytes a second, from units of `bits` a second on the wire.
pub fn payload_rate(rate: f64, bits: f64) -> f64 {
    rate * bits / WIRE_BITS_PER_PAYLOAD_BYTE
}

/// Units of `bits` a second on the wire, from payload bytes a second.
pub fn wire_rate(rate: f64, bits: f64) -> f64 {
    rate * WIRE_BITS_PER_PAYLOAD_BYTE / bits
}

/// RTTs as they are when an interval begins; 0 before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtts {
    /// The smallest.
    pub min: Nanos,
    /// Smoothed.
    pub smoothed: Nanos,
    /// Mean over the monitor interval that was completed last.
    pub interval: Nanos,
}

/// A controller: a state machine of rates and measurements, whoever sends the packets.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one a flow, and it is not moved")]
pub enum Controller {
    /// The branch NSDI-2018 of PCC-Uspace.
    Nsdi2018(Nsdi2018),
    /// PCC-Uspace's main branch.
    Proteus(Proteus),
    /// PCC-Kernel.
    Kernel(Kernel),
}

impl Controller {
    /// The plan of interval `id`, which begins now.
    pub fn plan(&mut self, id: u64, rtts: Rtts) -> Plan {
        match self {
            Self::Nsdi2018(controller) => controller.plan(id, rtts),
            Self::Proteus(controller) => controller.plan(id, rtts),
            Self::Kernel(controller) => controller.plan(id, rtts),
        }
    }

    /// An interval is complete. True: the interval that is being sent must end, for another is to begin.
    pub fn learn(&mut self, measured: &Measurement) -> bool {
        match self {
            Self::Nsdi2018(controller) => {
                controller.learn(measured);
                false
            }
            Self::Proteus(controller) => controller.learn(measured),
            Self::Kernel(controller) => controller.learn(measured),
        }
    }

    /// The first RTT is known. True as for [`learn`](Self::learn).
    pub fn on_first_rtt(&mut self, rtt: Nanos) -> bool {
        match self {
            Self::Proteus(controller) => {
                controller.on_first_rtt(rtt);
                true
            }
            Self::Nsdi2018(_) | Self::Kernel(_) => false,
        }
    }

    /// The retransmission timer ran out. True as for [`learn`](Self::learn).
    pub fn on_timeout(&mut self) -> bool {
        let Self::Kernel(controller) = self else { return false };
        controller.on_timeout();
        true
    }

    /// What was lost with the timeout has been repaired. True as for [`learn`](Self::learn).
    pub fn on_repaired(&mut self) -> bool {
        let Self::Kernel(controller) = self else { return false };
        controller.on_repaired();
        true
    }

    /// Payload bytes a second to send at now.
    pub fn rate(&self) -> f64 {
        match self {
            Self::Nsdi2018(controller) => controller.rate(),
            Self::Proteus(controller) => controller.rate(),
            Self::Kernel(controller) => controller.rate(),
        }
    }

    /// When it takes an interval for complete.
    pub const fn completion(&self) -> Completion {
        match self {
            // Three packets sent later: by then loss detection has seen what is missing (RFC 5681 §3.2).
            Self::Nsdi2018(_) | Self::Proteus(_) => Completion::After(3),
            Self::Kernel(_) => Completion::AtEdge,
        }
    }

    /// Whether it runs in the kernel, where packets are paced in bursts.
    pub const fn is_in_kernel(&self) -> bool {
        matches!(self, Self::Kernel(_))
    }
}

/// Change of utility over change of rate between two trials; 0 where their rates are the same.
pub fn gradient(from: (f64, f64), to: (f64, f64)) -> f64 {
    let (rates, utilities) = (to.0 - from.0, to.1 - from.1);
    if rates == 0.0 { 0.0 } else { utilities / rates }
}
