//! A flow whose oracle decides when packets leave.

use leo_cc::CongestionControl;
use leo_link::Nanos;

use super::Flow;

impl Flow {
    /// Return whether the scheme lets a packet leave at `now`, whatever its window and rate.
    #[inline(never)]
    pub fn may_send(&mut self, now: Nanos) -> bool {
        self.oracle.as_mut().is_none_or(|oracle| oracle.may_send(now))
    }

    /// Tell the oracle that packet `seq` leaves at `now`.
    pub fn note_sent(&mut self, now: Nanos, seq: u64) {
        if let Some(oracle) = &mut self.oracle {
            oracle.on_sent(now, seq);
        }
    }

    /// Tell the oracle that the flow sends nothing more at `now`.
    pub fn end_sending(&mut self, now: Nanos) {
        if let Some(oracle) = &mut self.oracle {
            let waits = !oracle.may_send(now);
            oracle.end_sending(waits);
        }
    }

    /// Return the scheme's desired window in packets.
    pub fn desired_window(&self, now: Nanos) -> u32 {
        self.oracle.as_ref().map_or_else(|| self.sender.scheme().window(), |oracle| oracle.window(now))
    }

    /// Return the pacing rate in payload bytes per second; `None` is unpaced.
    pub fn pacing_rate(&self, now: Nanos) -> Option<u64> {
        match &self.oracle {
            Some(oracle) => Some(oracle.pacing_rate(now)),
            None => self.sender.scheme().pacing_rate(),
        }
    }
}
