//! Python module `leosim`, a thin layer over the simulator core. `leosim.pyi` documents its interface.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

mod agents;
mod announcements;
mod base_rtt_steps;
mod batch;
mod batch_state;
mod constellation;
mod inputs;
mod link_plan;
mod losses;
mod moments;
mod path_trace;
mod policy;
mod run;
mod run_log;
mod sgp4;
mod signals;
mod simulation;
mod workloads;

create_exception!(leosim, InputError, PyValueError, "Bad input: one line that names source, field and rule.");

/// Convert any error of the core to an `InputError`.
fn input_error(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The schemes that the simulator runs without a policy, with a sentence about each.
#[pyfunction]
fn schemes(python: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let named = leo_sim::SCHEME_TABLE.iter().map(|row| (row.name, row.about));
    named
        .chain([(leo_sim::ORACLE_SCHEME, leo_sim::ORACLE_ABOUT), (leo_sim::UDP_SCHEME, leo_sim::UDP_ABOUT)])
        .into_py_dict(python)
}

/// The schemes of this build's QUIC stacks, with a sentence about each.
#[pyfunction]
fn stack_schemes(python: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    leo_sim::STACK_SCHEMES.iter().copied().into_py_dict(python)
}

/// The rule that the JSON of a scenario's part breaks, after the path of its field.
#[pyfunction]
fn broken_rule(part: &str, json: &str) -> Option<(String, String)> {
    leo_sim::check_part(part, json).err().map(|broken| (broken.field, broken.rule))
}

/// The simulator core.
#[pymodule]
fn leosim(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD", env!("LEOSIM_BUILD"))?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(stack_schemes, module)?)?;
    module.add_function(wrap_pyfunction!(broken_rule, module)?)?;
    module.add_function(wrap_pyfunction!(announcements::missing_announcements, module)?)?;
    module.add_function(wrap_pyfunction!(base_rtt_steps::base_rtt_steps, module)?)?;
    module.add_function(wrap_pyfunction!(losses::losses, module)?)?;
    module.add_function(wrap_pyfunction!(link_plan::plan_links, module)?)?;
    module.add_function(wrap_pyfunction!(link_plan::world, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run_log::run_log_columns, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::plan_workloads, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::play_video, module)?)?;
    module.add_function(wrap_pyfunction!(workloads::google_congestion_control, module)?)?;
    module.add_class::<agents::Agents>()?;
    module.add_class::<path_trace::PathTrace>()?;
    module.add_class::<link_plan::LinkPlan>()?;
    module.add_class::<moments::Moments>()?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<run_log::RunLog>()?;
    module.add_class::<sgp4::Sgp4>()?;
    module.add_class::<constellation::Constellation>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<batch::Batch>()
}
