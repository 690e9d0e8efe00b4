//! The link: capacity, FIFO propagation that varies in time, queues, loss and outages.
//!
//! State machines without a clock: each call passes the time in ns. The simulator drives them in virtual
//! time, `kernel_bridge/shell` with real packets.

mod codepoint;
mod disruption;
mod histogram;
mod interrupt;
mod jitter;
mod link;
mod loss;
mod packet;
mod path_trace;
mod queue;
mod ring;
mod schedule;
mod server;

pub use codepoint::Codepoint;
pub use disruption::{Disruption, DisruptionKind};
pub use histogram::Histogram;
pub use interrupt::{Interrupted, RUN_ON, STRIDE, Stop, Watch};
pub use jitter::Jitter;
pub use link::{Departure, Link, LinkStats, Offer};
pub use loss::Loss;
pub use packet::{Packet, Queued};
pub use path_trace::{Event, OneWay, PathTrace, Row, Stretch, TraceError, Unparsed, Version};
pub use queue::{
    Cake, CakeSettings, Codel, CodelSettings, Discipline, DropTail, DualPi2, DualPi2Settings, FqCodel,
    FqCodelSettings, FqPie, FqPieSettings, Gateway, HeadDrop, Managed, Pie, PieSettings, QueueKind, Sfq,
    SfqSettings, Tally, Waiting,
};
pub use schedule::{Direction, Schedule, Span, UNLIMITED};
pub use server::{Server, Transmission};

/// Time or duration in nanoseconds.
pub type Nanos = u64;

/// The time of an event that never happens.
pub const NEVER: Nanos = u64::MAX;
