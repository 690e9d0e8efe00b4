//! Choice and time of the next packet: windows, pacing, bursts, repairs before new data.

use leo_cc::CongestionControl;

use super::{Sender, Tail, Transmit};
use crate::Nanos;
use crate::burst::{Burst, short_burst, unpaced_rate, whole_burst};

/// Linux's sch_fq and internal pacing leave the first packets of a connection unpaced (data_segs_out).
const UNPACED: u64 = 10;

impl Sender {
    /// Return the next packet that may go out at `now`. Call until it returns `None`.
    #[inline(always)]
    pub fn transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.transmit_up_to(1, now)
    }

    /// Return the next packets that may go out at `now`, all that are new and form a burst. Call until it returns `None`.
    #[inline(always)]
    pub fn transmit_burst(&mut self, now: Nanos) -> Option<Transmit> {
        self.transmit_up_to(if self.takes_shortcuts { u32::MAX } else { 1 }, now)
    }

    #[inline(always)]
    fn transmit_up_to(&mut self, most: u32, now: Nanos) -> Option<Transmit> {
        if self.closed {
            return None;
        }
        if self.probe_due {
            return Some(self.send_probe(now));
        }
        let repair = self.board.first_to_retransmit();
        let mut fills_window = false;
        if self.burst_left == 0 {
            (self.burst_left, fills_window) = self.begin_burst(now, repair)?;
            self.burst_is_several = self.burst_left > 1;
        }
        let transmit = match repair {
            Some(seq) if self.may_repair() => {
                self.burst_left -= 1;
                self.retransmit(now, seq)
            }
            _ => {
                let count = self.burst_left.min(most);
                self.burst_left -= count;
                let transmit = self.send_new(now, count);
                // A reduction's window changes with each packet.
                fills_window &= self.burst_left == 0 && self.reduction.is_none();
                if fills_window {
                    self.note_usage(true);
                }
                Transmit { fills_window, ..transmit }
            }
        };
        Some(transmit)
    }

    /// Whether a packet carries PSH. Linux's __tcp_transmit_skb sets it on the last packet of each burst of
    /// several, and tcp_push on the last that the application has written.
    const fn pushes(&self, seq: u64) -> bool {
        (self.burst_is_several && self.burst_left == 0) || seq + 1 == self.supply.written()
    }

    const fn may_repair(&self) -> bool {
        self.asking == 0 || !self.asks_with_new
    }

    /// Return the size of the burst that may go out now, if any, one unit of segmentation offload, and whether it is new data
    /// that fills the window.
    #[inline(always)]
    fn begin_burst(&mut self, now: Nanos, repair: Option<u64>) -> Option<(u32, bool)> {
        let limits = self.scheme.decisions();
        let (window, in_flight) = (self.window_within(limits.window), self.board.in_flight());
        if in_flight >= window {
            self.note_usage(true);
            return None;
        }
        if self.board.next() >= self.supply.sendable() && repair.is_none() {
            self.run_dry(now);
            return None;
        }
        let paced = limits.pacing_rate;
        if let Some(rate) = paced {
            if let Err(at) = self.pacer.may_send(now, rate) {
                self.pacing_deadline = at;
                self.note_usage(false);
                return None;
            }
        }
        let rate = paced.unwrap_or_else(|| {
            let slow_start = window < limits.slow_start_threshold / 2;
            unpaced_rate(window, slow_start, self.rtt.smoothed())
        });
        let single = paced.is_some() && limits.paces_single_packets;
        let whole = if single {
            1
        } else if paced.is_some() && limits.paces_short_bursts {
            short_burst(rate)
        } else {
            whole_burst(rate, self.rtt.min())
        };
        let available = window - in_flight;
        // Linux's tcp_cwnd_test: no burst exceeds half the window.
        let most = whole.min(available).min((window / 2).max(1));
        let burst = match repair {
            Some(seq) if self.may_repair() => self.board.due_from(seq, most),
            _ => {
                let since_sent = now - if paced.is_some() { self.pacer.until() } else { self.last_sent };
                if self.should_wait(now, window, available, whole, since_sent) {
                    let allowed = self.supply.edge() - self.board.next();
                    self.note_usage(u64::from(available) <= allowed);
                    return None;
                }
                let sendable = self.supply.sendable() - self.board.next();
                u64::from(most).min(sendable) as u32
            }
        };
        if paced.is_some() {
            // Linux leaves the first packets unpaced. Schemes that pace single packets do so in user space.
            if !single && self.stats.sent + u64::from(burst) < UNPACED {
                self.pacer.on_sent_freely(now);
            } else {
                self.pacer.on_sent(now, burst, rate);
            }
        }
        Some((burst, burst == available && repair.is_none()))
    }

    /// Return whether the new packet from [`Sender::transmit`] carries CWR (RFC 3168). With ECN, ask for
    /// each. RFC 9768 §3.1.5: a host in AccECN mode "MUST NOT set CWR" for it.
    pub fn take_report(&mut self) -> bool {
        std::mem::take(&mut self.reports_reduction) && self.accurate_ecn.is_none()
    }

    /// Whether to gather a larger burst first. Repairs never wait.
    #[inline]
    fn should_wait(&self, now: Nanos, window: u32, available: u32, whole: u32, since_sent: Nanos) -> bool {
        if !self.state.repairs_nothing() || self.board.packets_out() == 0 {
            return false;
        }
        let mut available = available;
        let sendable = self.supply.sendable() - self.board.next();
        if u64::from(available) >= sendable {
            // Linux: the end of a transfer (TCPHDR_FIN) is not deferred.
            if self.supply.written() <= self.supply.edge() {
                return false;
            }
            available = sendable as u32;
        }
        let burst = Burst {
            available,
            window,
            whole,
            srtt: self.rtt.smoothed(),
            since_sent,
            head_age: now - self.board.sent_at(self.board.una()),
        };
        burst.should_wait()
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Nanos, count: u32) -> Transmit {
        let idle = self.board.packets_out() == 0;
        if idle && self.delivery.is_app_limited() {
            self.restart(now);
        }
        let state = self.delivery.on_sent(now, self.board.in_flight(), self.stats.lost, idle);
        let seq = self.board.push(now, state, count);
        self.note_sent(now, count);
        if self.armed_at != now && (idle || matches!(self.tail, Tail::Unarmed | Tail::Probe(_))) {
            self.arm_tail(now);
        }
        let pushes = self.pushes(seq + u64::from(count) - 1);
        Transmit { seq, count, retransmission: false, pushes, fills_window: false }
    }

    pub(super) fn retransmit(&mut self, now: Nanos, seq: u64) -> Transmit {
        let state = self.delivery.on_sent(now, self.board.in_flight(), self.stats.lost, false);
        self.board.retransmit(seq, now, state);
        self.rack.on_retransmitted(seq, now);
        self.undo.on_retransmitted(now);
        self.stats.retransmitted += 1;
        self.note_sent(now, 1);
        if self.tail == Tail::Unarmed {
            self.arm_tail(now);
        }
        Transmit { seq, count: 1, retransmission: true, pushes: self.pushes(seq), fills_window: false }
    }

    #[inline]
    pub(super) fn note_sent(&mut self, now: Nanos, count: u32) {
        self.last_sent = now;
        self.stats.sent += u64::from(count);
        self.interval.sent_packets += u64::from(count);
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(count);
        }
    }
}
