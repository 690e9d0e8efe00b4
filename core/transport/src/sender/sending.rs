//! What goes out next, and when: windows, pacing, bursts, repairs before new data.

use leo_cc::CongestionControl;

use super::{Sender, Tail, Transmit};
use crate::Nanos;
use crate::burst::Burst;

impl Sender {
    /// The next packet that may go out at `now`. Call until it returns `None`.
    #[inline]
    pub fn transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if self.closed {
            return None;
        }
        if self.probe_due {
            return Some(self.send_probe(now));
        }
        let (window, in_flight) = (self.window(), self.board.in_flight());
        if in_flight >= window {
            self.bursting = false;
            self.note_usage(true);
            self.pacer.end_burst();
            return None;
        }
        if self.board.next() >= self.supply.sendable() && self.board.first_to_retransmit().is_none() {
            self.run_dry(now);
            return None;
        }
        if let Some(rate) = self.scheme.pacing_rate() {
            if let Err(at) = self.pacer.may_send(now, rate, self.scheme.paces_single_packets()) {
                self.pacing_deadline = at;
                self.note_usage(false);
                return None;
            }
            self.pacer.on_sent(now, rate);
        } else if !self.bursting {
            let available = window - in_flight;
            if self.should_wait(now, window, available) {
                let allowed = self.supply.edge() - self.board.next();
                self.note_usage(u64::from(available) <= allowed);
                return None;
            }
            self.bursting = true;
        }
        let transmit = match self.board.first_to_retransmit() {
            Some(seq) if self.asking == 0 || !self.asks_with_new => self.retransmit(now, seq),
            _ => self.send_new(now),
        };
        Some(transmit)
    }

    /// Whether the new packet that [`Sender::transmit`] has given out must tell the receiver that the window is reduced
    /// (RFC 3168: CWR). Ask for each, where marks are understood.
    #[inline]
    pub fn take_report(&mut self) -> bool {
        std::mem::take(&mut self.reports_reduction)
    }

    /// Whether to gather a larger burst first. Repairs never wait.
    #[inline]
    fn should_wait(&self, now: Nanos, window: u32, available: u32) -> bool {
        if !self.state.repairs_nothing() || self.board.packets_out() == 0 {
            return false;
        }
        let mut available = available;
        let sendable = self.supply.sendable() - self.board.next();
        if u64::from(available) >= sendable {
            // Linux: what ends the transfer (TCPHDR_FIN) is not held back.
            if self.supply.written() <= self.supply.edge() {
                return false;
            }
            available = sendable as u32;
        }
        let burst = Burst {
            available,
            window,
            slow_start: window < self.scheme.slow_start_threshold() / 2,
            srtt: self.rtt.smoothed(),
            since_sent: now - self.last_sent,
            head_age: now - self.board.get(self.board.una()).sent_at,
        };
        burst.should_wait()
    }

    pub(super) fn send_new(&mut self, now: Nanos) -> Transmit {
        let idle = self.board.packets_out() == 0;
        if idle && self.delivery.is_app_limited() {
            self.restart(now);
        }
        let state = self.delivery.on_sent(now, self.board.in_flight(), self.stats.lost);
        let seq = self.board.push(now, state);
        self.note_sent(now);
        if idle || matches!(self.tail, Tail::Unarmed | Tail::Probe(_)) {
            self.arm_tail(now);
        }
        Transmit { seq, retransmission: false }
    }

    pub(super) fn retransmit(&mut self, now: Nanos, seq: u64) -> Transmit {
        let state = self.delivery.on_sent(now, self.board.in_flight(), self.stats.lost);
        self.board.retransmit(seq, now, state);
        self.rack.on_retransmitted(seq, now);
        self.undo.on_retransmitted(now);
        self.stats.retransmitted += 1;
        self.note_sent(now);
        if self.tail == Tail::Unarmed {
            self.arm_tail(now);
        }
        Transmit { seq, retransmission: true }
    }

    #[inline]
    pub(super) fn note_sent(&mut self, now: Nanos) {
        self.last_sent = now;
        self.stats.sent += 1;
        self.interval.sent_packets += 1;
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent();
        }
    }
}
