//! Networks of satellites and ground stations: forwarding tables that change with time over the links that exist.

mod build;
mod forwarding;
mod pairs;
mod summary;
mod trees;
mod updating;

pub use build::build;
pub use forwarding::{Forwarding, GroundLink, Snapshot};
pub use summary::{PairSummary, TrafficCount};
pub use updating::LinkMaker;
