//! `leosim.losses`: random losses for links outside the simulator.

use leo_link::Loss;
use pyo3::prelude::*;

use crate::input_error;

/// Return the indices (from 0) of lost packets among the first `packets`.
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
