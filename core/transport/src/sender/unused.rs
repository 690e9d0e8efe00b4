//! Applications that send less than the window allows.

use leo_cc::CongestionControl;

use super::{Sender, State};
use crate::Nanos;
use crate::idle::{restart_window, validated_window};

impl Sender {
    /// A connection that has only what [`Sender::write`] gives it, of a transfer or without end.
    #[must_use]
    pub fn with_application(mut self) -> Self {
        self.supply = self.supply.unwritten();
        self
    }

    /// The application writes so many full packets. Take them out with [`Sender::transmit`].
    pub fn write(&mut self, now: Nanos, packets: u64) {
        self.supply.write(packets);
        // Linux's tcp_slow_start_after_idle_check.
        let silence = now - self.last_sent;
        if self.stats.sent > 0 && self.board.packets_out() == 0 && silence > self.timeout() {
            let window = restart_window(self.scheme.window(), silence, self.timeout());
            self.give_up(window);
            self.starvation.end(now);
        }
    }

    /// The same where a full send buffer, and nothing else, keeps the application from writing.
    #[must_use]
    pub fn with_buffer(self) -> Self {
        Self { fills_buffer: true, ..self.with_application() }
    }

    #[inline]
    pub(super) fn is_window_limited(&self) -> bool {
        let window = self.scheme.window();
        self.usage.is_limited(window, window < self.scheme.slow_start_threshold())
    }

    #[inline]
    pub(super) fn note_usage(&mut self, limited: bool) {
        let board = &self.board;
        self.usage.note(limited, board.packets_out(), board.una(), board.next());
    }

    /// There is room in the window and nothing to send, or nothing that the receiver would take.
    #[cold]
    pub(super) fn run_dry(&mut self, now: Nanos) {
        let was_limited = self.is_window_limited();
        self.note_usage(false);
        if self.board.next() >= self.supply.written() {
            self.delivery.on_run_dry(self.board.in_flight());
        }
        // Linux's tcp_cwnd_validate.
        if was_limited || self.is_window_limited() {
            self.starvation.end(now);
        } else if self.last_sent == now
            // Linux: not while a full send buffer is what stops the application (SOCK_NOSPACE).
            && !(self.fills_buffer && self.board.next() >= self.supply.written())
            && let Some(used) = self.starvation.note(now, self.board.packets_out(), self.timeout())
            && self.state == State::Open
        {
            self.give_up(validated_window(self.scheme.window(), used));
        }
    }

    /// The first packet after the application paused is about to go out.
    #[cold]
    pub(super) fn restart(&mut self, now: Nanos) {
        if self.stats.sent > 0 {
            self.scheme.on_restart(now, now - self.last_sent);
            self.scheme_deadline = self.scheme.next_timer();
        }
    }

    /// The window comes down to `window` for want of use; the threshold remembers three quarters of it, or more (Linux's
    /// tcp_current_ssthresh).
    fn give_up(&mut self, window: u32) {
        let before = self.scheme.window();
        if window < before {
            let threshold = self.scheme.slow_start_threshold().max(before / 2 + before / 4);
            self.scheme.on_unused_window(window, threshold);
        }
    }
}
