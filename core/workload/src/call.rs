//! A video call: frames at a constant rate in RTP packets, whose bitrate Google congestion control sets.
//!
//! The struct holds both ends. A lost packet is not sent again, so its frame is never shown.

mod frames;
mod gcc;

use std::collections::VecDeque;

use leo_link::Histogram;
use serde::{Deserialize, Serialize};

pub use gcc::Gcc;

use crate::{NANOS_PER_MS, NEVER, Nanos};
use frames::Frames;

/// Bytes of IP, UDP and RTP before a packet's payload.
const HEADER_BYTES: u32 = 20 + 8 + 12;
/// The most payload in a packet, as in libwebrtc.
const MOST_PAYLOAD_BYTES: u32 = 1_200;
/// The receiver reports arrivals this often, as in libwebrtc by default.
const REPORT_INTERVAL: Nanos = 100_000_000;
/// Bytes of a report (transport-wide feedback over RTCP) on the wire.
const REPORT_BYTES: u32 = 80;
/// Packets whose frames are known: a quarter of a minute of 2.5 Mbit/s.
const MOST_REMEMBERED: usize = 1 << 12;
/// Delays are counted in units of 1.024 µs.
const DELAY_UNIT_LOG2: u32 = 10;
const NANOS_PER_S: u64 = 1_000_000_000;

/// A call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CallSpec {
    /// Frames per second.
    pub frames_per_s: u32,
    /// Bitrate of the media at the start, and its least and most, in bit/s.
    pub start_bps: u64,
    /// See `start_bps`.
    pub min_bps: u64,
    /// See `start_bps`.
    pub max_bps: u64,
    /// Whether Google congestion control sets the bitrate; otherwise it stays at `max_bps`.
    pub adapts: bool,
}

/// What the receiver saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallSummary {
    /// Interruptions of the video.
    pub freezes: u64,
    /// Their total length.
    pub frozen: Nanos,
    /// Percentiles 50, 95 and 99 of the packets' one-way delays, in ns; `None` without packets.
    pub delays: Option<[f64; 3]>,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    seq: u64,
    left: Nanos,
    at: Nanos,
    bytes: u32,
}

/// A report to put on the reverse path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Packets that have arrived so far.
    pub arrivals: u64,
    /// When the latest left its sender, plus the time for which the receiver has held its report.
    pub echo: Nanos,
    /// Size on the wire.
    pub bytes: u32,
}

/// Both ends of a call.
#[derive(Clone, Debug)]
pub struct Call {
    spec: CallSpec,
    gcc: Gcc,
    next_frame: Nanos,
    /// Remainder of the frame interval's division.
    remainder: u64,
    frame: u64,
    /// Packets of the current frame that are not sent, and the size of each.
    frame_packets: u32,
    packet_bytes: u32,
    sent: u64,
    /// The frames of the last packets, and the number of the first of these packets less 1.
    frame_of_packet: VecDeque<u64>,
    forgotten: u64,
    frames: Frames,
    delays: Histogram<8>,
    received: u64,
    received_bytes: u64,
    next_report: Nanos,
    /// Arrivals that no report has brought to the sender.
    unreported: VecDeque<Arrived>,
    reported: u64,
}

impl Call {
    /// Create a call that has sent nothing.
    pub fn new(spec: CallSpec) -> Self {
        Self {
            gcc: Gcc::new(spec.start_bps, spec.min_bps, spec.max_bps),
            spec,
            next_frame: NEVER,
            remainder: 0,
            frame: 0,
            frame_packets: 0,
            packet_bytes: 0,
            sent: 0,
            frame_of_packet: VecDeque::with_capacity(MOST_REMEMBERED + 1),
            forgotten: 0,
            frames: Frames::default(),
            delays: Histogram::default(),
            received: 0,
            received_bytes: 0,
            next_report: NEVER,
            unreported: VecDeque::new(),
            reported: 0,
        }
    }

    /// Begin to send.
    pub const fn start(&mut self, now: Nanos) {
        self.next_frame = now;
    }

