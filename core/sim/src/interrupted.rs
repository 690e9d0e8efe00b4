//! Why a simulation was not built: a bad scenario, or a caller that stops.

use leo_link::Interrupted;

use crate::scenario::ScenarioError;

/// Why a simulation was not built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbuilt {
    /// The scenario is invalid, or lacks a trace, a scheme or a policy.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The caller stopped the construction.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
