//! The sender: chooses the next packet, detects losses, and times out.

mod acknowledging;
mod marking;
mod reading;
mod recovery;
mod sending;
mod tail;
mod undoing;
mod unused;

use leo_cc::{CongestionControl, Scheme};

use crate::accurate_ecn::Decoder;
use crate::delivery_rate::DeliveryRate;
use crate::idle::Starvation;
use crate::interval::IntervalCounters;
use crate::pacing::Pacer;
use crate::prr::RateReduction;
use crate::rack::Rack;
use crate::ranges::RangeSet;
use crate::rtt::{RTO_MAX, RttEstimator};
use crate::sack::MAX_SACK_BLOCKS;
use crate::scoreboard::Scoreboard;
use crate::supply::Supply;
use crate::undo::Undo;
use crate::window_usage::WindowUsage;
use crate::{NEVER, Nanos};

/// Consecutive packets to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Sequence number of the first, in packets.
    pub seq: u64,
    /// Their number; [`Sender::transmit`] returns one at a time.
    pub count: u32,
    /// Whether they have been sent before.
    pub retransmission: bool,
    /// Whether the last one carries PSH: the receiver acknowledges it at once.
    pub pushes: bool,
    /// Whether they fill the window, so that nothing follows; only a burst says so.
    pub fills_window: bool,
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
///
/// In the order of use, what only losses, probes and applications need last: with many flows, the cache lines that an ACK touches
/// dominate its cost.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    board: Scoreboard,
    state: State,
    closed: bool,
    probe_due: bool,
    counts_intervals: bool,
    takes_shortcuts: bool,
    /// The test sends new packets before repairs, to detect a spurious timeout (F-RTO).
    asks_with_new: bool,
    /// The next new packet reports a reduction (CWR).
    reports_reduction: bool,
    fills_buffer: bool,
    /// Packets left in the current burst, and whether it has several.
    burst_is_several: bool,
    burst_left: u32,
    backoff: u32,
    /// The window from a timeout to the next delivery: a single packet tests the path. 0 otherwise.
    asking: u32,
    probe: Option<Probe>,
    undo: Undo,
    /// Accurate ECN, if negotiated.
    accurate_ecn: Option<Box<Decoder>>,
    usage: WindowUsage,
    rtt: RttEstimator,
    reordering_deadline: Nanos,
    pacing_deadline: Nanos,
    scheme_deadline: Nanos,
    tail: Tail,
    /// When a regular ACK armed it: new packets that leave at once would set the same time. `NEVER` after any other ACK.
    armed_at: Nanos,
    starvation: Starvation,
    last_sent: Nanos,
    supply: Supply,
    stats: SenderStats,
    pacer: Pacer,
    delivery: DeliveryRate,
    scheme: Scheme,
    rack: Rack,
    reduction: Option<RateReduction>,
    sacked: RangeSet,
    /// The SACK blocks of the last ACK that had any: all in `sacked`.
    last_blocks: [(u64, u64); MAX_SACK_BLOCKS],
    interval: IntervalCounters,
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
            last_blocks: [(0, 0); MAX_SACK_BLOCKS],
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
            armed_at: NEVER,
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
            takes_shortcuts: true,
        }
    }

    /// Handle every ACK and every packet the general way, for tests of equality: results are the same.
    pub const fn avoid_shortcuts(&mut self) {
        self.takes_shortcuts = false;
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
        self.window_within(self.scheme.window())
    }

    /// The window in effect, given the scheme's.
    #[inline]
    fn window_within(&self, scheme: u32) -> u32 {
        if self.asking > 0 {
            return self.asking;
        }
        self.reduction.as_ref().map_or(scheme, RateReduction::window)
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
}

#[cfg(test)]
mod tests;
