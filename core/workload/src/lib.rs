//! Applications over a transport, as state machines without a clock: the caller reports deliveries and expired timers, and
//! carries out requests. Times are in nanoseconds.

mod call;
mod client;
mod exchange;
mod page;
mod spec;
mod video;

pub use call::{Call, CallSpec, CallSummary, Gcc, Report};
pub use client::{Client, Step};
pub use exchange::{Exchange, Request};
pub use page::{Action, Object, Page, PageSpec};
pub use spec::WorkloadSpec;
pub use video::{Adaptation, Player, VideoSpec, VideoSummary};

pub use leo_link::{NEVER, Nanos};

/// Bytes of a request's payload: an HTTP GET with its headers.
pub const REQUEST_BYTES: u32 = 400;

const NANOS_PER_S: f64 = 1e9;
const NANOS_PER_MS: f64 = 1e6;
