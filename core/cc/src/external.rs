//! A window and a pacing rate set from outside: the learned agent as one more scheme.

use crate::{Ack, Congestion, CongestionControl, INITIAL_WINDOW, Nanos};

/// Does as it is told. Loss and timeouts reach the agent through its reports, not through the window.
#[derive(Clone, Debug)]
pub struct External {
    window: u32,
    pacing_rate: Option<u64>,
}

impl External {
    /// Until the first command: the initial window, unpaced.
    #[must_use]
    pub const fn new() -> Self {
        Self { window: INITIAL_WINDOW, pacing_rate: None }
    }

    /// Take a command: a window of at least one packet, and a rate in bytes of payload per second (0: unpaced).
    pub fn command(&mut self, window: u32, pacing_rate: u64) {
        self.window = window.max(1);
        self.pacing_rate = (pacing_rate > 0).then_some(pacing_rate);
    }
}

impl Default for External {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for External {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _kind: Congestion, _now: Nanos) {}

    fn on_undo(&mut self, _now: Nanos) {}

    fn window(&self) -> u32 {
        self.window
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }

    fn wants_rate_reduction(&self) -> bool {
        false
    }
}