    /// When to call [`Call::take`] and [`Call::take_report`] next.
    pub fn next_event(&self) -> Nanos {
        self.next_frame.min(self.next_report)
    }

    /// Return the size on the wire of the next packet to send at `now`; its number is [`Call::sent`] afterwards. Call until
    /// `None`. The packets of a frame leave together.
    pub fn take(&mut self, now: Nanos) -> Option<u32> {
        if self.frame_packets == 0 {
            if now < self.next_frame {
                return None;
            }
            let work = NANOS_PER_S + self.remainder;
            self.next_frame += work / u64::from(self.spec.frames_per_s);
            self.remainder = work % u64::from(self.spec.frames_per_s);
            let bytes = (self.rate_bps() / 8 / u64::from(self.spec.frames_per_s)).max(1) as u32;
            self.frame_packets = bytes.div_ceil(MOST_PAYLOAD_BYTES);
            self.packet_bytes = bytes.div_ceil(self.frame_packets);
            self.frame += 1;
            self.frames.expect(self.frame, self.frame_packets);
        }
        self.frame_packets -= 1;
        self.sent += 1;
        self.frame_of_packet.push_back(self.frame);
        if self.frame_of_packet.len() > MOST_REMEMBERED {
            self.frame_of_packet.pop_front();
            self.forgotten += 1;
        }
        Some(self.packet_bytes + HEADER_BYTES)
    }

    /// Packet `seq` of `bytes` on the wire, which left at `left`, has arrived.
    pub fn on_packet(&mut self, now: Nanos, seq: u64, left: Nanos, bytes: u32) {
        self.received += 1;
        self.received_bytes += u64::from(bytes - HEADER_BYTES);
        self.delays.record((now - left) >> DELAY_UNIT_LOG2);
        // Numbers begin at 1.
        let place = seq.checked_sub(self.forgotten + 1);
        if let Some(&frame) = place.and_then(|place| self.frame_of_packet.get(place as usize)) {
            self.frames.on_packet(now, frame);
        }
        if self.spec.adapts {
            self.unreported.push_back(Arrived { seq, left, at: now, bytes });
            if self.next_report == NEVER {
                self.next_report = now + REPORT_INTERVAL;
            }
        }
    }

    /// Return the report that is due at `now`, if there is one.
    pub fn take_report(&mut self, now: Nanos) -> Option<Report> {
        if now < self.next_report {
            return None;
        }
        self.next_report = NEVER;
        let latest = self.unreported.back()?;
        let echo = latest.left + (now - latest.at);
        Some(Report { arrivals: self.reported + self.unreported.len() as u64, echo, bytes: REPORT_BYTES })
    }

    /// A report has arrived at the sender. What a lost report held comes with the next.
    pub fn on_report(&mut self, now: Nanos, arrivals: u64, echo: Nanos) {
        while self.reported < arrivals {
            let Some(arrived) = self.unreported.pop_front() else { break };
            self.reported += 1;
            self.gcc.on_arrival(arrived.seq, arrived.left, arrived.at, arrived.bytes);
        }
        self.gcc.update(now, now - echo);
    }

    /// Bitrate of the media in bit/s.
    pub fn rate_bps(&self) -> u64 {
        if self.spec.adapts { self.gcc.rate_bps() } else { self.spec.max_bps }
    }

    /// Packets sent.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Packets received.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Payload bytes received.
    pub const fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Return what the receiver has seen until `now`.
    pub fn summary(&self, now: Nanos) -> CallSummary {
        let (freezes, frozen) = self.frames.freezes(now);
        let delay = |share| {
            let bucket = self.delays.bucket_at(share)?;
            Some(((bucket.start() + bucket.end() + 1) << (DELAY_UNIT_LOG2 - 1)) as f64)
        };
        let delays = delay(0.5).zip(delay(0.95)).zip(delay(0.99)).map(|((p50, p95), p99)| [p50, p95, p99]);
        CallSummary { freezes, frozen, delays }
    }
}

fn ms(time: Nanos) -> f64 {
    time as f64 / NANOS_PER_MS
}
