//! The event column.

use std::fmt;

use super::US_PER_MS;
use super::decimal::parse_scaled;

/// The event that a row starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// No event, only new values.
    #[default]
    None,
    /// The first row of an outage caused by a change of satellite.
    HardHandover,
    /// A change of route without an outage.
    SoftHandover(Stretch),
    /// The first row of a span without any path.
    Unreachable,
}

/// The part of the old path that a soft handover dismantles, in µs of propagation from the path's first site.
///
/// Packets in flight on it are lost. It is empty when the handover dismantles nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Start of the stretch.
    pub from_us: u32,
    /// End of the stretch.
    pub to_us: u32,
}

impl Event {
    /// Parse the event column, which is empty for no event.
    ///
    /// A soft handover may name the dismantled stretch in ms, as in `soft_handover(1.25..4.5)`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::None),
            "hard_handover" => Some(Self::HardHandover),
            "soft_handover" => Some(Self::SoftHandover(Stretch::default())),
            "unreachable" => Some(Self::Unreachable),
            _ => {
                let (from, to) = text.strip_prefix("soft_handover(")?.strip_suffix(')')?.split_once("..")?;
                let us = |text| parse_scaled(text, US_PER_MS).ok().and_then(|us| u32::try_from(us).ok());
                let stretch = Stretch { from_us: us(from)?, to_us: us(to)? };
                (stretch.from_us < stretch.to_us).then_some(Self::SoftHandover(stretch))
            }
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::HardHandover => f.write_str("hard_handover"),
            Self::SoftHandover(Stretch { from_us, to_us }) if from_us == to_us => {
                f.write_str("soft_handover")
            }
            Self::SoftHandover(Stretch { from_us, to_us }) => {
                let ms = |us: &u32| f64::from(*us) / US_PER_MS as f64;
                write!(f, "soft_handover({}..{})", ms(from_us), ms(to_us))
            }
            Self::Unreachable => f.write_str("unreachable"),
        }
    }
}
