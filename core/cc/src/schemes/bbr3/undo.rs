//! Undo of spurious losses (draft-ietf-ccwg-bbr-06, "Updating the Model Upon Detecting a Spurious Loss Recovery").

use super::{Bbr3, State};
use crate::{Nanos, Recovery};

/// BBR.undo_state, undo_bw_shortterm, undo_inflight_shortterm and undo_inflight_longterm.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    /// The state that the losses ended, if any.
    pub state: Option<State>,
    pub saved_at: Option<Nanos>,
    bandwidth_short_term: f64,
    short_term: u32,
    long_term: u32,
}

impl Bbr3 {
    /// SaveStateUponLoss
    pub(super) fn save_state(&mut self, now: Nanos) {
        self.save_window();
        self.undo = Undo {
            state: None,
            saved_at: Some(now),
            bandwidth_short_term: self.bounds.bandwidth_short_term,
            short_term: self.bounds.short_term,
            long_term: self.bounds.long_term,
        };
    }

    /// HandleSpuriousLossDetection
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_window();
        self.bounds.forget_loss();
        self.full.reset(0.0);
        let undo = std::mem::take(&mut self.undo);
        let bounds = &mut self.bounds;
        bounds.bandwidth_short_term = bounds.bandwidth_short_term.max(undo.bandwidth_short_term);
        bounds.short_term = bounds.short_term.max(undo.short_term);
        bounds.long_term = bounds.long_term.max(undo.long_term);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }

    /// SaveCwnd
    pub(super) fn save_window(&mut self) {
        self.prior_window = if self.recovery == Recovery::Open && self.state != State::ProbeRtt {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }

    /// RestoreCwnd
    pub(super) fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }
}
