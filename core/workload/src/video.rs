//! A client of adaptive video (DASH): it requests chunk after chunk, and plays them from a buffer.

mod adaptation;

pub use adaptation::Adaptation;

use adaptation::{Throughput, choose};
use serde::{Deserialize, Serialize};

use crate::{NANOS_PER_S, NEVER, Nanos};

/// A video and its client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VideoSpec {
    /// The rule that chooses bitrates.
    pub adaptation: Adaptation,
    /// Bitrates in Mbit/s, rising.
    pub bitrates_mbps: Box<[f64]>,
    /// Length of a chunk.
    pub chunk: Nanos,
    /// Size of the buffer, at least a chunk.
    pub buffer: Nanos,
    /// BBA-0's reservoir: up to this buffer it takes the lowest bitrate.
    pub reservoir: Nanos,
    /// BBA-0's cushion: this much above the reservoir it takes the highest bitrate.
    pub cushion: Nanos,
}

impl VideoSpec {
    /// QoE lost per second of rebuffering or startup. Yin et al. use 3,000 with bitrates in kbit/s up to 3,000: a
    /// second costs as much as a chunk of the highest bitrate gains.
    fn stall_penalty_mbps(&self) -> f64 {
        self.bitrates_mbps[self.bitrates_mbps.len() - 1]
    }

    fn chunk_bits(&self, level: usize) -> f64 {
        self.bitrates_mbps[level] * 1e6 * self.chunk as f64 / NANOS_PER_S
    }
}

/// What the viewer saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoSummary {
    /// Time from the start to the first frame; `None` if no chunk arrived.
    pub startup: Option<Nanos>,
    /// Total time for which playback stood still after it had begun.
    pub rebuffering: Nanos,
    /// Number of these interruptions.
    pub rebuffers: u64,
    /// Mean bitrate of the chunks that arrived; `None` without any.
    pub bitrate_mbps: Option<f64>,
    /// Changes of the bitrate between chunks.
    pub switches: u64,
    /// QoE_lin per chunk (Yin et al. eq. 5): Σ R − Σ |ΔR| − μ · rebuffering − μ · startup over the number of chunks, with R
    /// in Mbit/s and μ of the highest bitrate.
    pub qoe: f64,
}

/// The client.
#[derive(Clone, Debug)]
pub struct Player {
    spec: VideoSpec,
    started: Nanos,
    /// The time of the next request; `NEVER` while a chunk is on its way.
    next_request: Nanos,
    /// Bitrates of the last chunk that arrived and of the requested one, and when that was requested.
    last: Option<usize>,
    level: usize,
    requested: Nanos,
    throughput: Throughput,
    /// Content in the buffer at `updated`.
    buffer: Nanos,
    updated: Nanos,
    startup: Option<Nanos>,
    rebuffering: Nanos,
    rebuffers: u64,
    chunks: u64,
    switches: u64,
    bitrate_sum_mbps: f64,
    change_sum_mbps: f64,
}

impl Player {
    /// Create a client that has requested nothing.
    pub fn new(spec: VideoSpec) -> Self {
        Self {
            spec,
            started: 0,
            next_request: NEVER,
            last: None,
            level: 0,
            requested: 0,
            throughput: Throughput::default(),
            buffer: 0,
            updated: 0,
            startup: None,
            rebuffering: 0,
            rebuffers: 0,
            chunks: 0,
            switches: 0,
            bitrate_sum_mbps: 0.0,
            change_sum_mbps: 0.0,
        }
    }

    /// Begin: the connection is open, and the user waits since `since`.
    pub fn start(&mut self, since: Nanos, now: Nanos) {
        (self.started, self.updated, self.next_request) = (since, now, now);
    }

    /// When to call [`Player::poll`] next.
    pub const fn next_event(&self) -> Nanos {
        self.next_request
    }

    /// Return the size in bytes of the chunk to request now, if one is due.
    pub fn poll(&mut self, now: Nanos) -> Option<u64> {
        if now < self.next_request {
            return None;
        }
        self.play(now);
        self.level = choose(&self.spec, self.buffer, self.last, &self.throughput);
        (self.requested, self.next_request) = (now, NEVER);
        Some((self.spec.chunk_bits(self.level) / 8.0).round() as u64)
    }

    /// The requested chunk has arrived.
    pub fn on_chunk(&mut self, now: Nanos) {
        let level = self.level;
        self.play(now);
        let seconds = (now - self.requested).max(1) as f64 / NANOS_PER_S;
        self.throughput.record(self.spec.chunk_bits(level) / seconds / 1e6);
        self.startup.get_or_insert(now - self.started);
        self.buffer += self.spec.chunk;
        self.chunks += 1;
        self.bitrate_sum_mbps += self.spec.bitrates_mbps[level];
        if let Some(last) = self.last.filter(|last| *last != level) {
            self.switches += 1;
            self.change_sum_mbps += (self.spec.bitrates_mbps[level] - self.spec.bitrates_mbps[last]).abs();
        }
        self.last = Some(level);
        // Yin et al. eq. 4: wait until the buffer has room for another chunk.
        self.next_request = now + (self.buffer + self.spec.chunk).saturating_sub(self.spec.buffer);
    }

    /// Content in the buffer when [`Player::poll`] or [`Player::on_chunk`] was last called.
    pub const fn buffer(&self) -> Nanos {
        self.buffer
    }

    /// Return what the viewer has seen until `now`.
    pub fn summary(&self, now: Nanos) -> VideoSummary {
        let stall = self.stall(now);
        let (rebuffering, rebuffers) = (self.rebuffering + stall, self.rebuffers + u64::from(stall > 0));
        let startup = self.startup.unwrap_or(now.saturating_sub(self.started));
        let waiting_s = (rebuffering + startup) as f64 / NANOS_PER_S;
        let chunks = self.chunks.max(1) as f64;
        let gain = self.bitrate_sum_mbps - self.change_sum_mbps;
        VideoSummary {
            startup: self.startup,
            rebuffering,
            rebuffers,
            bitrate_mbps: (self.chunks > 0).then(|| self.bitrate_sum_mbps / chunks),
            switches: self.switches,
            qoe: (gain - self.spec.stall_penalty_mbps() * waiting_s) / chunks,
        }
    }

    /// Bitrate of the last requested chunk in Mbit/s.
    pub fn bitrate_mbps(&self) -> f64 {
        self.spec.bitrates_mbps[self.level]
    }

    /// Play until `now`.
    fn play(&mut self, now: Nanos) {
        let stall = self.stall(now);
        self.rebuffering += stall;
        self.rebuffers += u64::from(stall > 0);
        if self.startup.is_some() {
            self.buffer = self.buffer.saturating_sub(now.saturating_sub(self.updated));
        }
        self.updated = now;
    }

    /// Return for how long playback has stood still at `now`, since the last update.
    fn stall(&self, now: Nanos) -> Nanos {
        let playing = self.startup.is_some();
        if playing { now.saturating_sub(self.updated).saturating_sub(self.buffer) } else { 0 }
    }
}
