//! ACKs: what they deliver, what is lost, and what the scheme learns.

use leo_cc::{Ack, AtSending, CongestionControl, Progress, Recovery};

use super::{Sender, State};
use crate::receiver::AckToSend;
use crate::sack::MAX_SACK_BLOCKS;
use crate::{NEVER, Nanos, RateSample};

const MILLISECOND: Nanos = 1_000_000;

/// The part of an [`Ack`] that the sender does not store.
struct Facts {
    prior_una: u64,
    prior_in_flight: u32,
    delivered: u32,
    newly_marked: u32,
    newly_lost: u32,
    rtt: Option<Nanos>,
    /// The RTT of the last packet delivered, without an echo.
    last_rtt: Option<Nanos>,
    rate: Option<RateSample>,
    newest: Option<AtSending>,
    window_limited: bool,
    may_grow: bool,
    in_flight: u32,
    sacked: u32,
    recovery: Recovery,
    was_repairing: bool,
    was_disordered: bool,
}

impl Sender {
    /// Handle an ACK. Returns the RTT of the first packet newly delivered, or of the echo (seq_rtt_us).
    #[inline]
    pub fn on_ack(&mut self, now: Nanos, ack: &AckToSend) -> Option<Nanos> {
        if self.is_regular(ack) {
            Some(self.on_regular_ack(now, ack))
        } else {
            self.on_irregular_ack(now, ack)
        }
    }

    /// Whether `ack` does nothing but deliver packets in order, each sent once, while nothing is repaired, probed or undone.
    /// Almost every ACK is so, as in Linux's header prediction.
    #[inline]
    fn is_regular(&self, ack: &AckToSend) -> bool {
        ack.cumulative > self.board.una()
            && matches!(self.state, State::Open)
            && ack.sacks.says_nothing()
            && self.board.is_regular()
            && self.probe.is_none()
            && !self.undo.all_were_duplicates()
            && !ack.marked
            && self.accurate_ecn.is_none()
            && self.takes_shortcuts
    }

    /// Do what [`on_irregular_ack`](Self::on_irregular_ack) does for a [regular](Self::is_regular) ACK, at a cost that does
    /// not depend on the number of packets: they were sent in order, so only the first and the last matter.
    #[inline]
    fn on_regular_ack(&mut self, now: Nanos, ack: &AckToSend) -> Nanos {
        debug_assert!(self.sacked.is_empty() && self.reduction.is_none());
        let prior_in_flight = self.board.packets_out();
        let prior_una = self.board.una();
        let window_limited = self.is_window_limited();
        let (first_sent_at, last_sent_at) = self.board.pop_below(ack.cumulative);
        let delivered = (ack.cumulative - prior_una) as u32;
        self.delivery.on_delivered_together(now, delivered, last_sent_at);
        self.rack.on_delivered_in_order(now, ack.cumulative - 1, last_sent_at);
        let (first_rtt, last_rtt) = (now - first_sent_at, now - last_sent_at);
        self.rtt.sample(now, first_rtt, last_rtt, ack.cumulative, self.board.next());
        self.backoff = 0;
        self.asking = 0;
        self.reordering_deadline = NEVER;
        self.starvation.renew(now);
        let min_rtt = self.rtt.min();
        let sample = |sender: &Self| {
            let state = sender.board.state_of_popped(ack.cumulative - 1);
            sender.delivery.sample(now, last_sent_at, state, min_rtt)
        };
        if self.scheme.needs_only_progress() {
            self.scheme.on_progress(&Progress { now, delivered, min_rtt, window_limited });
            self.after_scheme(self.board.packets_out());
            if self.counts_intervals {
                let (_, rate) = sample(self);
                self.count(now, delivered, Some(last_rtt), rate);
            }
        } else {
            let (newest, rate) = sample(self);
            self.tell_scheme(
                now,
                ack,
                Facts {
                    prior_una,
                    prior_in_flight,
                    delivered,
                    newly_marked: 0,
                    newly_lost: 0,
                    rtt: Some(last_rtt),
                    last_rtt: Some(last_rtt),
                    rate,
                    newest: Some(newest),
                    window_limited,
                    may_grow: true,
                    in_flight: self.board.packets_out(),
                    sacked: 0,
                    recovery: Recovery::Open,
                    was_repairing: false,
                    was_disordered: false,
                },
            );
        }
        self.arm(now, true);
        // With a single packet out, one that follows now changes the time.
        self.armed_at = if self.board.packets_out() > 1 { now } else { NEVER };
        first_rtt
    }

