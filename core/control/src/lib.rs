//! From monitor interval to action: one definition for training, simulation and the live kernel.
//!
//! For each flow and monitor interval, a backend gives the flow's [`AgentState`] a [`Report`]. A [`Policy`]
//! or a trainer maps the state's observation to an action, and the state turns the action into a [`Command`]:
//! congestion window and pacing rate. A trainer also reads the [`Reward`] and the critic's global state,
//! computed from the [`World`] and every flow's [`FlowState`].
//!
//! This crate has no clock and allocates nothing per interval. Only [`Policy::load`] reads files.

mod action;
mod agent;
mod error;
pub mod features;
mod global_state;
mod guard;
mod judgement;
mod orbit;
mod policy;
mod rate_window;
mod report;
mod reward;
mod world;

pub use action::{
    Action, Command, MAX_CWND_PACKETS, MIN_CWND_PACKETS, map_action, pacing_rate_bytes_per_s,
    window_rate_bytes_per_s,
};
pub use agent::{AgentSpec, AgentState, Decision, MAX_ACTION_DIM, MAX_OBSERVATION_DIM};
pub use error::ControlError;
pub use features::{Observation, normalize};
pub use global_state::{GLOBAL_DIM, write_global_state};
pub use guard::KnownRanges;
pub use judgement::Judgement;
pub use policy::{Policy, PolicyFiles};
pub use rate_window::RateWindow;
pub use report::Report;
pub use reward::{Reward, Term};
pub use world::{FlowState, HISTORY_INTERVALS, World};
