//! Loss detection and recovery.

use leo_cc::{Congestion, CongestionControl};

use super::{Sender, State, Tail};
use crate::prr::RateReduction;
use crate::{NEVER, Nanos};

impl Sender {
    #[inline]
    pub(super) fn detect_losses(&mut self, now: Nanos) -> u32 {
        self.reordering_deadline = NEVER;
        // Without SACKs and outside recovery, nothing can be missing.
        if self.sacked.is_empty() && self.state.repairs_nothing() {
            return 0;
        }
        let recovering = !self.state.repairs_nothing();
        let Self { scheme, board, rtt, .. } = self;
        let (lost, look_again) = self.rack.detect(now, board, rtt, recovering, |segment| {
            scheme.on_packet_lost(now, &segment.state.at_sending(segment.sent_at));
        });
        self.reordering_deadline = look_again;
        self.note_lost(lost);
        lost
    }

    pub(super) fn note_lost(&mut self, lost: u32) {
        self.stats.lost += u64::from(lost);
        self.interval.lost_packets += u64::from(lost);
    }

    /// Leave recovery when all packets sent before it are acknowledged; enter it on a loss; answer a mark.
    #[inline]
    pub(super) fn advance_state(
        &mut self,
        now: Nanos,
        delivered: u32,
        advanced_without_loss: bool,
        marked: bool,
    ) {
        if self.state != State::Open && self.state_ends() {
            self.state = State::Open;
            self.reduction = None;
            self.scheme.on_recovered(now);
        }
        // A packet lost now was sent after the last reduction began (Linux's tcp_time_to_recover).
        if self.board.lost() > 0 && self.state.repairs_nothing() {
            self.begin_recovery(now);
        } else if marked && self.state == State::Open {
            self.answer_mark(now);
        }
        if let Some(reduction) = &mut self.reduction {
            reduction.on_ack(delivered, self.board.in_flight(), advanced_without_loss);
        }
    }

    fn state_ends(&self) -> bool {
        match self.state {
            State::Open => false,
            State::Recovery { until } | State::Loss { until, .. } => self.board.una() >= until,
            // Linux: the next packet, which reports the reduction, must have arrived.
            State::Cwr { until } => self.board.una() > until,
        }
    }

    /// RFC 3168 §6.1.2: "TCP should not react to congestion indications more than once every window of data".
    /// Linux uses PRR here, too.
    #[cold]
    fn answer_mark(&mut self, now: Nanos) {
        self.state = State::Cwr { until: self.board.next() };
        self.undo.end();
        self.reduce(Congestion::Ecn, now);
    }

    /// Reduce the window over the next round trip.
    fn reduce(&mut self, kind: Congestion, now: Nanos) {
        // One reduction covers all losses of a round trip, even the probe's (tcp_init_cwnd_reduction).
        self.probe = None;
        self.reports_reduction = true;
        let prior_window = self.scheme.window();
        self.scheme.on_congestion(kind, now);
        self.scheme_deadline = self.scheme.next_timer();
        if self.scheme.wants_rate_reduction() {
            self.reduction = Some(RateReduction::new(prior_window, self.scheme.slow_start_threshold()));
        }
    }

    #[cold]
    pub(super) fn begin_recovery(&mut self, now: Nanos) {
        if let State::Cwr { until } = self.state {
            // Linux's tcp_enter_recovery: the mark's reduction goes on and is not undone.
            self.state = State::Recovery { until };
            self.undo.end();
            return;
        }
        self.state = State::Recovery { until: self.board.next() };
        self.undo.begin(self.board.retransmissions_out());
        self.reduce(Congestion::Loss, now);
    }

    #[cold]
    pub(super) fn time_out(&mut self, now: Nanos) {
        if self.board.packets_out() == 0 {
            self.tail = Tail::Unarmed;
            return;
        }
        self.stats.timeouts += 1;
        // RFC 5681 §3.1 (4): the threshold drops unless "the given segment has already been retransmitted by
        // way of the retransmission timer", or, in Linux, a recovery is under way.
        let unanswered = self.backoff > 0;
        let repeated = match self.state {
            State::Open => false,
            State::Cwr { .. } | State::Recovery { .. } => true,
            State::Loss { .. } => unanswered,
        };
        let kind = if repeated { Congestion::RepeatedTimeout } else { Congestion::Timeout };
        self.scheme.on_congestion(kind, now);
        self.scheme_deadline = self.scheme.next_timer();
        self.reduction = None;
        let Self { scheme, board, .. } = self;
        let lost = self.rack.on_timeout(now, board, |segment| {
            scheme.on_packet_lost(now, &segment.state.at_sending(segment.sent_at));
        });
        self.note_lost(lost);
        self.scheme.on_timeout(self.board.in_flight());
        self.state = State::Loss {
            until: self.board.next(),
            may_be_spurious: self.state.repairs_nothing() || unanswered,
        };
        if !repeated {
            self.undo.begin(self.board.retransmissions_out());
        }
        self.probe = None;
        self.reports_reduction = true;
        // RFC 6298 §5.4: "Retransmit the earliest segment", whatever else may be in flight.
        self.asking = self.board.in_flight() + 1;
        self.asks_with_new = false;
        self.backoff = (self.backoff + 1).min(16);
        self.burst_left = 0;
        self.tail = Tail::Timeout(now + self.timeout());
    }
}
