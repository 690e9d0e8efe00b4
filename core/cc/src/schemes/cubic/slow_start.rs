//! CUBIC's start: the exits of slow start, and its replacements.

use crate::parts::careful_resume::CarefulResume;
use crate::parts::hystart::HyStart;
use crate::parts::hystart_plus_plus::{Growth, HyStartPlusPlus};
use crate::parts::rapid_start::RapidStart;
use crate::parts::search::Search;
use crate::parts::window::Window;
use crate::{Ack, Nanos, Saved};

/// The start of a connection, and slow start after a timeout.
#[derive(Clone, Debug, Default)]
pub enum SlowStart {
    /// It ends at the first loss.
    #[default]
    Plain,
    HyStart(HyStart),
    PlusPlus(HyStartPlusPlus),
    Search(Box<Search>),
    Rapid(RapidStart),
    /// Slow start before and after it ends by HyStart.
    Resume(Box<CarefulResume>, HyStart),
}

impl SlowStart {
    pub fn resuming(saved: Option<Saved>) -> Self {
        Self::Resume(Box::new(CarefulResume::new(saved)), HyStart::default())
    }

    pub fn on_start(&mut self, window: &mut Window, srtt: Nanos) {
        if let Self::Rapid(start) = self {
            start.on_start(window, srtt);
        }
    }

    /// Process an ACK, which may end slow start. Return the packets by which slow start grows per delivered packet.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) -> u32 {
        match self {
            Self::Plain | Self::PlusPlus(_) => 1,
            Self::HyStart(hystart) => {
                if window.in_slow_start() && hystart.exits(ack, window.packets) {
                    window.threshold = window.packets;
                }
                1
            }
            Self::Search(search) => u32::from(!window.in_slow_start() || search.on_ack(window, ack)),
            Self::Rapid(start) => start.on_ack(window, ack),
            Self::Resume(resume, hystart) => {
                let grows = resume.on_ack(window, ack);
                if !grows && !resume.retreats() {
                    hystart.pace();
                }
                if grows && window.in_slow_start() && hystart.exits(ack, window.packets) {
                    window.threshold = window.packets;
                }
                u32::from(grows)
            }
        }
    }

    /// Whether ACKs mean nothing to it outside slow start.
    #[inline(always)]
    pub const fn ends_with_slow_start(&self) -> bool {
        matches!(self, Self::Plain | Self::HyStart(_) | Self::PlusPlus(_))
    }

    /// Grow in slow start by `factor` packets per delivered packet; return the packets for congestion avoidance.
    pub fn grow(&mut self, window: &mut Window, ack: &Ack, factor: u32) -> u32 {
        let Self::PlusPlus(hystart) = self else {
            return window.slow_start(ack.delivered.saturating_mul(factor)).min(ack.delivered);
        };
        match hystart.grow(ack, ack.delivered) {
            Growth::By(packets) => {
                window.slow_start(packets);
            }
            Growth::Over => window.threshold = window.packets,
        }
        0
    }

    /// Process a loss or a mark at `packets`; return the reduced window if it is not CUBIC's.
    pub fn on_congestion(&mut self, packets: u32) -> Option<u32> {
        match self {
            Self::Rapid(start) => start.on_congestion(packets),
            Self::Resume(resume, _) => resume.on_congestion(),
            Self::Search(search) => {
                search.reset();
                None
            }
            _ => None,
        }
    }

    /// Restart slow start after a timeout, by its ordinary rules.
    pub fn restart(&mut self) {
        match self {
            Self::HyStart(hystart) => hystart.reset(),
            Self::Search(search) => search.reset(),
            Self::Rapid(start) => start.end(),
            Self::Resume(resume, hystart) => {
                resume.end();
                hystart.reset();
            }
            Self::Plain | Self::PlusPlus(_) => {}
        }
    }

    /// Process the end of a recovery; return W_max if start-up has measured it.
    pub fn on_recovered(&mut self) -> Option<u32> {
        let Self::Rapid(start) = self else { return None };
        // "Handing Over to CUBIC": with fast convergence "W_max SHOULD be set to twice the estimated full BDP".
        start.on_recovered().map(|window| (2.0 * RapidStart::full_bdp(window)) as u32)
    }

    /// The last reduction was spurious.
    pub fn on_undo(&mut self) {
        match self {
            Self::Rapid(start) => start.end(),
            Self::Resume(resume, _) => resume.end(),
            _ => {}
        }
    }

    #[inline]
    pub fn pacing_rate(&self, window: u32) -> Option<u64> {
        match self {
            Self::Rapid(start) => start.pacing_rate(window),
            Self::Resume(resume, _) => resume.pacing_rate(),
            _ => None,
        }
    }

    /// Whether the window shrinks at once, without proportional rate reduction.
    pub fn reduces_at_once(&self) -> bool {
        match self {
            Self::Rapid(start) => start.converges(),
            Self::Resume(resume, _) => resume.retreats(),
            _ => false,
        }
    }
}
