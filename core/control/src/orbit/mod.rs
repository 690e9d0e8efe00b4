//! Orbit, our scheme for satellite paths: a structured controller, scaled by the outputs of a policy.

mod controller;
mod path_estimate;

pub(crate) use controller::{Controller, GAINS};
pub(crate) use path_estimate::PathEstimate;
