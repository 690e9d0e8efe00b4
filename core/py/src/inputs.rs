//! Arguments shared by several entry points.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use leo_sim::{Nanos, PolicySet, TraceSet};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::input_error;
use crate::path_trace::PathTrace;
use crate::policy::Policy;

/// A function and its argument, which is a class, as a pickle stores them.
pub type Revived<'py> = (Bound<'py, PyAny>, (Bound<'py, PyType>,));

/// Path traces by name.
pub type Traces<'py> = BTreeMap<String, PyRef<'py, PathTrace>>;
/// Policies by scheme name.
pub type Policies<'py> = BTreeMap<String, PyRef<'py, Policy>>;

pub fn trace_set(traces: &Traces<'_>) -> TraceSet {
    traces.iter().map(|(name, trace)| (name.clone(), trace.inner.clone())).collect()
}

pub fn policy_set(policies: Option<&Policies<'_>>) -> PolicySet {
    policies.into_iter().flatten().map(|(name, policy)| (name.clone(), policy.inner.clone())).collect()
}

/// Return what rebuilds a `T` in a pickle: a call of its static `method` with `argument`.
pub fn revived<'py, T: PyTypeInfo>(
    py: Python<'py>,
    method: &str,
    argument: String,
) -> PyResult<Revived<'py>> {
    // Static methods of native classes cannot be pickled themselves.
    let call = py.import("operator")?.call_method1("methodcaller", (method, argument))?;
    Ok((call, (py.get_type::<T>(),)))
}

/// The most threads of a simulation or of a set of simulations.
pub const MAX_THREADS: i64 = 256;

/// Return the number `field` if it is in `range`.
pub fn count(field: &str, number: i64, range: RangeInclusive<i64>) -> PyResult<usize> {
    if range.contains(&number) {
        return Ok(number as usize);
    }
    let rule = format!("must be from {} to {}, not {number}", range.start(), range.end());
    Err(input_error(format!("arguments: {field}: {rule}")))
}

/// Convert the interval `field` to nanoseconds, if it is at least `minimum_ms`.
pub fn interval(field: &str, milliseconds: f64, minimum_ms: f64) -> PyResult<Nanos> {
    if milliseconds >= minimum_ms && milliseconds <= 3.6e6 {
        Ok((milliseconds * 1e6).round() as Nanos)
    } else {
        Err(input_error(format!(
            "arguments: {field}: must be at least {minimum_ms} and at most 3.6e6, not {milliseconds}"
        )))
    }
}
