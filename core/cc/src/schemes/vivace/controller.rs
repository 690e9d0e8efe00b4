//! The interface of the three implementations: plan monitor intervals and learn from their measurements.

use super::{Completion, Kernel, Measurement, Nsdi2018, Plan, Proteus};
use crate::Nanos;

/// Wire bits per payload byte: a packet of 1,500 bytes carries 1,448.
const WIRE_BITS_PER_PAYLOAD_BYTE: f64 = super::utility::PACKET_BITS / crate::SEGMENT_BYTES as f64;

/// Convert units of `bits` per second on the wire to payload bytes per second.
pub fn payload_rate(rate: f64, bits: f64) -> f64 {
    rate * bits / WIRE_BITS_PER_PAYLOAD_BYTE
}

/// Convert payload bytes per second to units of `bits` per second on the wire.
pub fn wire_rate(rate: f64, bits: f64) -> f64 {
    rate * WIRE_BITS_PER_PAYLOAD_BYTE / bits
}

/// RTTs when an interval begins; 0 before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtts {
    pub min: Nanos,
    pub smoothed: Nanos,
    /// Mean over the last complete monitor interval.
    pub interval: Nanos,
}

/// A state machine of rates and measurements.
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
    /// Return the plan of interval `id`, which begins now.
    pub fn plan(&mut self, id: u64, rtts: Rtts) -> Plan {
        match self {
            Self::Nsdi2018(controller) => controller.plan(id, rtts),
            Self::Proteus(controller) => controller.plan(id, rtts),
            Self::Kernel(controller) => controller.plan(id, rtts),
        }
    }

    /// Learn from a complete interval; return whether the current interval must end and another begin.
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

    /// Take the first RTT; return as [`learn`](Self::learn) does.
    pub fn on_first_rtt(&mut self, rtt: Nanos) -> bool {
        match self {
            Self::Proteus(controller) => {
                controller.on_first_rtt(rtt);
                true
            }
            Self::Nsdi2018(_) | Self::Kernel(_) => false,
        }
    }

    /// The retransmission timer expired; return as [`learn`](Self::learn) does.
    pub fn on_timeout(&mut self) -> bool {
        let Self::Kernel(controller) = self else { return false };
        controller.on_timeout();
        true
    }

    /// Recovery from the timeout is complete; return as [`learn`](Self::learn) does.
    pub fn on_repaired(&mut self) -> bool {
        let Self::Kernel(controller) = self else { return false };
        controller.on_repaired();
        true
    }

    /// The current rate in payload bytes per second.
    pub fn rate(&self) -> f64 {
        match self {
            Self::Nsdi2018(controller) => controller.rate(),
            Self::Proteus(controller) => controller.rate(),
            Self::Kernel(controller) => controller.rate(),
        }
    }

    /// When an interval is complete.
    pub const fn completion(&self) -> Completion {
        match self {
            // Loss detection needs three later packets (RFC 5681 §3.2).
            Self::Nsdi2018(_) | Self::Proteus(_) => Completion::After(3),
            Self::Kernel(_) => Completion::AtEdge,
        }
    }

    /// Whether this is the kernel's, whose packets are paced in bursts.
    pub const fn is_in_kernel(&self) -> bool {
        matches!(self, Self::Kernel(_))
    }
}

/// Change of utility over change of rate between two trials; 0 for equal rates.
pub fn gradient(from: (f64, f64), to: (f64, f64)) -> f64 {
    let (rates, utilities) = (to.0 - from.0, to.1 - from.1);
    if rates == 0.0 { 0.0 } else { utilities / rates }
}
