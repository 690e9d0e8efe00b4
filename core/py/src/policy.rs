//! `leosim.Policy`.

use std::path::Path;
use std::sync::Arc;

use leo_control::PolicyFiles;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::input_error;
use crate::inputs::Revived;
use crate::signals::{Failure, interruptible};

/// A row takes up to 100 µs.
const ROWS_BETWEEN_LOOKS: usize = 256;

/// An exported policy: `policy.onnx` and `policy.json`.
#[pyclass(frozen, module = "leosim")]
pub struct Policy {
    pub inner: Arc<leo_control::Policy>,
    /// For pickles: the folder may change, or be missing where a pickle is read.
    files: PolicyFiles,
}

#[pymethods]
impl Policy {
    #[staticmethod]
    fn load(folder: &str) -> PyResult<Self> {
        Self::parse(PolicyFiles::read(Path::new(folder)).map_err(input_error)?)
    }

    /// Return the policy of the files that a pickle holds.
    #[staticmethod]
    fn restore(folder: &str, description: &[u8], network: &[u8]) -> PyResult<Self> {
        Self::parse(PolicyFiles {
            folder: folder.into(),
            description: description.to_owned(),
            network: network.to_owned(),
        })
    }

    // Nothing changes a policy, so copies share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Revived<'py>> {
        let bytes = |file| PyBytes::new(py, file);
        let PolicyFiles { folder, description, network } = &self.files;
        let arguments = ("restore", folder.display().to_string(), bytes(description), bytes(network));
        Ok((py.import("operator")?.call_method1("methodcaller", arguments)?, (py.get_type::<Self>(),)))
    }

    #[getter]
    fn spec(&self) -> &'static str {
        self.inner.spec().name()
    }

    #[getter]
    fn interval_ms(&self) -> f64 {
        self.inner.interval_ns() as f64 * 1e-6
    }

    #[getter]
    fn memory_dim(&self) -> usize {
        self.inner.memory_dim()
    }

    #[getter]
    fn known_ranges<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(bounds) = self.inner.known_ranges() else { return Ok(None) };
        let ranges = PyDict::new(py);
        for (name, range) in
            [("rate_mbps", bounds.rate_mbps), ("rtt_ms", bounds.rtt_ms), ("loss", bounds.loss)]
        {
            if let Some(range) = range {
                ranges.set_item(name, range)?;
            }
        }
        Ok(Some(ranges))
    }

    #[pyo3(signature = (observations, memories = None))]
    fn act<'py>(
        &self,
        py: Python<'py>,
        observations: PyReadonlyArray2<'py, f32>,
        memories: Option<&Bound<'py, PyArray2<f32>>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let spec = self.inner.spec();
        let view = observations.as_array();
        let (rows, columns) = view.dim();
        if columns != spec.observation_dim() {
            let rule = format!("must have {} columns, not {columns}", spec.observation_dim());
            return Err(input_error(format!("arguments: observations: {rule}")));
        }
        let memory_dim = self.inner.memory_dim();
        let mut memory = vec![0.0; rows * memory_dim];
        if let Some(memories) = memories {
            let memory_rows = memories.readonly();
            if memory_rows.shape() != [rows, memory_dim] {
                let rule =
                    format!("must have the shape {:?}, not {:?}", [rows, memory_dim], memory_rows.shape());
                return Err(input_error(format!("arguments: memories: {rule}")));
            }
            memory = memory_rows.as_array().iter().copied().collect();
        }
        let contiguous: Vec<f32> = view.iter().copied().collect();
        let mut actions = vec![0.0; rows * spec.action_dim()];
        interruptible(py, |stop| {
            for first in (0..rows).step_by(ROWS_BETWEEN_LOOKS) {
                if stop() {
                    return Err(Failure::Interrupted);
                }
                let part = |width: usize| first * width..(first + ROWS_BETWEEN_LOOKS).min(rows) * width;
                self.inner.act(
                    &contiguous[part(columns)],
                    &mut memory[part(memory_dim)],
                    &mut actions[part(spec.action_dim())],
                );
            }
            Ok(())
        })?;
        if let Some(memories) = memories {
            let mut memories = memories.readwrite();
            memories.as_array_mut().iter_mut().zip(memory).for_each(|(to, next)| *to = next);
        }
        let flat: Bound<'py, PyArray1<f32>> = actions.into_pyarray(py);
        flat.reshape([rows, spec.action_dim()])
    }
}

impl Policy {
    fn parse(files: PolicyFiles) -> PyResult<Self> {
        let inner = leo_control::Policy::parse(&files).map_err(input_error)?;
        Ok(Self { inner: Arc::new(inner), files })
    }
}
