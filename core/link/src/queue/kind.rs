//! The names of the queue disciplines, and their default sizes.

use serde::Deserialize;

use super::{DropTail, DualPi2Settings, FqCodelSettings, FqPieSettings, SfqSettings};

/// Queue disciplines. Those of Linux have their names in tc(8), except that `head_drop` is `pfifo_head_drop` there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// First in, first out; a packet that does not fit is dropped.
    #[default]
    Droptail,
    /// First in, first out; a packet that does not fit pushes out the oldest.
    HeadDrop,
    /// A GEO gateway: see [`super::Gateway`].
    Gateway,
    /// Stochastic fairness queueing.
    Sfq,
    /// CoDel (RFC 8289).
    Codel,
    /// FQ-CoDel (RFC 8290).
    FqCodel,
    /// PIE (RFC 8033).
    Pie,
    /// PIE in flow queues.
    FqPie,
    /// CAKE.
    Cake,
    /// DualPI2 (RFC 9332).
    #[serde(rename = "dualpi2")]
    DualPi2,
}

/// "The queue can grow up to 36 MBytes" (Peters et al., HyStart over satellite, section 4).
const GATEWAY_BYTES: u64 = 36_000_000;
/// Linux's default limit of CoDel and PIE.
const SINGLE_PACKETS: u64 = 1_000;
/// Linux's least default buffer of CAKE.
const CAKE_BYTES: u64 = 4 << 20;

impl QueueKind {
    /// Every discipline with its name.
    pub const ALL: [(&'static str, Self); 10] = [
        ("droptail", Self::Droptail),
        ("head_drop", Self::HeadDrop),
        ("gateway", Self::Gateway),
        ("sfq", Self::Sfq),
        ("codel", Self::Codel),
        ("fq_codel", Self::FqCodel),
        ("pie", Self::Pie),
        ("fq_pie", Self::FqPie),
        ("cake", Self::Cake),
        ("dualpi2", Self::DualPi2),
    ];

    /// The discipline called `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(kind_name, _)| *kind_name == name).map(|(_, kind)| *kind)
    }

    /// Its name in scenarios, on command lines and in logs.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Its size where none is given; `None` means one bandwidth-delay product.
    pub fn default_size(self) -> Option<DropTail> {
        match self {
            Self::Droptail | Self::HeadDrop => None,
            Self::Gateway => Some(DropTail::of_bytes(GATEWAY_BYTES)),
            Self::Sfq => Some(DropTail::of_packets(SfqSettings::default().limit)),
            Self::Codel | Self::Pie => Some(DropTail::of_packets(SINGLE_PACKETS)),
            Self::FqCodel => Some(DropTail::of_packets(FqCodelSettings::default().limit)),
            Self::FqPie => Some(DropTail::of_packets(FqPieSettings::default().limit)),
            Self::DualPi2 => Some(DropTail::of_packets(DualPi2Settings::default().limit)),
            Self::Cake => Some(DropTail::of_bytes(CAKE_BYTES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_discipline_is_found_by_its_name() {
        for (name, kind) in QueueKind::ALL {
            assert_eq!((QueueKind::by_name(name), kind.name()), (Some(kind), name));
        }
        assert_eq!(QueueKind::by_name("red"), None);
    }
}
