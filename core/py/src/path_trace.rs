//! `leosim.PathTrace`.

use std::sync::Arc;

use std::fmt::{self, Write};

use leo_link::{OneWay, Row, Stop, Unparsed, Watch};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::{Revived, revived};
use crate::signals::{Failure, interruptible};

/// A path trace: piecewise constant rows that repeat periodically.
#[pyclass(frozen, module = "leosim")]
pub struct PathTrace {
    pub inner: Arc<leo_link::PathTrace>,
}

/// Text that is written as long as the caller does not stop it.
struct Watched<'a> {
    text: String,
    watch: Watch<'a>,
}

impl Write for Watched<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.watch.unit().map_err(|_| fmt::Error)?;
        self.text.write_str(part)
    }
}

impl PathTrace {
    fn parse_unless(stop: Stop<'_>, text: &str, source: &str) -> Result<Self, Failure> {
        let inner = leo_link::PathTrace::parse_unless(stop, text, source);
        inner.map(|inner| Self { inner: Arc::new(inner) }).map_err(|error| match error {
            Unparsed::Broken(broken) => Failure::Input(broken.to_string()),
            Unparsed::Interrupted => Failure::Interrupted,
        })
    }

    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&Row) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        self.inner.rows.iter().map(value).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Return a column of both directions; an error if they differ, because neither is valid for both.
    fn alike<'py, T: numpy::Element + PartialEq>(
        &self,
        py: Python<'py>,
        name: &str,
        value: impl Fn(&OneWay) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        if let Some(at) = self.inner.rows.iter().position(|row| value(&row.up) != value(&row.down)) {
            let rule = format!("the directions differ in row {at}: use up_{name} and down_{name}");
            return Err(input_error(format!("path trace: {name}: {rule}")));
        }
        Ok(self.column(py, |row| value(&row.up)))
    }
}

#[pymethods]
impl PathTrace {
    #[staticmethod]
    #[pyo3(signature = (text, source = "trace"))]
    fn parse(py: Python<'_>, text: &str, source: &str) -> PyResult<Self> {
        interruptible(py, |stop| Self::parse_unless(stop, text, source))
    }

    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        interruptible(py, |stop| {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::Input(format!("{path}: file: cannot be read: {error}")))?;
            Self::parse_unless(stop, &text, path)
        })
    }

    // Nothing changes a trace, so copies share it.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Revived<'py>> {
        let text = interruptible(py, |stop| {
            let mut text = Watched { text: String::new(), watch: Watch::new(stop) };
            write!(text, "{}", self.inner).map_err(|fmt::Error| Failure::Interrupted)?;
            Ok(text.text)
        })?;
        revived::<Self>(py, "parse", text)
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
    fn version(&self) -> u64 {
        self.inner.version.number()
    }

    #[getter]
    fn up_delay_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.up.delay_ns)
    }

    #[getter]
    fn down_delay_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.down.delay_ns)
    }

    #[getter]
    fn uplink_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.up.rate_bps)
    }

    #[getter]
    fn downlink_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |row| row.down.rate_bps)
    }

    #[getter]
    fn up_loss<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |row| row.up.loss)
    }

    #[getter]
    fn down_loss<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |row| row.down.loss)
    }

    #[getter]
    fn up_connected<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |row| row.up.connected)
    }

    #[getter]
    fn down_connected<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |row| row.down.connected)
    }

    #[getter]
    fn delay_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.alike(py, "delay_ns", |way| way.delay_ns)
    }

    #[getter]
    fn loss<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.alike(py, "loss", |way| way.loss)
    }

    #[getter]
    fn connected<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.alike(py, "connected", |way| way.connected)
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
