//! `leosim.PathTrace`.

use std::sync::Arc;

use leo_link::Row;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::{Revived, revived};

/// A path trace: piecewise constant rows that repeat periodically.
#[pyclass(frozen, module = "leosim")]
pub struct PathTrace {
    pub inner: Arc<leo_link::PathTrace>,
}

impl PathTrace {
    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&Row) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        self.inner.rows.iter().map(value).collect::<Vec<_>>().into_pyarray(py)
    }
}

#[pymethods]
impl PathTrace {
    #[staticmethod]
    #[pyo3(signature = (text, source = "trace"))]
    fn parse(text: &str, source: &str) -> PyResult<Self> {
        let inner = leo_link::PathTrace::parse(text, source).map_err(input_error)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        py.detach(|| {
            let text = std::fs::read_to_string(path)
                .map_err(|error| input_error(format!("{path}: file: cannot be read: {error}")))?;
            Self::parse(&text, path)
        })
    }

    // Nothing changes a trace, so copies share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Revived<'py>> {
        revived::<Self>(py, "parse", self.inner.to_string())
    }

    #[getter]
    fn metadata(&self) -> &str {
        &self.inner.metadata
    }

    #[getter]
    fn period_ns(&self) -> u64 {
        self.inner.period_ns
    }

    #[getter]
    fn time_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.time_ns)
    }

    #[getter]
    fn delay_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.delay_ns)
    }

    #[getter]
    fn uplink_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.uplink_bps)
    }

    #[getter]
    fn downlink_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.downlink_bps)
    }

    #[getter]
    fn loss<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |row| row.loss)
    }

    #[getter]
    fn connected<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |row| row.connected)
    }

    #[getter]
    fn path_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| u64::from(row.path_id))
    }

    #[getter]
    fn event(&self) -> Vec<String> {
        self.inner.rows.iter().map(|row| row.event.to_string()).collect()
    }
}
