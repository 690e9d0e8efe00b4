//! Queue disciplines decide which packets wait for the transmitter, are dropped or marked, and leave next.

mod cake;
mod codel;
mod droptail;
mod dualpi2;
mod fq_codel;
mod fq_pie;
mod gateway;
mod head_drop;
mod kind;
mod pie;
mod pool;
mod rotation;
mod sfq;

pub use cake::{Cake, CakeSettings};
pub use codel::{Codel, CodelSettings};
pub use droptail::DropTail;
pub use dualpi2::{DualPi2, DualPi2Settings};
pub use fq_codel::{FqCodel, FqCodelSettings};
pub use fq_pie::{FqPie, FqPieSettings};
pub use gateway::Gateway;
pub use head_drop::HeadDrop;
pub use kind::QueueKind;
pub use pie::{Pie, PieSettings};
use pool::Pool;
pub use sfq::{Sfq, SfqSettings};

use crate::{Nanos, Queued};

/// A packet in a queue.
#[derive(Clone, Debug)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// When it arrived.
    pub since: Nanos,
}

impl<P: Queued> Waiting<P> {
    /// Return the packet's size in bytes.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
}

/// Packets that a discipline dropped or marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets dropped at enqueue or dequeue.
    pub dropped: u64,
    /// Packets marked instead of dropped (RFC 3168).
    pub marked: u64,
}

/// A discipline that acts when packets leave, not only when they arrive.
pub trait Discipline<P: Queued> {
    /// Enqueue a packet that arrives at `now`; this may drop it or another one.
    fn enqueue(&mut self, waiting: Waiting<P>, now: Nanos, tally: &mut Tally);
    /// Return the next packet for a transmitter that is free at `now`; `None` if all the rest was dropped.
    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>>;
    /// Return the pool of the waiting packets.
    fn pool(&self) -> &Pool<P>;
    /// Return the number of waiting packets.
    fn packets(&self) -> u64 {
        self.pool().packets()
    }
    /// Return the number of waiting bytes.
    fn bytes(&self) -> u64 {
        self.pool().bytes()
    }
    /// Return when it can release a packet: later than `now` if it shapes.
    fn ready_at(&self, now: Nanos) -> Nanos {
        now
    }
    /// Return whether the packets on the transmitter count towards its limit. If so, call [`beside`](Self::beside) before each
    /// packet.
    fn counts_sending(&self) -> bool {
        false
    }
    /// Set the packets and bytes on the transmitter.
    fn beside(&mut self, _packets: u64, _bytes: u64) {}
}

/// Every discipline other than drop-tail, dispatched by `match`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the discipline of that name")]
pub enum Managed<P> {
    Cake(Cake<P>),
    Codel(Codel<P>),
    DualPi2(DualPi2<P>),
    FqCodel(FqCodel<P>),
    FqPie(FqPie<P>),
    HeadDrop(HeadDrop<P>),
    Pie(Pie<P>),
    Sfq(Sfq<P>),
}

/// Evaluate an expression with the discipline of a [`Managed`] as `$queue`.
macro_rules! dispatch {
    ($managed:expr, $queue:ident => $call:expr) => {
        match $managed {
            Managed::Cake($queue) => $call,
            Managed::Codel($queue) => $call,
            Managed::DualPi2($queue) => $call,
            Managed::FqCodel($queue) => $call,
            Managed::FqPie($queue) => $call,
            Managed::HeadDrop($queue) => $call,
            Managed::Pie($queue) => $call,
            Managed::Sfq($queue) => $call,
        }
    };
}
pub(crate) use dispatch;

impl<P: Queued> Managed<P> {
    /// Return whether packets of one flow can overtake each other because their codepoints differ.
    pub const fn parts_codepoints(&self) -> bool {
        matches!(self, Self::DualPi2(_))
    }
}

impl<P: Queued> Discipline<P> for Managed<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, now: Nanos, tally: &mut Tally) {
        dispatch!(self, queue => queue.enqueue(waiting, now, tally));
    }
    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        dispatch!(self, queue => queue.dequeue(now, tally))
    }
    fn pool(&self) -> &Pool<P> {
        dispatch!(self, queue => queue.pool())
    }
    fn ready_at(&self, now: Nanos) -> Nanos {
        dispatch!(self, queue => queue.ready_at(now))
    }
    fn counts_sending(&self) -> bool {
        dispatch!(self, queue => queue.counts_sending())
    }
    fn beside(&mut self, packets: u64, bytes: u64) {
        dispatch!(self, queue => queue.beside(packets, bytes));
    }
}

#[cfg(test)]
mod tests;
