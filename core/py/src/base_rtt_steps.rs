//! `leosim.base_rtt_steps`: path changes in RTT samples alone.

use leo_link::Watch;
use leo_sim::{BaseRttSteps, Nanos};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::input_error;
use crate::signals::{Failure, interruptible};

/// Latest time and longest RTT in s, so that times in nanoseconds fit in 64 bits.
const MAX_SECONDS: f64 = 3.2e9;

/// Return the times of the samples that complete the evidence of a step, in s.
#[pyfunction]
pub fn base_rtt_steps(
    py: Python<'_>,
    time_s: PyReadonlyArray1<'_, f64>,
    rtt_ms: PyReadonlyArray1<'_, f64>,
) -> PyResult<Vec<f64>> {
    let (times, rtts) = (time_s.as_array(), rtt_ms.as_array());
    if times.len() != rtts.len() {
        let rule = format!("must have as many values as time_s ({}), not {}", times.len(), rtts.len());
        return Err(input_error(format!("arguments: rtt_ms: {rule}")));
    }
    interruptible(py, |stop| {
        let (mut detector, mut steps, mut last) = (BaseRttSteps::default(), Vec::new(), 0.0);
        let mut watch = Watch::new(stop);
        for (index, (&time, &rtt)) in times.iter().zip(&rtts).enumerate() {
            watch.unit()?;
            if !(last..MAX_SECONDS).contains(&time) {
                return Err(Failure::Input(format!(
                    "arguments: time_s[{index}]: must be at least {last}, as the time before, and below 3.2e9, not {time}"
                )));
            }
            last = time;
            if rtt.is_nan() {
                continue;
            }
            if !(0.0..1e3 * MAX_SECONDS).contains(&rtt) {
                return Err(Failure::Input(format!(
                    "arguments: rtt_ms[{index}]: must be at least 0 and below 3.2e12, or NaN, not {rtt}"
                )));
            }
            if detector.update((time * 1e9).round() as Nanos, (rtt * 1e6).round() as Nanos) {
                steps.push(time);
            }
        }
        Ok(steps)
    })
}
