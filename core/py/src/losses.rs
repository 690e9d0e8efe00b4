//! `leosim.losses`: random losses for links outside the simulator.

use leo_link::{Loss, Watch};
use pyo3::prelude::*;

use crate::input_error;
use crate::signals::interruptible;

/// Return the indices (from 0) of lost packets among the first `packets`.
#[pyfunction]
pub fn losses(py: Python<'_>, probability: f64, seed: u64, packets: u32) -> PyResult<Vec<u32>> {
    if !(0.0..1.0).contains(&probability) {
        return Err(input_error(format!(
            "arguments: probability: must be at least 0 and less than 1, not {probability}"
        )));
    }
    interruptible(py, |stop| {
        let (mut loss, mut watch, mut lost) = (Loss::new(probability, seed), Watch::new(stop), Vec::new());
        for packet in 0..packets {
            watch.unit()?;
            if loss.hits(0.0) {
                lost.push(packet);
            }
        }
        Ok(lost)
    })
}