    /// Handle any ACK.
    #[inline(never)]
    fn on_irregular_ack(&mut self, now: Nanos, ack: &AckToSend) -> Option<Nanos> {
        self.armed_at = NEVER;
        let prior_in_flight = self.board.in_flight();
        let prior_una = self.board.una();
        let prior_delivered = self.delivery.delivered();
        let window_limited = self.is_window_limited();
        let was_repairing = !matches!(self.state, State::Open);
        let was_disordered = was_repairing || self.board.sacked() > 0;

        let mut first_rtt = None;
        let mut last_rtt = None;
        let mut repaired = false;
        let mut original = false;
        let highest = self.sacked.end();
        let originals_end = self.originals_end();
        while self.board.una() < ack.cumulative {
            let seq = self.board.una();
            let segment = self.board.pop();
            if segment.sacked {
                continue;
            }
            self.delivery.on_delivered(now, segment.sent_at, segment.state);
            // RFC 8985 §6.2 step 2: an echo from before the retransmission belongs to the original.
            if !segment.retransmitted || ack.echo >= segment.sent_at {
                self.rack.on_delivered(now, seq, &segment, highest, self.rtt.min());
            }
            if segment.retransmitted {
                repaired = true;
                // RFC 3522 §3.2: an echo from before the retransmission means that the original was late.
                if ack.echo < segment.sent_at && seq < highest {
                    self.rack.on_reordering();
                }
            } else {
                original |= seq < originals_end;
                last_rtt = Some(now - segment.sent_at);
                first_rtt = first_rtt.or(last_rtt);
            }
        }
        if repaired {
            // The ACK of a repair may cover packets that arrived long ago (Linux: FLAG_RETRANS_DATA_ACKED).
            (first_rtt, last_rtt) = (None, None);
        }
        let mut selectively = false;
        let mut sacked_rtt = None;
        if !ack.sacks.is_empty() {
            let before = self.delivery.delivered();
            original |= self.take_sacks(now, ack, highest, (&mut sacked_rtt, &mut last_rtt));
            selectively = self.delivery.delivered() > before;
        }
        if highest > 0 {
            self.sacked.remove_below(self.board.una());
        }
        let advanced = self.board.una() > prior_una;
        let delivered = (self.delivery.delivered() - prior_delivered) as u32;

        // Karn's rule with timestamps (RFC 7323 §4.1): the echo identifies the acknowledged transmission.
        let first_rtt = first_rtt.or(sacked_rtt);
        let echoed_rtt = (advanced && first_rtt.is_none()).then(|| echoed_rtt(now, ack.echo));
        // Linux's ca_rtt_us: the RTT of the last packet delivered, if it was sent only once.
        let rtt = last_rtt.or(echoed_rtt);
        if let (Some(first), Some(last)) = (first_rtt.or(echoed_rtt), rtt) {
            self.rtt.sample(now, first, last, self.board.una(), self.board.next());
            if advanced {
                self.backoff = 0;
            }
        }
        if delivered > 0 {
            self.asking = 0;
        }
        self.end_probe(now, ack);
        let newly_marked = self.newly_marked(ack, prior_una, delivered);
        let marked = ack.marked || newly_marked > 0;
        if marked {
            // Linux: a mark proves congestion, so the reduction stands.
            self.undo.end();
        }
        self.take_back_mistakes(now, ack, advanced, original);
        if originals_end > 0 {
            self.look_for_originals(advanced, selectively);
        }

        let newly_lost = self.detect_losses(now);
        self.advance_state(now, delivered, advanced && newly_lost == 0, marked);

        let may_grow = advanced && !matches!(self.state, State::Recovery { .. } | State::Cwr { .. });
        if may_grow {
            self.starvation.renew(now);
        }
        let (newest, rate) = self.delivery.take_sample(now, self.rtt.min());
        self.tell_scheme(
            now,
            ack,
            Facts {
                prior_una,
                prior_in_flight,
                delivered,
                newly_marked,
                newly_lost,
                rtt,
                last_rtt,
                rate,
                newest,
                window_limited,
                may_grow,
                in_flight: self.board.in_flight(),
                sacked: self.board.sacked(),
                recovery: match self.state {
                    State::Open => Recovery::Open,
                    State::Cwr { .. } => Recovery::Cwr,
                    State::Recovery { .. } => Recovery::Recovery,
                    State::Loss { .. } => Recovery::Loss,
                },
                was_repairing,
                was_disordered,
            },
        );
        if delivered > 0 {
            self.arm_tail(now);
        }
        // Not rounded to ticks like the estimator's sample, so no RTT is below the path's.
        first_rtt.or(echoed_rtt.map(|_| now - ack.echo))
    }

