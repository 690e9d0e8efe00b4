//! Congestion control schemes, one file each, behind one trait.
//!
//! A scheme sets a window in packets and, if it paces, a rate. The transport detects and repairs losses and runs the
//! timers. Time is an argument, in nanoseconds.

/// Forward methods of [`CongestionControl`] to the scheme in a field: `forward!(field: on_undo(now: Nanos); window -> u32);`.
macro_rules! forward {
    ($field:ident: $($method:ident($($name:ident: $type:ty),*)),*; $($getter:ident -> $value:ty),*) => {
        $(fn $method(&mut self, $($name: $type),*) {
            self.$field.$method($($name),*);
        })*
        $(fn $getter(&self) -> $value {
            self.$field.$getter()
        })*
    };
}

mod ack;
mod bbr_model;
mod context;
mod parts;
mod scheme;
mod schemes;
mod telemetry;
#[cfg(test)]
mod testing;

pub use ack::{Ack, AtSending, Progress, RateSample, Recovery};
pub use bbr_model::{BbrModel, BbrState};
pub use context::{Context, Handover, Saved};
pub use parts::base_rtt_steps::BaseRttSteps;
pub use scheme::Scheme;
pub use schemes::external::External;
pub use schemes::held::Held;
pub use schemes::{Announcement, NAMES, Row, TABLE, announced_to};
pub use telemetry::{Header, Hop, MAX_HOPS};

/// Time or duration in nanoseconds.
pub type Nanos = u64;

/// A time that never comes.
pub const NEVER: Nanos = u64::MAX;

const MICROSECOND: Nanos = 1_000;
const MILLISECOND: Nanos = 1_000 * MICROSECOND;
const SECOND: Nanos = 1_000 * MILLISECOND;
const NANOS_PER_S: f64 = SECOND as f64;

/// Linux's initial window in packets (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// Payload of a full packet in bytes: 1,500 less 20 (IP), 20 (TCP) and 12 (timestamps).
pub const SEGMENT_BYTES: u32 = 1448;

/// A reason to reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Packets were lost and recovery begins. At most once a round trip.
    Loss,
    /// The path marked packets (RFC 3168). At most once a round trip.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
    /// The timer expired again during a recovery that has already lowered the threshold.
    RepeatedTimeout,
}

impl Congestion {
    /// Whether the retransmission timer expired.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::RepeatedTimeout)
    }
}

/// A connection's use of ECN; as an endpoint's ability, the most that it supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Not at all.
    #[default]
    Off,
    /// ACKs report at most one mark per round trip (RFC 3168).
    Classic,
    /// ACKs report how many packets and bytes were marked (RFC 9768).
    Accurate,
}

/// What a sender reads of a scheme: each field is what [`CongestionControl`]'s method of that name returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods have docs")]
pub struct Decisions {
    pub window: u32,
    pub slow_start_threshold: u32,
    pub pacing_rate: Option<u64>,
    pub next_timer: Nanos,
    pub paces_single_packets: bool,
    pub paces_short_bursts: bool,
    pub holds_back: bool,
    pub needs_only_progress: bool,
}

