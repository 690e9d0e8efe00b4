//! The packet-level simulator: topology, event loop, run log, control loop and batches of simulations.
//!
//! The output depends only on the scenario and its seed, not on the number of threads.

mod batch;
mod bottlenecks;
mod client;
mod constellation;
mod control_loop;
mod ecn;
mod events;
mod flow;
mod interrupted;
mod many;
mod network;
mod oracle;
#[cfg(debug_assertions)]
mod order;
mod packet;
mod path;
mod route;
mod run_log;
mod scenario;
mod simulation;
mod source;
mod stack_flow;
mod stacks;
mod telemetry;
mod windows;
mod workers;
mod world;

pub use batch::{Batch, BatchSettings, PATH_FIELDS, View};
pub use constellation::{GroundLink, Moments, PairSummary, PathState, Snapshot, TrafficCount};
pub use interrupted::Unbuilt;
pub use many::run_many;
pub use network::{LinkPlan, PolicySet, TraceSet, missing_announcements, plan_links, plan_workloads, player};
pub use run_log::{
    BbrSeries, Cell, Column, FlowSeries, FlowSummary, LinkSeries, LinkSummary, RunLog, TABLES,
};
pub use scenario::{
    AGENT_SCHEME, ArrivalsSpec, Broken, ConstellationSpec, EcnEndsSpec, EcnSpec, EcnSupport, EventSpec,
    FlowDirection, FlowSpec, LinkSpec, QueueSpec, RerouteSpec, ResumeSpec, ReverseSpec, Scenario,
    ScenarioError, SizeDistribution, TransmitterSpec, VanishedLinks, check_part,
};
pub use simulation::Simulation;
pub use stacks::STACK_SCHEMES;

pub use leo_cc::{Announcement, BaseRttSteps, NAMES as SCHEMES, TABLE as SCHEME_TABLE};
pub use leo_workload::{Gcc, Player};

pub use leo_link::{Interrupted, Nanos, RUN_ON, Stop};
pub use oracle::{ORACLE_ABOUT, ORACLE_SCHEME};
pub use scenario::{GCC_SCHEME, UDP_ABOUT, UDP_SCHEME};
pub use world::world;