    /// Pass an ACK to the scheme.
    #[inline(always)]
    fn tell_scheme(&mut self, now: Nanos, ack: &AckToSend, facts: Facts) {
        self.scheme.on_ack(&Ack {
            now,
            acked: (self.board.una() - facts.prior_una) as u32,
            delivered: facts.delivered,
            sacked: facts.sacked,
            marked: facts.newly_marked,
            lost: facts.newly_lost,
            una: self.board.una(),
            next: self.board.next(),
            rtt: facts.rtt,
            echo: ack.echo,
            left_ms: ack.left_ms,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.smoothed(),
            prior_in_flight: facts.prior_in_flight,
            in_flight: facts.in_flight,
            total_delivered: self.delivery.delivered(),
            total_lost: self.stats.lost,
            total_sent: self.stats.sent,
            rate: facts.rate,
            newest: facts.newest,
            paced_until: self.pacer.until(),
            window_limited: facts.window_limited,
            may_grow: facts.may_grow,
            recovery: facts.recovery,
            was_repairing: facts.was_repairing,
            was_disordered: facts.was_disordered,
        });
        self.after_scheme(facts.in_flight);
        if self.counts_intervals {
            self.count(now, facts.delivered, facts.last_rtt, facts.rate);
        }
    }

    /// Follow what the scheme has decided on an ACK after which `in_flight` packets are in flight.
    #[inline(always)]
    fn after_scheme(&mut self, in_flight: u32) {
        self.scheme_deadline = self.scheme.next_timer();
        if self.scheme.holds_back() {
            self.delivery.on_run_dry(in_flight);
        }
    }

    /// Apply SACK blocks. Returns whether they cover a packet sent before a timeout and never again.
    #[cold]
    fn take_sacks(
        &mut self,
        now: Nanos,
        ack: &AckToSend,
        highest: u64,
        (first_rtt, last_rtt): (&mut Option<Nanos>, &mut Option<Nanos>),
    ) -> bool {
        let mut original = false;
        let originals_end = self.originals_end();
        let Self { board, sacked, delivery, rack, rtt, last_blocks, .. } = self;
        let before = std::mem::replace(last_blocks, [(0, 0); MAX_SACK_BLOCKS]);
        for (block, last) in ack.sacks.ranges(ack.cumulative).zip(last_blocks) {
            *last = block;
            // Each block comes three times or more (RFC 2018 §4).
            if before.contains(&block) {
                continue;
            }
            let (start, end) = block;
            sacked.insert(start.max(board.una()), end.min(board.next()), |low, high| {
                for seq in low..high {
                    let segment = board.sack(seq);
                    delivery.on_delivered(now, segment.sent_at, segment.state);
                    rack.on_delivered(now, seq, &segment, highest, rtt.min());
                    if !segment.retransmitted {
                        original |= seq < originals_end;
                        // After lost ACKs, older blocks hold packets that arrived long ago.
                        let rtt = now - segment.sent_at;
                        *first_rtt = (*first_rtt).max(Some(rtt));
                        *last_rtt = Some(last_rtt.map_or(rtt, |latest| latest.min(rtt)));
                    }
                }
            });
        }
        original
    }

    fn count(&mut self, now: Nanos, delivered: u32, rtt: Option<Nanos>, rate: Option<RateSample>) {
        self.interval.delivered_packets += u64::from(delivered);
        if let Some(rtt) = rtt {
            self.interval.on_rtt(now, rtt);
        }
        if let Some(sample) = rate {
            self.interval.on_rate(sample);
        }
    }
}

/// RFC 7323 §4.1: the RTT from the echoed timestamp, in ticks of milliseconds.
fn echoed_rtt(now: Nanos, echo: Nanos) -> Nanos {
    (now / MILLISECOND - echo / MILLISECOND).max(1) * MILLISECOND
}
