//! COBALT, CoDel and BLUE in one (Palmei et al., "Design and Evaluation of COBALT Queue Discipline", LANMAN 2019).

use crate::Nanos;

const NANOS_PER_S: u64 = 1_000_000_000;
const MTU: u64 = 1514;
/// BLUE's steps: up by 1/256 when the buffer overflows, down by 1/4096 when a queue runs empty.
const PROBABILITY_UP: u32 = 1 << 24;
const PROBABILITY_DOWN: u32 = 1 << 20;

/// Times derived from the RTT and the shaped rate.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    target: Nanos,
    interval: Nanos,
    /// Transmission time of an MTU-sized packet at the shaped rate.
    packet: Nanos,
}

impl Timing {
    /// The target is RTT / 20, or 1.5 packet times if that is more (low rates).
    pub fn new(rtt: Nanos, rate_bps: Option<u64>) -> Self {
        let packet = rate_bps.map_or(0, |bps| MTU * 8 * NANOS_PER_S / bps.max(1));
        let target = (rtt / 20).max(packet * 3 / 2);
        let interval = rtt.max((rtt + target).saturating_sub(rtt / 20)).max(2 * target);
        Self { target, interval, packet }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    pub dropped: bool,
    pub marked: bool,
}

/// The state of one queue.
#[derive(Clone, Debug, Default)]
pub struct Cobalt {
    count: u32,
    dropping: bool,
    drop_next: Nanos,
    probability: u32,
    blue_at: Nanos,
}

impl Cobalt {
    /// React to a buffer overflow while this queue is the longest.
    pub fn on_overflow(&mut self, timing: &Timing, now: Nanos) {
        if now.saturating_sub(self.blue_at) > timing.target {
            self.probability = self.probability.saturating_add(PROBABILITY_UP);
            self.blue_at = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    pub fn on_empty(&mut self, timing: &Timing, now: Nanos) {
        if self.probability > 0 && now.saturating_sub(self.blue_at) > timing.target {
            self.probability = self.probability.saturating_sub(PROBABILITY_DOWN);
            self.blue_at = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(timing, self.drop_next);
        }
    }

    /// Judge a packet that waited for `sojourn` with `active` queues; `drawn` is uniform over u32.
    pub fn judge(
        &mut self,
        timing: &Timing,
        now: Nanos,
        sojourn: Nanos,
        active: u64,
        drawn: u32,
        mark: &mut impl FnMut() -> bool,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        let mut due = self.count > 0 && now >= self.drop_next;
        let over =
            sojourn > timing.target && sojourn > timing.packet * active * 2 && sojourn > timing.packet * 4;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(timing, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            verdict.marked = mark();
            verdict.dropped = !verdict.marked;
            self.count = self.count.saturating_add(1);
            self.drop_next = self.control_law(timing, self.drop_next);
        } else {
            // Below the target, the drop rate decays as it grew.
            while due {
                self.count -= 1;
                self.drop_next = self.control_law(timing, self.drop_next);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.probability > 0 && drawn < self.probability {
            verdict.dropped = true;
        }
        if self.count == 0 {
            self.drop_next = now + timing.interval;
        } else if now > self.drop_next && !verdict.dropped {
            self.drop_next = now;
        }
        verdict
    }

    fn control_law(&self, timing: &Timing, at: Nanos) -> Nanos {
        at + (timing.interval as f64 / f64::from(self.count.max(1)).sqrt()) as Nanos
    }
}