/// A congestion control scheme.
pub trait CongestionControl {
    /// Whether packets may carry ECT(1), given accurate feedback: the scheme reacts to the extent of marking (RFC 9331 §4.3).
    fn is_scalable(&self) -> bool {
        false
    }
    /// The ends have agreed on `mode`. Called before [`on_start`](Self::on_start), if at all.
    fn on_ecn_mode(&mut self, _mode: EcnMode) {}
    /// The connection is established; its handshake measured `srtt` (0: no handshake).
    fn on_start(&mut self, _now: Nanos, _srtt: Nanos) {}
    /// The sender sends again after `idle` without data.
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {}
    /// An ACK delivered packets or revealed losses.
    fn on_ack(&mut self, ack: &Ack);
    /// Do what [`on_ack`](Self::on_ack) would do with the whole ACK. Called instead while
    /// [`needs_only_progress`](Self::needs_only_progress), for almost every ACK.
    fn on_progress(&mut self, _progress: &Progress) {}
    /// Whether [`on_progress`](Self::on_progress) suffices for ACKs that only deliver packets. The rest of an ACK costs as much as
    /// a loss-based scheme itself.
    fn needs_only_progress(&self) -> bool {
        false
    }
    /// A packet is newly declared lost. Called before the [`on_ack`](Self::on_ack) that counts it.
    fn on_packet_lost(&mut self, _now: Nanos, _packet: &AtSending) {}
    /// The window must come down.
    fn on_congestion(&mut self, kind: Congestion, now: Nanos);
    /// Follows [`on_congestion`](Self::on_congestion) of a timeout once lost packets are marked; `in_flight` are not lost.
    fn on_timeout(&mut self, _in_flight: u32) {}
    /// The flow did not use its window, so the window and threshold come down to these values (RFC 7661; Linux's
    /// tcp_cwnd_restart and tcp_cwnd_application_limited). Schemes that compute the window from a path model at each
    /// ACK (Linux's cong_control) ignore it.
    fn on_unused_window(&mut self, _window: u32, _threshold: u32) {}
    /// The last reduction was spurious (F-RTO, Eifel, DSACK): undo it.
    fn on_undo(&mut self, _now: Nanos) {}
    /// Telemetry of the packet being acknowledged. Called before the [`on_ack`](Self::on_ack).
    fn on_telemetry(&mut self, _now: Nanos, _hops: &[Hop]) {}
    /// The telemetry header of packets; `None` for schemes without telemetry.
    fn header(&self) -> Option<Header> {
        None
    }
    /// Everything sent before the last reduction has been acknowledged.
    fn on_recovered(&mut self, _now: Nanos) {}
    /// The time of [`next_timer`](Self::next_timer) has come.
    fn on_timer(&mut self, _now: Nanos) {}
    /// When to call [`on_timer`](Self::on_timer). Read after every call that changes the scheme.
    fn next_timer(&self) -> Nanos {
        NEVER
    }
    /// Whether the scheme limits sending on purpose, so that rate samples do not show the path's capacity, as for an
    /// application-limited flow (draft-ietf-ccwg-bbr §5.3.4.5: MarkConnectionAppLimited).
    fn holds_back(&self) -> bool {
        false
    }
    /// When the scheme last detected or expected a path change, at most `now`. `None` before the first time, and for schemes
    /// without such detection. For run logs: a scheme computes it only on this call.
    fn path_changed_at(&self, _now: Nanos) -> Option<Nanos> {
        None
    }
    /// The state of a BBR scheme; `None` for other schemes. For run logs: a scheme computes it only on this call.
    fn bbr_model(&self) -> Option<BbrModel> {
        None
    }
    /// All that a sender reads, in one call.
    #[inline(always)]
    fn decisions(&self) -> Decisions {
        Decisions {
            window: self.window(),
            slow_start_threshold: self.slow_start_threshold(),
            pacing_rate: self.pacing_rate(),
            next_timer: self.next_timer(),
            paces_single_packets: self.paces_single_packets(),
            paces_short_bursts: self.paces_short_bursts(),
            holds_back: self.holds_back(),
            needs_only_progress: self.needs_only_progress(),
        }
    }

    /// The window in packets, at least 1.
    fn window(&self) -> u32;
    /// The slow start threshold in packets.
    fn slow_start_threshold(&self) -> u32 {
        u32::MAX
    }
    /// The pacing rate in payload bytes per second; `None` is unpaced.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// Whether packets are paced one by one, as in user space, instead of in Linux's bursts of a millisecond.
    fn paces_single_packets(&self) -> bool {
        false
    }
    /// Whether bursts last at most 250 µs instead of a millisecond
    /// (draft-briscoe-iccrg-prague-congestion-control-04 §2.5.2: MAX_BURST_DELAY).
    fn paces_short_bursts(&self) -> bool {
        false
    }
    /// Whether proportional rate reduction (RFC 6937) lowers the window during recovery.
    fn wants_rate_reduction(&self) -> bool {
        true
    }
}
