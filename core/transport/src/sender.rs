//! The sender: chooses the next packet, detects losses, and times out.

mod marking;
mod reading;
mod recovery;
mod sending;
mod tail;
mod undoing;
mod unused;

use leo_cc::{Ack, CongestionControl, Recovery, Scheme};

use crate::accurate_ecn::Decoder;
use crate::delivery_rate::DeliveryRate;
use crate::idle::Starvation;
use crate::interval::IntervalCounters;
use crate::pacing::Pacer;
use crate::prr::RateReduction;
use crate::rack::Rack;
use crate::ranges::RangeSet;
use crate::receiver::AckToSend;
use crate::rtt::{RTO_MAX, RttEstimator};
use crate::scoreboard::Scoreboard;
use crate::supply::Supply;
use crate::undo::Undo;
use crate::window_usage::WindowUsage;
use crate::{NEVER, Nanos, RateSample};

const MILLISECOND: Nanos = 1_000_000;

/// A packet to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Sequence number in packets.
    pub seq: u64,
    /// Whether it has been sent before.
    pub retransmission: bool,
    /// Whether it carries PSH: the receiver acknowledges it at once.
    pub pushes: bool,
}

/// Totals since the connection began, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Packets sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Packets marked lost.
    pub lost: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions that were undone.
    pub undone: u64,
}

/// Linux's tcp_ca_state; Disorder counts as Open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The window shrinks after an ECN mark, until more than `until` is acknowledged.
    Cwr {
        until: u64,
    },
    /// Losses are repaired until `until` is acknowledged.
    Recovery {
        until: u64,
    },
    /// The retransmission timer expired, perhaps spuriously.
    Loss {
        until: u64,
        may_be_spurious: bool,
    },
}

impl State {
    /// Whether no packet is marked lost.
    const fn repairs_nothing(self) -> bool {
        matches!(self, Self::Open | Self::Cwr { .. })
    }
}

/// The armed timer against lost tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    Unarmed,
    /// Tail loss probe (RFC 8985 §7).
    Probe(Nanos),
    /// Retransmission timeout (RFC 6298).
    Timeout(Nanos),
}

/// A tail loss probe in flight (RFC 8985 §7.4: TLP.end_seq and TLP.is_retrans).
#[derive(Clone, Copy, Debug)]
struct Probe {
    until: u64,
    retransmission: bool,
}

/// A sender. Call it with ACKs and timers, then take packets until `None`.
#[derive(Clone, Debug)]
pub struct Sender {
    scheme: Scheme,
    supply: Supply,
    board: Scoreboard,
    sacked: RangeSet,
    rtt: RttEstimator,
    delivery: DeliveryRate,
    rack: Rack,
    pacer: Pacer,
    /// Packets left in the current burst, and whether it has several.
    burst_left: u32,
    burst_is_several: bool,
    last_sent: Nanos,
    state: State,
    undo: Undo,
    reduction: Option<RateReduction>,
    tail: Tail,
    probe_due: bool,
    probe: Option<Probe>,
    reordering_deadline: Nanos,
    pacing_deadline: Nanos,
    scheme_deadline: Nanos,
    backoff: u32,
    /// The window from a timeout to the next delivery: a single packet tests the path. 0 otherwise.
    asking: u32,
    /// The test sends new packets before repairs, to detect a spurious timeout (F-RTO).
    asks_with_new: bool,
    /// The next new packet reports a reduction (CWR).
    reports_reduction: bool,
    /// Accurate ECN, if negotiated.
    accurate_ecn: Option<Box<Decoder>>,
    usage: WindowUsage,
    starvation: Starvation,
    fills_buffer: bool,
    closed: bool,
    stats: SenderStats,
    interval: IntervalCounters,
    counts_intervals: bool,
}

impl Sender {
    /// Create an established connection that has sent nothing and has unlimited data. `counts_intervals`:
    /// keep [`IntervalCounters`], at the cost of a division per ACK.
    pub fn new(scheme: Scheme, counts_intervals: bool) -> Self {
        Self {
            scheme,
            supply: Supply::endless(),
            board: Scoreboard::new(),
            sacked: RangeSet::default(),
            rtt: RttEstimator::new(),
            delivery: DeliveryRate::default(),
            rack: Rack::default(),
            pacer: Pacer::default(),
            burst_left: 0,
            burst_is_several: false,
            last_sent: 0,
            state: State::Open,
            undo: Undo::default(),
            reduction: None,
            tail: Tail::Unarmed,
            probe_due: false,
            probe: None,
            reordering_deadline: NEVER,
            pacing_deadline: NEVER,
            scheme_deadline: NEVER,
            backoff: 0,
            asking: 0,
            asks_with_new: false,
            reports_reduction: false,
            accurate_ecn: None,
            usage: WindowUsage::default(),
            starvation: Starvation::default(),
            fills_buffer: false,
            closed: false,
            stats: SenderStats::default(),
            interval: IntervalCounters::default(),
            counts_intervals,
        }
    }

    /// Send only `bytes`, at least one.
    #[must_use]
    pub fn with_transfer(mut self, bytes: u64) -> Self {
        self.supply = Supply::of_bytes(bytes);
        self
    }

    /// Wait for the first ACK as a connection does that has measured `rtt`.
    pub fn expect_rtt(&mut self, rtt: Nanos) {
        self.rtt.expect(rtt);
    }

