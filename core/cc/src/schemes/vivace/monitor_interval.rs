//! Monitor intervals: the fate of packets sent at one rate.

use std::collections::VecDeque;

use super::line_fit::LineFit;
use crate::{Ack, NANOS_PER_S, NEVER, Nanos, SEGMENT_BYTES};

/// Most intervals in flight. If the RTT grows beyond that, the current interval continues until the oldest is complete.
const MOST_INTERVALS: usize = 32;
/// Packets that PCC-Kernel ignores at both ends of an interval, where adjacent rates interfere.
const EDGE_PACKETS: u64 = 10;

/// The next trial of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plan {
    /// Payload bytes per second.
    pub rate: f64,
    /// Least duration; [`NEVER`] lasts until the controller ends the interval.
    pub duration: Nanos,
    /// Least RTT samples of the interval's packets.
    pub rtt_samples: u32,
}

/// The measurement of a monitor interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Number of the interval, from 0.
    pub id: u64,
    /// Packets delivered or lost.
    pub packets: u64,
    /// Lost packets.
    pub lost: u64,
    /// Planned rate in payload bytes per second.
    pub target_rate: f64,
    /// Actual rate in payload bytes per second.
    pub rate: f64,
    /// Time of sending.
    pub duration: Nanos,
    /// Mean RTT in seconds; 0 without a sample.
    pub mean_rtt: f64,
    /// Slope of the RTT over the time of sending, by linear regression (dimensionless).
    pub rtt_gradient: f64,
    /// Root mean square distance of the RTTs from the regression line, in seconds.
    pub rtt_residual: f64,
    /// Rise of the smoothed RTT between the edges of the interval, in seconds.
    pub smoothed_rtt_rise: f64,
    /// Packets delivered between the edges, and the seconds that this took.
    pub inner_delivered: u64,
    pub inner_seconds: f64,
}

/// The part of an interval between its edges.
#[derive(Clone, Copy, Debug)]
struct Inner {
    begin: Nanos,
    first_srtt: Nanos,
    end: Nanos,
    last_srtt: Nanos,
    delivered: u64,
}

#[derive(Clone, Debug, Default)]
struct Interval {
    id: u64,
    plan: Plan,
    begin: Nanos,
    /// [`NEVER`] while sending.
    end: Nanos,
    /// An ACK has arrived since the interval began.
    heard: bool,
    delivered: u64,
    lost: u64,
    /// When the first and last acknowledged packets were sent.
    first_sent: Option<Nanos>,
    last_sent: Nanos,
    /// Packets delivered or lost after the first.
    after_first: u64,
    first_rtt: Nanos,
    rtts: LineFit,
    inner: Option<Inner>,
}

impl Interval {
    const fn contains(&self, sent_at: Nanos) -> bool {
        self.begin <= sent_at && sent_at < self.end
    }

    fn observe(&mut self, ack: &Ack, sent_at: Nanos) {
        let delivered = u64::from(ack.delivered);
        if self.first_sent.is_none() {
            self.first_sent = Some(sent_at);
            self.after_first = 0;
        } else {
            self.after_first += delivered;
        }
        self.last_sent = self.last_sent.max(sent_at);
        self.delivered += delivered;
        if let Some(rtt) = ack.rtt {
            if self.rtts.points() == 0.0 {
                self.first_rtt = rtt;
            }
            let x = ack.now.saturating_sub(rtt) as f64 - self.begin as f64;
            self.rtts.add(x / NANOS_PER_S, (rtt as f64 - self.first_rtt as f64) / NANOS_PER_S);
        }
        if self.delivered >= EDGE_PACKETS {
            let inner = self.inner.get_or_insert(Inner {
                begin: ack.now,
                first_srtt: ack.srtt,
                end: ack.now,
                last_srtt: ack.srtt,
                delivered: 0,
            });
            if ack.now > inner.begin {
                inner.delivered += delivered;
            }
            inner.end = ack.now;
            inner.last_srtt = ack.srtt;
        }
    }

