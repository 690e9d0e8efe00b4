//! FQ-PIE, `tc-fq_pie(8)`: flow queues as in RFC 8290, each with PIE (RFC 8033).

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::queue::pie::{Controller, PieSettings};
use crate::queue::pool::Pool;
use crate::queue::rotation::Rotation;
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};

/// Parameters of `tc-fq_pie(8)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqPieSettings {
    /// Maximum packets in all queues.
    pub limit: u64,
    /// Maximum bytes in all queues.
    pub memory_limit: u64,
    /// Number of queues.
    pub flows: u32,
    /// Bytes per turn.
    pub quantum: u32,
    /// PIE's parameters.
    pub pie: PieSettings,
}

impl Default for FqPieSettings {
    fn default() -> Self {
        let pie = PieSettings::default();
        Self { limit: 10_240, memory_limit: 32 << 20, flows: 1024, quantum: 1500, pie }
    }
}

/// One queue per flow, each with PIE, served in turn.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    settings: FqPieSettings,
    queues: Rotation<P, Controller>,
    next_update: Nanos,
    random: Pcg64Mcg,
}

impl<P: Queued> FqPie<P> {
    /// Create empty queues; `seed` drives the flow hash and the random drops.
    pub fn new(settings: FqPieSettings, seed: u64) -> Self {
        Self {
            queues: Rotation::new(settings.flows, settings.quantum, seed),
            next_update: settings.pie.update,
            random: Pcg64Mcg::seed_from_u64(seed),
            settings,
        }
    }

    fn catch_up(&mut self, now: Nanos) {
        while self.next_update <= now {
            for flow in &mut self.queues.flows {
                flow.state.update(&self.settings.pie, flow.fifo.bytes);
            }
            self.next_update += self.settings.pie.update;
        }
    }
}

impl<P: Queued> Discipline<P> for FqPie<P> {
    fn enqueue(&mut self, mut waiting: Waiting<P>, now: Nanos, tally: &mut Tally) {
        self.catch_up(now);
        let queue = self.queues.queue_of(waiting.packet.flow());
        let pool = &self.queues.pool;
        let bytes = pool.bytes() + u64::from(waiting.bytes());
        if pool.packets() >= self.settings.limit || bytes > self.settings.memory_limit {
            tally.dropped += 1;
            return;
        }
        let flow = &mut self.queues.flows[queue];
        if flow.state.refuses(&self.settings.pie, flow.fifo.bytes, &mut self.random) {
            if flow.state.marks(&self.settings.pie) && waiting.packet.mark_congestion() {
                tally.marked += 1;
            } else {
                tally.dropped += 1;
                return;
            }
        }
        self.queues.push(queue, waiting);
    }

    fn dequeue(&mut self, now: Nanos, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.catch_up(now);
        let (queue, waiting) = self.queues.next()?;
        self.queues.flows[queue].state.on_dequeue(now, waiting.since);
        Some(waiting)
    }

    fn pool(&self) -> &Pool<P> {
        &self.queues.pool
    }
}
