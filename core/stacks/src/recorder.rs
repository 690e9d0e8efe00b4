//! A congestion controller that another one decides for, and that records what quinn-proto's statistics lack.

#![expect(clippy::disallowed_types, reason = "quinn-proto's times are instants")]

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

/// What a controller has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// The last RTT sample, until it is taken.
    pub rtt: Option<Duration>,
    /// Bytes in flight.
    pub in_flight: u64,
    /// When the last packet left.
    pub last_sent: Option<Instant>,
    /// When the latest packet that is acknowledged left.
    latest_acked: Option<Instant>,
    /// When the last packet of the acknowledgement that is being processed left.
    acked: Option<Instant>,
}

/// A record that a controller writes and the stack reads.
pub type SharedRecord = Arc<Mutex<Record>>;

/// Makes recording controllers.
pub struct Recording<F> {
    /// Makes the controllers that decide.
    pub inner: Arc<F>,
    /// Where they are recorded.
    pub record: SharedRecord,
}

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for Recording<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        Box::new(Recorder { inner, record: self.record.clone() })
    }
}

struct Recorder {
    inner: Box<dyn Controller>,
    record: SharedRecord,
}

impl Recorder {
    fn note(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Controller for Recorder {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.note(|record| {
            record.in_flight += bytes;
            record.last_sent = Some(now);
        });
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.note(|record| record.acked = Some(sent));
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.note(|record| {
            record.in_flight = in_flight;
            // RFC 9002 §5.1: a sample if the largest acknowledged packet is newly acknowledged.
            let sent =
                record.acked.take().filter(|&sent| record.latest_acked.is_none_or(|last| sent >= last));
            if let Some(sent) = sent {
                record.latest_acked = Some(sent);
                record.rtt = Some(now - sent);
            }
        });
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.note(|record| record.in_flight = record.in_flight.saturating_sub(lost_bytes));
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), record: self.record.clone() })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
