//! `leosim.loss_seeds`, `leosim.losses`: random losses for links that are not the simulator's.

use std::collections::BTreeMap;

use leo_link::Loss;
use leo_sim::Scenario;
use pyo3::prelude::*;

use crate::input_error;

/// The seeds of a scenario's random losses, by link.
#[pyfunction]
pub fn loss_seeds(scenario: &str) -> PyResult<BTreeMap<String, u64>> {
    Ok(leo_sim::loss_seeds(&Scenario::from_json(scenario).map_err(input_error)?))
}

/// Which of the first `packets` that leave a queue are lost, counted from 0.
#[pyfunction]
pub fn losses(probability: f64, seed: u64, packets: u32) -> PyResult<Vec<u32>> {
    if !(0.0..1.0).contains(&probability) {
        return Err(input_error(format!(
            "arguments: probability: must be at least 0 and less than 1, not {probability}"
        )));
    }
    let mut loss = Loss::new(probability, seed);
    Ok((0..packets).filter(|_| loss.hits(0.0)).collect())
}
