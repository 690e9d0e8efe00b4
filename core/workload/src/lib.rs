//! Applications over a transport, as state machines without a clock: the caller reports deliveries and expired timers, and
//! carries out requests. Times are in nanoseconds.

mod call;
mod page;
mod video;

pub use call::{Call, CallSpec, CallSummary, Gcc, Report};
pub use page::{Action, Object, Page, PageSpec};
pub use video::{Adaptation, Player, VideoSpec, VideoSummary};

pub use leo_link::{NEVER, Nanos};

const NANOS_PER_S: f64 = 1e9;
const NANOS_PER_MS: f64 = 1e6;