    /// Start: the connection is established and packets may go out.
    pub fn start(&mut self, now: Nanos) {
        self.scheme.on_start(now, self.rtt.smoothed());
        self.scheme_deadline = self.scheme.next_timer();
    }

    /// Start after a handshake that measured `rtt`.
    pub fn start_after_handshake(&mut self, now: Nanos, rtt: Nanos) {
        self.rtt.sample(now, rtt, rtt, 0, 0);
        self.start(now);
    }

    /// Handle an ACK. Returns the RTT of the first packet newly delivered, or of the echo (seq_rtt_us).
    #[inline]
    pub fn on_ack(&mut self, now: Nanos, ack: &AckToSend) -> Option<Nanos> {
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
        self.scheme.on_ack(&Ack {
            now,
            acked: (self.board.una() - prior_una) as u32,
            delivered,
            sacked: self.board.sacked(),
            marked: newly_marked,
            lost: newly_lost,
            una: self.board.una(),
            next: self.board.next(),
            rtt,
            echo: ack.echo,
            left_ms: ack.left_ms,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.smoothed(),
            prior_in_flight,
            in_flight: self.board.in_flight(),
            total_delivered: self.delivery.delivered(),
            total_lost: self.stats.lost,
            total_sent: self.stats.sent,
            rate,
            newest,
            paced_until: self.pacer.until(),
            window_limited,
            may_grow,
            recovery: match self.state {
                State::Open => Recovery::Open,
                State::Cwr { .. } => Recovery::Cwr,
                State::Recovery { .. } => Recovery::Recovery,
                State::Loss { .. } => Recovery::Loss,
            },
            was_repairing,
            was_disordered,
        });
        self.scheme_deadline = self.scheme.next_timer();
        if self.scheme.holds_back() {
            self.delivery.on_run_dry(self.board.in_flight());
        }
        if self.counts_intervals {
            self.count(now, delivered, last_rtt, rate);
        }
        if delivered > 0 {
            self.arm_tail(now);
        }
        // Not rounded to ticks like the estimator's sample, so no RTT is below the path's.
        first_rtt.or(echoed_rtt.map(|_| now - ack.echo))
    }

    /// Handle the timers that have expired.
    pub fn on_timer(&mut self, now: Nanos) {
        if now >= self.reordering_deadline {
            // Linux's tcp_rack_reo_timeout: a timer that starts a recovery counts as one delivery.
            let delivered = u32::from(self.state.repairs_nothing());
            self.detect_losses(now);
            self.advance_state(now, delivered, false, false);
        }
        if now >= self.pacing_deadline {
            self.pacing_deadline = NEVER;
        }
        if now >= self.scheme_deadline {
            self.scheme.on_timer(now);
            self.scheme_deadline = self.scheme.next_timer();
        }
        match self.tail {
            Tail::Probe(at) if now >= at => self.begin_probe(now),
            Tail::Timeout(at) if now >= at => self.time_out(now),
            _ => {}
        }
    }

    /// When [`Sender::on_timer`] and then [`Sender::transmit`] must be called next.
    #[inline]
    pub fn next_timer(&self) -> Nanos {
        let tail = match self.tail {
            Tail::Unarmed => NEVER,
            Tail::Probe(at) | Tail::Timeout(at) => at,
        };
        tail.min(self.reordering_deadline).min(self.pacing_deadline).min(self.scheme_deadline)
    }

    /// Whether a timer covers the packets in flight. RFC 6298 §5.1: "Every time a packet containing data is
    /// sent (including a retransmission), if the timer is not running, start it running"; §2.5: "A maximum
    /// value MAY be placed on RTO provided it is at least 60 seconds". Linux has 120.
    pub fn is_watched(&self, now: Nanos) -> bool {
        match self.tail {
            Tail::Unarmed => self.closed || self.board.packets_out() == 0,
            Tail::Probe(at) | Tail::Timeout(at) => at <= now + RTO_MAX,
        }
    }

    /// Stop sending, free memory and cancel all timers. No ACK may follow.
    pub fn close(&mut self) {
        self.closed = true;
        self.board.release();
        self.sacked = RangeSet::default();
        self.probe_due = false;
        self.tail = Tail::Unarmed;
        self.reordering_deadline = NEVER;
        self.pacing_deadline = NEVER;
        self.scheme_deadline = NEVER;
    }

    /// The window in effect, in packets: the scheme's unless recovery or a timeout reduces it.
    #[inline]
    pub fn window(&self) -> u32 {
        if self.asking > 0 {
            return self.asking;
        }
        match &self.reduction {
            Some(reduction) => reduction.window(),
            None => self.scheme.window(),
        }
    }

    /// The congestion control scheme, to command an external one.
    pub const fn scheme_mut(&mut self) -> &mut Scheme {
        &mut self.scheme
    }

    /// Allow packets below `edge`; the limit never shrinks. Without a call there is no limit.
    pub fn allow(&mut self, edge: u64) {
        self.supply.allow(edge);
    }

    /// Start to keep [`IntervalCounters`].
    pub const fn count_intervals(&mut self) {
        self.counts_intervals = true;
    }

    /// Return the counters of the interval that ends now, and start the next.
    pub fn take_interval(&mut self) -> IntervalCounters {
        std::mem::take(&mut self.interval)
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
        let Self { board, sacked, delivery, rack, rtt, .. } = self;
        for (start, end) in ack.sacks.ranges(ack.cumulative) {
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

#[cfg(test)]
mod tests;
