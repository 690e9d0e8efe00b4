//! `leosim.missing_announcements`.

use leo_sim::{Announcement, Scenario};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::{Traces, trace_set};

/// Return the flows whose schemes need an announcement that their routes lack.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts owned arguments")]
pub fn missing_announcements(scenario: &str, traces: Traces<'_>) -> PyResult<Vec<(usize, &'static str)>> {
    let scenario = Scenario::from_json(scenario).map_err(input_error)?;
    let missing = leo_sim::missing_announcements(&scenario, &trace_set(&traces));
    let named = missing.into_iter().map(|(flow, what)| {
        let name = match what {
            Announcement::Handovers => "handovers",
            Announcement::Reconfigurations => "reconfigurations",
        };
        (flow, name)
    });
    Ok(named.collect())
}