    fn measurement(&self) -> Measurement {
        let packets = self.delivered + self.lost;
        let span = self.last_sent.saturating_sub(self.first_sent.unwrap_or(NEVER)) as f64 / NANOS_PER_S;
        let rate = if span > 0.0 && self.after_first > 0 {
            // With few deliveries the estimate is unreliable, so it is bounded.
            (self.after_first as f64 * f64::from(SEGMENT_BYTES) / span).min(2.0 * self.plan.rate)
        } else if packets > 0 {
            self.plan.rate
        } else {
            0.0
        };
        let mean_rtt = if self.rtts.points() > 0.0 {
            self.first_rtt as f64 / NANOS_PER_S + self.rtts.mean()
        } else {
            0.0
        };
        let inner = self.inner.as_ref();
        Measurement {
            id: self.id,
            packets,
            lost: self.lost,
            target_rate: self.plan.rate,
            rate,
            duration: self.end.saturating_sub(self.begin),
            mean_rtt,
            rtt_gradient: self.rtts.slope(),
            rtt_residual: self.rtts.residual(),
            smoothed_rtt_rise: inner
                .map_or(0.0, |inner| (inner.last_srtt as f64 - inner.first_srtt as f64) / NANOS_PER_S),
            inner_delivered: inner.map_or(0, |inner| inner.delivered),
            inner_seconds: inner
                .map_or(0.0, |inner| inner.end.saturating_sub(inner.begin) as f64 / NANOS_PER_S),
        }
    }
}

/// When an interval is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// After the delivery of this many later packets, when the transport has found the losses.
    After(u32),
    /// After the delivery of a packet less than [`EDGE_PACKETS`] from the end.
    AtEdge,
}

/// The current interval of a connection, and those that await ACKs.
#[derive(Clone, Debug)]
pub struct MonitorIntervals {
    /// Oldest first. Never exceeds its initial capacity.
    intervals: VecDeque<Interval>,
    completion: Completion,
    next_id: u64,
    /// Delivered packets that were sent after the oldest interval.
    beyond: u32,
}

impl MonitorIntervals {
    pub fn new(completion: Completion) -> Self {
        Self { intervals: VecDeque::with_capacity(MOST_INTERVALS), completion, next_id: 0, beyond: 0 }
    }

    /// The number of the next interval.
    pub const fn next_id(&self) -> u64 {
        self.next_id
    }

    /// End the current interval and begin one with `plan`. Requires [`has_room`](Self::has_room).
    pub fn begin(&mut self, now: Nanos, plan: Plan) {
        if let Some(current) = self.intervals.back_mut() {
            current.end = now;
        }
        self.intervals.push_back(Interval {
            id: self.next_id,
            plan,
            begin: now,
            end: NEVER,
            ..Interval::default()
        });
        self.next_id += 1;
    }

    pub fn has_room(&self) -> bool {
        self.intervals.len() < MOST_INTERVALS
    }

    /// Count an ACK in the interval of its newest packet.
    pub fn on_ack(&mut self, ack: &Ack) {
        if let Some(current) = self.intervals.back_mut() {
            current.heard = true;
        }
        let Some(newest) = ack.newest else { return };
        if let Some(interval) = self.containing(newest.sent_at) {
            interval.observe(ack, newest.sent_at);
        }
        if self.intervals.front().is_some_and(|oldest| oldest.end <= newest.sent_at) {
            self.beyond = self.beyond.saturating_add(ack.delivered);
        }
    }

    /// Count a loss of a packet sent at `sent_at`.
    pub fn on_packet_lost(&mut self, sent_at: Nanos) {
        if let Some(interval) = self.containing(sent_at) {
            interval.lost += 1;
            if interval.first_sent.is_some() {
                interval.after_first += 1;
            }
        }
    }

    /// Take the oldest interval's measurement if it is complete.
    pub fn take_complete(&mut self) -> Option<Measurement> {
        let oldest = self.intervals.front().filter(|oldest| oldest.end < NEVER)?;
        let complete = match self.completion {
            Completion::After(packets) => self.beyond >= packets,
            Completion::AtEdge => {
                let edge = EDGE_PACKETS as f64 * f64::from(SEGMENT_BYTES) / oldest.plan.rate.max(1.0);
                let edge = (edge * NANOS_PER_S) as Nanos;
                self.beyond > 0
                    || (oldest.delivered > 0 && oldest.last_sent.saturating_add(edge) >= oldest.end)
            }
        };
        if !complete {
            return None;
        }
        self.beyond = 0;
        self.intervals.pop_front().map(|oldest| oldest.measurement())
    }

    /// When the current interval may end. Without ACKs it continues, so that one interval spans an outage instead of many
    /// that measure nothing.
    pub fn due(&self) -> Nanos {
        match self.intervals.back() {
            Some(current)
                if current.heard
                    && current.rtts.points() >= f64::from(current.plan.rtt_samples)
                    && self.has_room() =>
            {
                current.begin.saturating_add(current.plan.duration)
            }
            _ => NEVER,
        }
    }

    fn containing(&mut self, sent_at: Nanos) -> Option<&mut Interval> {
        self.intervals.iter_mut().find(|interval| interval.contains(sent_at))
    }
}

#[cfg(test)]
mod tests;
