//! Congestion control schemes, one file each, behind one small trait.
//!
//! A scheme decides a window in packets and, if it paces, a rate. Loss detection, recovery and timers belong to the
//! transport. Time is an argument, in nanoseconds.

/// Write methods of [`CongestionControl`] that hand over to the scheme in a field:
/// `forward!(field: on_undo(now: Nanos); window -> u32);`.
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
mod context;
mod parts;
mod scheme;
mod schemes;
mod telemetry;
#[cfg(test)]
mod testing;

pub use ack::{Ack, AtSending, RateSample, Recovery};
pub use context::{Context, Handover};
pub use scheme::Scheme;
pub use schemes::external::External;
pub use schemes::held::Held;
pub use schemes::{Announcement, NAMES, Row, TABLE, announced_to};
pub use telemetry::{Header, Hop, MAX_HOPS};

/// Time or duration in nanoseconds.
pub type Nanos = u64;

/// The time of what never happens.
pub const NEVER: Nanos = u64::MAX;

const MICROSECOND: Nanos = 1_000;
const MILLISECOND: Nanos = 1_000 * MICROSECOND;
const SECOND: Nanos = 1_000 * MILLISECOND;
const NANOS_PER_S: f64 = SECOND as f64;

/// Linux's initial window in packets (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// Payload of a full packet in bytes: 1,500 less 20 (IP), 20 (TCP) and 12 (timestamps).
pub const SEGMENT_BYTES: u32 = 1448;

/// Why the window must come down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Packets were lost; recovery begins. Once a round trip at the most.
    Loss,
    /// The path marked packets (RFC 3168). Once a round trip at the most.
    Ecn,
    /// The retransmission timer ran out.
    Timeout,
    /// It ran out while a loss was being repaired that the threshold has answered already.
    RepeatedTimeout,
}

impl Congestion {
    /// Whether the retransmission timer ran out.
    #[must_use]
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::RepeatedTimeout)
    }
}

/// A congestion control scheme.
pub trait CongestionControl {
    /// The connection is established; its handshake measured `srtt` (0: there was none).
    fn on_start(&mut self, _now: Nanos, _srtt: Nanos) {}
    /// New data left an idle connection after `idle` of silence.
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {}
    /// An acknowledgement delivered something, or said what is lost.
    fn on_ack(&mut self, ack: &Ack);
    /// A packet is newly deemed lost; comes before the [`on_ack`](Self::on_ack) that counts it.
    fn on_packet_lost(&mut self, _now: Nanos, _packet: &AtSending) {}
    /// Loss was detected at `now`.
    fn on_congestion(&mut self, kind: Congestion, now: Nanos);
    /// The retransmission timer ran out, as [`on_congestion`](Self::on_congestion) was told, all that this makes lost is
    /// marked so, and `in_flight` packets are not.
    fn on_timeout(&mut self, _in_flight: u32) {}
    /// The window was not used, and is `window` from now on, with that threshold: it has been validated for no more
    /// (RFC 7661; Linux's tcp_cwnd_restart and tcp_cwnd_application_limited). For schemes that set their window at
    /// each acknowledgement from a model of the path, as Linux's with cong_control do, it means nothing.
    fn on_unused_window(&mut self, _window: u32, _threshold: u32) {}
    /// The last reduction was a mistake: nothing had been lost (F-RTO, Eifel, DSACK). What it took is given back.
    fn on_undo(&mut self, _now: Nanos) {}
    /// What the packet met on its way that is acknowledged now; comes before the [`on_ack`](Self::on_ack).
    fn on_telemetry(&mut self, _now: Nanos, _hops: &[Hop]) {}
    /// What packets carry to switches; `None` asks for no telemetry, from the beginning to the end.
    fn header(&self) -> Option<Header> {
        None
    }
    /// Everything sent before the last reduction is acknowledged.
    fn on_recovered(&mut self, _now: Nanos) {}
    /// The time that [`next_timer`](Self::next_timer) asked for has come.
    fn on_timer(&mut self, _now: Nanos) {}
    /// When [`on_timer`](Self::on_timer) must be called; asked for after every call that changes the scheme.
    fn next_timer(&self) -> Nanos {
        NEVER
    }
    /// The scheme itself holds back: rates of what is in flight say nothing about the path, as of an application that
    /// has nothing to send (draft-ietf-ccwg-bbr §5.3.4.5: MarkConnectionAppLimited).
    fn holds_back(&self) -> bool {
        false
    }
    /// The window in packets; at least 1.
    fn window(&self) -> u32;
    /// The slow start threshold in packets.
    fn slow_start_threshold(&self) -> u32 {
        u32::MAX
    }
    /// The pacing rate in bytes of payload per second; `None` sends when acknowledgements come.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// Whether packets are paced one by one, as senders in user space do, and not in Linux's bursts of a millisecond.
    fn paces_single_packets(&self) -> bool {
        false
    }
    /// Whether proportional rate reduction (RFC 6937) brings the window down during recovery.
    fn wants_rate_reduction(&self) -> bool {
        true
    }
}
