//! `leosim.missing_announcements`.

use leo_sim::{Announcement, Scenario};
use pyo3::prelude::*;

use crate::inputs::{Traces, trace_set};
use crate::signals::interruptible;

/// Return the flows whose schemes need an announcement that their routes lack.
#[pyfunction]
pub fn missing_announcements(
    py: Python<'_>,
    scenario: &str,
    traces: Traces<'_>,
) -> PyResult<Vec<(usize, &'static str)>> {
    let traces = trace_set(&traces);
    let missing = interruptible(py, |stop| {
        Ok(leo_sim::missing_announcements(&Scenario::from_json(scenario)?, &traces, stop)?)
    })?;
    let named = missing.into_iter().map(|(flow, announcement)| {
        let name = match announcement {
            Announcement::Handovers => "handovers",
            Announcement::Reconfigurations => "reconfigurations",
        };
        (flow, name)
    });
    Ok(named.collect())
}
