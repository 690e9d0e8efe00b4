//! Networks of satellites and ground stations: forwarding tables that change with time over the links that exist.

mod build;
mod choice;
mod disjoint;
mod forwarding;
mod load;
mod moments;
mod pairs;
mod summary;
mod trees;
mod updating;

pub use build::build;
pub use choice::PathState;
pub use forwarding::{Forwarding, GroundLink, Snapshot};
pub use moments::{Course, Moments};
pub use summary::{PairSummary, TrafficCount};
pub use updating::LinkMaker;
