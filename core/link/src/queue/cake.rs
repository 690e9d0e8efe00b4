//! CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018): a shaper, flow isolation and COBALT.
//!
//! Every simulated flow has its own hosts, so host isolation equals flow isolation. There is one tin.

mod cobalt;

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::queue::pool::Pool;
use crate::queue::rotation::Rotation;
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};
use cobalt::{Cobalt, Timing};

const MILLISECOND: Nanos = 1_000_000;
const NANOS_PER_S: u64 = 1_000_000_000;
const FLOWS: u32 = 1024;
const MTU: u64 = 1514;
/// Linux's minimum buffer in bytes; the default is four intervals at the shaped rate if that is more.
const BUFFER_MIN: u64 = 4 << 20;

/// Parameters of `tc-cake(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CakeSettings {
    /// Rate of the shaper in bit/s; `None` sends as fast as the link.
    pub bandwidth_bps: Option<u64>,
    /// Interval of the AQM: about the largest RTT.
    pub rtt: Nanos,
    /// Maximum bytes in all queues; `None` derives it from the bandwidth.
    pub memory_limit: Option<u64>,
}

impl Default for CakeSettings {
    fn default() -> Self {
        Self { bandwidth_bps: None, rtt: 100 * MILLISECOND, memory_limit: None }
    }
}

/// Flow queues with COBALT behind a shaper without bursts.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    bandwidth_bps: Option<u64>,
    timing: Timing,
    buffer: u64,
    queues: Rotation<P, Cobalt>,
    /// When the shaper releases the next packet, and the remainder of its divisions, in bit·ns/s.
    next_packet: Nanos,
    remainder: u64,
    random: Pcg64Mcg,
}

impl<P: Queued> Cake<P> {
    /// Create empty queues; `seed` drives the flow hash and the random drops.
    pub fn new(settings: CakeSettings, seed: u64) -> Self {
        let rate = settings.bandwidth_bps;
        // Linux: the quantum is 1/4096 of a second's bytes, between 300 bytes and an Ethernet packet.
        let quantum = rate.map_or(MTU, |bps| ((bps / 8) >> 12).clamp(300, MTU));
        let wanted = rate.map_or(0, |bps| bps / 8 * settings.rtt * 4 / NANOS_PER_S);
        Self {
            bandwidth_bps: rate,
            timing: Timing::new(settings.rtt, rate),
            buffer: settings.memory_limit.unwrap_or_else(|| wanted.max(BUFFER_MIN)),
            queues: Rotation::new(FLOWS, quantum as u32, seed),
            next_packet: 0,
            remainder: 0,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    fn charge_shaper(&mut self, bytes: u32) {
        if let Some(rate) = self.bandwidth_bps {
            let work = u64::from(bytes) * 8 * NANOS_PER_S + self.remainder;
            self.next_packet += work / rate;
            self.remainder = work % rate;
        }
    }
}

impl<P: Queued> Discipline<P> for Cake<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, now: Nanos, tally: &mut Tally) {
        if self.queues.pool.packets() == 0 && self.next_packet < now {
            // An idle shaper earns no credit.
            self.next_packet = now;
            self.remainder = 0;
        }
        let queue = self.queues.queue_of(waiting.packet.flow());
        self.queues.push(queue, waiting);
        while self.queues.pool.bytes() > self.buffer {
            let fattest = self.queues.fattest();
            if self.queues.pop(fattest).is_none() {
                return;
            }
            tally.dropped += 1;
            self.queues.flows[fattest].state.on_overflow(&self.timing, now);
        }
    }

    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        loop {
            let active = self.queues.active() as u64;
            let queue = self.queues.turn()?;
            let Some(mut waiting) = self.queues.pop(queue) else {
                self.queues.flows[queue].state.on_empty(&self.timing, now);
                self.queues.end_turn(queue);
                continue;
            };
            let Self { queues, timing, random, .. } = self;
            let flow = &mut queues.flows[queue];
            // The last packet of a queue is never dropped.
            let last = flow.fifo.packets == 0;
            let mut mark = || waiting.packet.mark_congestion();
            let verdict =
                flow.state.judge(timing, now, now - waiting.since, active, random.next_u32(), &mut mark);
            tally.marked += u64::from(verdict.marked);
            self.queues.flows[queue].charge(waiting.bytes());
            if verdict.dropped && !last {
                tally.dropped += 1;
                continue;
            }
            self.charge_shaper(waiting.bytes());
            return Some(waiting);
        }
    }

    fn pool(&self) -> &Pool<P> {
        &self.queues.pool
    }

    fn ready_at(&self, now: Nanos) -> Nanos {
        self.next_packet.max(now)
    }
}
