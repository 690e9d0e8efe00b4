//! The window of Reno and its descendants, in packets.

use crate::{Ack, Congestion, CongestionControl, INITIAL_WINDOW, Nanos, Progress};

/// A scheme that moves a [`Window`], as Reno's descendants do. [`Windowed`] does the rest.
///
/// The methods mean the same as those of [`CongestionControl`].
pub trait WindowBased {
    fn on_start(&mut self, _window: &mut Window, _now: Nanos, _srtt: Nanos) {}
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {}
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);
    fn on_progress(&mut self, _window: &mut Window, _progress: &Progress) {}
    fn needs_only_progress(&self, _window: &Window) -> bool {
        false
    }
    /// Must call [`Window::reduce`].
    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, now: Nanos);
    fn on_recovered(&mut self, _window: &mut Window, _now: Nanos) {}
    /// As [`CongestionControl::pacing_rate`].
    fn pacing_rate(&self, _window: u32) -> Option<u64> {
        None
    }
    /// As [`CongestionControl::wants_rate_reduction`].
    fn wants_rate_reduction(&self) -> bool {
        true
    }
    /// Restore other state: window and threshold are restored already (Linux's tcp_reno_undo_cwnd).
    fn on_undo(&mut self) {}
}

/// A scheme and its window.
#[derive(Clone, Debug)]
pub struct Windowed<S> {
    pub window: Window,
    pub scheme: S,
}

impl<S> Windowed<S> {
    pub const fn new(scheme: S) -> Self {
        Self { window: Window::new(), scheme }
    }
}

impl<S> From<S> for Windowed<S> {
    fn from(scheme: S) -> Self {
        Self::new(scheme)
    }
}

impl<S: WindowBased> CongestionControl for Windowed<S> {
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        self.scheme.on_start(&mut self.window, now, srtt);
    }

    fn on_restart(&mut self, now: Nanos, idle: Nanos) {
        self.scheme.on_restart(now, idle);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.scheme.on_ack(&mut self.window, ack);
    }

    #[inline(always)]
    fn on_progress(&mut self, progress: &Progress) {
        self.scheme.on_progress(&mut self.window, progress);
    }

    #[inline(always)]
    fn needs_only_progress(&self) -> bool {
        self.scheme.needs_only_progress(&self.window)
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        self.scheme.on_congestion(&mut self.window, kind, now);
    }

    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        self.window.packets = window.max(1);
        self.window.threshold = threshold.max(2);
    }

    fn on_undo(&mut self, _now: Nanos) {
        let (packets, threshold) = self.window.prior;
        self.window.packets = self.window.packets.max(packets);
        self.window.threshold = self.window.threshold.max(threshold);
        self.scheme.on_undo();
    }

    fn on_recovered(&mut self, now: Nanos) {
        self.scheme.on_recovered(&mut self.window, now);
    }

    fn window(&self) -> u32 {
        self.window.packets
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window.threshold
    }

    #[inline(always)]
    fn pacing_rate(&self) -> Option<u64> {
        self.scheme.pacing_rate(self.window.packets)
    }

    fn wants_rate_reduction(&self) -> bool {
        self.scheme.wants_rate_reduction()
    }
}

/// A window that grows by whole packets and counts packets acknowledged since it last grew.
///
/// Linux's snd_cwnd, snd_ssthresh and snd_cwnd_cnt, tcp_slow_start and tcp_cong_avoid_ai.
#[derive(Clone, Debug)]
pub struct Window {
    pub packets: u32,
    pub threshold: u32,
    pub counted: u32,
    /// Window and threshold before the last reduction.
    prior: (u32, u32),
}

impl Window {
    pub const fn new() -> Self {
        Self { packets: INITIAL_WINDOW, threshold: u32::MAX, counted: 0, prior: (0, u32::MAX) }
    }

    pub const fn in_slow_start(&self) -> bool {
        self.packets < self.threshold
    }

    /// Grow by `acked` packets, up to the threshold; return the remaining packets.
    ///
    /// RFC 5681 §3.1: "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK received that
    /// cumulatively acknowledges new data"; counting packets instead of ACKs is RFC 3465.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        if !self.in_slow_start() {
            return acked;
        }
        let grown = self.packets.saturating_add(acked).min(self.threshold);
        let remaining = acked - (grown - self.packets);
        self.packets = grown;
        remaining
    }

    /// Grow by one packet for every `per_packet` acknowledged.
    pub fn increase(&mut self, acked: u32, per_packet: u32) {
        if self.counted >= per_packet {
            self.counted = 0;
            self.packets = self.packets.saturating_add(1);
        }
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= per_packet {
            let packets = self.counted / per_packet;
            self.counted -= packets * per_packet;
            self.packets = self.packets.saturating_add(packets);
        }
    }

    /// Reduce the window to `threshold` (at least 2 packets) after a loss or a mark, to one packet after a timeout.
    pub fn reduce(&mut self, threshold: u32, kind: Congestion) {
        if kind != Congestion::RepeatedTimeout {
            self.prior = (self.packets, self.threshold);
            self.threshold = threshold.max(2);
        }
        self.packets = if kind.is_timeout() { 1 } else { self.threshold };
        self.counted = 0;
    }

    /// Slow start, then one packet for every `per_packet(window)` acknowledged.
    pub fn grow(&mut self, acked: u32, per_packet: impl FnOnce(u32) -> u32) {
        let acked = self.slow_start(acked);
        if acked > 0 {
            self.increase(acked, per_packet(self.packets));
        }
    }

    /// Slow start, then one packet a round trip (RFC 5681 §3.1).
    pub fn grow_as_reno(&mut self, acked: u32) {
        self.grow(acked, |packets| packets);
    }
}
