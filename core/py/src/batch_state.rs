//! Copies and pickles of a `leosim.Batch`.
//!
//! A copy in memory clones the simulations. A pickle holds each simulation's inputs and its actions. Simulations are
//! deterministic and faster than real time, so these replace their state.

use std::collections::BTreeMap;

use leo_sim::{PolicySet, TraceSet};
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::input_error;
use crate::inputs::{Policies, Traces};
use crate::moments::Moments;
use crate::path_trace::PathTrace;
use crate::policy::Policy;

/// The inputs of a simulation.
pub struct Begun {
    scenario: String,
    traces: BTreeMap<String, Py<PathTrace>>,
    policies: BTreeMap<String, Py<Policy>>,
    /// A constellation's links, and the number of the first moment.
    pub moments: Option<(Py<Moments>, usize)>,
}

impl Begun {
    pub fn new(
        scenario: &str,
        traces: Traces<'_>,
        policies: Option<Policies<'_>>,
        moments: Option<(Py<Moments>, usize)>,
    ) -> Self {
        Self {
            scenario: scenario.to_owned(),
            traces: traces.into_iter().map(|(name, trace)| (name, trace.into())).collect(),
            policies: policies.into_iter().flatten().map(|(name, policy)| (name, policy.into())).collect(),
            moments,
        }
    }

    pub fn sets(&self) -> (TraceSet, PolicySet) {
        (
            self.traces.iter().map(|(name, trace)| (name.clone(), trace.get().inner.clone())).collect(),
            self.policies.iter().map(|(name, policy)| (name.clone(), policy.get().inner.clone())).collect(),
        )
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            scenario: self.scenario.clone(),
            traces: self.traces.iter().map(|(name, trace)| (name.clone(), trace.clone_ref(py))).collect(),
            policies: self
                .policies
                .iter()
                .map(|(name, policy)| (name.clone(), policy.clone_ref(py)))
                .collect(),
            moments: self.moments.as_ref().map(|(moments, first)| (moments.clone_ref(py), *first)),
        }
    }

    /// Return scenario, traces, policies, moments, the first moment and the `actions` since the beginning, as [`Inputs`] reads them.
    pub fn inputs<'py>(
        &self,
        py: Python<'py>,
        actions: Bound<'py, PyArray3<f32>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (traces, policies) = (PyDict::new(py), PyDict::new(py));
        for (name, trace) in &self.traces {
            traces.set_item(name, trace)?;
        }
        for (name, policy) in &self.policies {
            policies.set_item(name, policy)?;
        }
        let (moments, first) =
            self.moments.as_ref().map_or((None, 0), |(moments, first)| (Some(moments), *first));
        (&self.scenario, traces, policies, moments, first, actions).into_pyobject(py)
    }
}

/// The inputs of a pickled simulation, and its actions since.
pub type Inputs<'py> =
    (String, Traces<'py>, Policies<'py>, Option<Bound<'py, Moments>>, usize, PyReadonlyArray3<'py, f32>);

/// The content of a pickle: [`Inputs`] or None of each simulation, the arrays that these determine, and the rewards.
pub type State<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyArray2<f32>>);

/// Return a new array with the same numbers.
pub fn duplicate<T: Element + Copy, D: Dimension>(
    py: Python<'_>,
    array: &Py<PyArray<T, D>>,
) -> Py<PyArray<T, D>> {
    PyArray::from_owned_array(py, array.bind(py).to_owned_array()).unbind()
}

/// Check that the arrays of simulations that ran again are those of the pickle.
///
/// # Errors
/// They differ: another version of the simulator wrote the pickle.
pub fn check_arrays(now: &Bound<'_, PyList>, pickled: &Bound<'_, PyList>) -> PyResult<()> {
    for (array, pickled_array) in now.iter().zip(pickled) {
        if !array.call_method0("tobytes")?.eq(pickled_array.call_method0("tobytes")?)? {
            let version = env!("CARGO_PKG_VERSION");
            return Err(input_error(format!(
                "pickle: simulations: leosim {version} runs them differently from the version that wrote it"
            )));
        }
    }
    Ok(())
}
