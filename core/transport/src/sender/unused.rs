//! Applications that send less than the window allows.

use leo_cc::CongestionControl;

use super::{Sender, State};
use crate::Nanos;
use crate::idle::{restart_window, validated_window};

impl Sender {
    /// Send only what [`Sender::write`] provides, up to the end of a transfer if there is one.
    #[must_use]
    pub fn with_application(mut self) -> Self {
        self.supply = self.supply.unwritten();
        self
    }

    /// Note that the application writes `packets` full packets. Take them out with [`Sender::transmit`].
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

    /// Like [`Sender::with_application`], but only a full send buffer keeps the application from writing.
    #[must_use]
    pub fn with_buffer(self) -> Self {
        Self { fills_buffer: true, ..self.with_application() }
    }

    #[inline]
    pub(super) fn is_window_limited(&self) -> bool {
        self.usage.is_limited(|| {
            let window = self.scheme.window();
            (window, window < self.scheme.slow_start_threshold())
        })
    }

    #[inline]
    pub(super) fn note_usage(&mut self, limited: bool) {
        let board = &self.board;
        self.usage.note(limited, board.packets_out(), board.una(), board.next());
    }

    /// Note room in the window with nothing to send, or nothing that the receiver allows.
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
            // Linux: not while a full send buffer stops the application (SOCK_NOSPACE).
            && !(self.fills_buffer && self.board.next() >= self.supply.written())
        {
            let used = self.starvation.note(now, self.board.packets_out(), self.timeout());
            if let Some(used) = used.filter(|_| self.state == State::Open) {
                self.give_up(validated_window(self.scheme.window(), used));
            }
        }
    }

    /// Tell the scheme of the pause before its next packet.
    #[cold]
    pub(super) fn restart(&mut self, now: Nanos) {
        if self.stats.sent > 0 {
            self.scheme.on_restart(now, now - self.last_sent);
            self.scheme_deadline = self.scheme.next_timer();
        }
    }

    /// Reduce an unused window; the threshold keeps 3/4 of the old one or more (tcp_current_ssthresh).
    fn give_up(&mut self, window: u32) {
        let before = self.scheme.window();
        if window < before {
            let threshold = self.scheme.slow_start_threshold().max(before / 2 + before / 4);
            self.scheme.on_unused_window(window, threshold);
        }
    }
}
