//! Queue disciplines: what waits in front of a transmitter, what is dropped or marked, and what goes next.

mod cake;
mod codel;
mod droptail;
mod fq_codel;
mod fq_pie;
mod gateway;
mod kind;
mod pie;
mod pool;
mod rotation;
mod sfq;

pub use cake::{Cake, CakeSettings};
pub use codel::{Codel, CodelSettings};
pub use droptail::DropTail;
pub use fq_codel::{FqCodel, FqCodelSettings};
pub use fq_pie::{FqPie, FqPieSettings};
pub use gateway::Gateway;
pub use kind::QueueKind;
pub use pie::{Pie, PieSettings};
pub use sfq::{Sfq, SfqSettings};

use crate::{Nanos, Packet};

/// A packet in a queue.
#[derive(Clone, Debug)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// Its size in bytes.
    pub bytes: u32,
    /// When it came.
    pub since: Nanos,
}

/// What a discipline has done to packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets dropped, on their way in or out.
    pub dropped: u64,
    /// Packets marked instead (RFC 3168).
    pub marked: u64,
}

/// A discipline that decides when a packet leaves, not only when it comes.
pub trait Discipline<P: Packet> {
    /// A packet comes at `now`; it or another may be dropped.
    fn enqueue(&mut self, waiting: Waiting<P>, now: Nanos, tally: &mut Tally);
    /// The transmitter is free at `now`: the next packet, unless all that is left was dropped.
    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>>;
    /// Packets that wait.
    fn packets(&self) -> u64;
    /// Bytes that wait.
    fn bytes(&self) -> u64;
    /// From when on it gives out packets: later than `now` if it shapes.
    fn ready_at(&self, now: Nanos) -> Nanos {
        now
    }
}

/// Every discipline beyond drop-tail, dispatched by `match`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the discipline of that name")]
pub enum Managed<P> {
    Cake(Cake<P>),
    Codel(Codel<P>),
    FqCodel(FqCodel<P>),
    FqPie(FqPie<P>),
    Pie(Pie<P>),
    Sfq(Sfq<P>),
}

macro_rules! dispatch {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Self::Cake($queue) => $call,
            Self::Codel($queue) => $call,
            Self::FqCodel($queue) => $call,
            Self::FqPie($queue) => $call,
            Self::Pie($queue) => $call,
            Self::Sfq($queue) => $call,
        }
    };
}

impl<P: Packet> Discipline<P> for Managed<P> {
    #[inline]
    fn enqueue(&mut self, waiting: Waiting<P>, now: Nanos, tally: &mut Tally) {
        dispatch!(self, queue => queue.enqueue(waiting, now, tally));
    }
    #[inline]
    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        dispatch!(self, queue => queue.dequeue(now, tally))
    }
    #[inline]
    fn packets(&self) -> u64 {
        dispatch!(self, queue => queue.packets())
    }
    #[inline]
    fn bytes(&self) -> u64 {
        dispatch!(self, queue => queue.bytes())
    }
    #[inline]
    fn ready_at(&self, now: Nanos) -> Nanos {
        dispatch!(self, queue => queue.ready_at(now))
    }
}

#[cfg(test)]
mod tests;
