//! `leosim.losses`: random losses for links that are not the simulator's.

use leo_link::Loss;
use pyo3::prelude::*;

use crate::input_error;

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
