//! Observations: what a policy sees of its flow's reports. One file for each definition.

pub mod astraea;
pub mod sage;
mod sliding;
