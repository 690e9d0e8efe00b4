//! Timers against lost tails: the loss probe (RFC 8985 §7) and the retransmission timeout (RFC 6298).

use super::{Probe, Sender, Tail, Transmit};
use crate::rtt::{RTO_MAX, RTO_MIN};
use crate::{AckToSend, Nanos};

impl Sender {
    #[cold]
    pub(super) fn begin_probe(&mut self, now: Nanos) {
        self.tail = Tail::Timeout(now + self.timeout());
        self.probe_due = self.probe.is_none()
            && self.board.packets_out() > 0
            // Without new data the probe repeats the last packet, unless it has arrived by now.
            && (self.has_new() || !self.board.get(self.board.next() - 1).sacked);
    }

    /// RFC 8985 §7.3: "send a new segment if one is available, else retransmit the highest-sequence segment".
    /// As in Linux, a new one may exceed the congestion window.
    #[cold]
    pub(super) fn send_probe(&mut self, now: Nanos) -> Transmit {
        self.probe_due = false;
        self.burst_is_several = false;
        let last = self.board.next() - 1;
        let retransmission = !self.has_new();
        self.probe = Some(Probe { until: self.board.next(), retransmission });
        if retransmission { self.retransmit(now, last) } else { self.send_new(now, 1) }
    }

    const fn has_new(&self) -> bool {
        self.board.next() < self.supply.sendable()
    }

    /// RFC 8985 §7.4.2: the probe repaired a loss, so the window shrinks, unless a duplicate report follows.
    #[inline]
    pub(super) fn end_probe(&mut self, now: Nanos, ack: &AckToSend) {
        let Some(probe) = self.probe else { return };
        if ack.cumulative < probe.until {
            return;
        }
        if !probe.retransmission || ack.sacks.is_duplicate() {
            self.probe = None;
        } else if ack.cumulative > probe.until {
            self.probe = None;
            self.begin_recovery(now);
        }
    }

    pub(super) fn timeout(&self) -> Nanos {
        (self.rtt.timeout() << self.backoff.min(16)).min(RTO_MAX)
    }

    /// RFC 8985 §7.2: a probe after two round trips outside recovery, else the timeout.
    #[inline]
    pub(super) fn arm_tail(&mut self, now: Nanos) {
        self.arm(now, self.state.repairs_nothing() && self.probe.is_none() && self.sacked.is_empty());
    }

    /// Arm the timer, given whether a probe may be sent.
    #[inline(always)]
    pub(super) fn arm(&mut self, now: Nanos, may_probe: bool) {
        let packets_out = self.board.packets_out();
        if packets_out == 0 {
            self.tail = Tail::Unarmed;
            return;
        }
        let timeout = now + self.timeout();
        let srtt = self.rtt.smoothed();
        self.tail = if may_probe && srtt > 0 {
            // The ACK of a single packet may be delayed.
            let wait = 2 * srtt + if packets_out == 1 { RTO_MIN } else { 2_000_000 };
            Tail::Probe((now + wait).min(timeout))
        } else {
            Tail::Timeout(timeout)
        };
    }
}
