//! `leosim.RunLog`, `leosim.run_log_columns`.

use leo_sim::{BbrSeries, Cell, FlowSeries, LinkSeries, TABLES};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// All measurements of a run.
#[pyclass(frozen, module = "leosim")]
pub struct RunLog {
    pub inner: leo_sim::RunLog,
}

/// Convert values or columns to a dict by name.
pub fn to_dict<'py>(
    py: Python<'py>,
    cells: impl Iterator<Item = (&'static str, Cell)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, cell) in cells {
        match cell {
            Cell::Text(value) => dict.set_item(name, value)?,
            Cell::Float(value) => dict.set_item(name, value)?,
            Cell::Count(value) => dict.set_item(name, value)?,
            Cell::OptionalFloat(value) => dict.set_item(name, value)?,
            Cell::OptionalCount(value) => dict.set_item(name, value)?,
            Cell::OptionalText(value) => dict.set_item(name, value)?,
            Cell::Floats(column) => dict.set_item(name, column.into_pyarray(py))?,
            Cell::Counts(column) => dict.set_item(name, column.into_pyarray(py))?,
            Cell::Flags(column) => dict.set_item(name, column.into_pyarray(py))?,
        }
    }
    Ok(dict)
}

/// The series of flows, links and BBR's model.
pub type SeriesDicts<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// Convert the series that a simulation returns.
pub fn series_dicts(
    py: Python<'_>,
    (flows, links, bbr): (FlowSeries, LinkSeries, BbrSeries),
) -> PyResult<SeriesDicts<'_>> {
    Ok((to_dict(py, flows.cells())?, to_dict(py, links.cells())?, to_dict(py, bbr.cells())?))
}

/// Return the columns of each table: name, type, unit and meaning.
#[pyfunction]
pub fn run_log_columns(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let tables = PyDict::new(py);
    for (table, columns) in TABLES {
        let columns: Vec<_> =
            columns.iter().map(|column| (column.name, column.kind, column.unit, column.meaning)).collect();
        tables.set_item(table, columns)?;
    }
    Ok(tables)
}

#[pymethods]
impl RunLog {
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.inner.flows.iter().map(|flow| to_dict(py, flow.clone().cells()));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.inner.links.iter().map(|link| to_dict(py, link.clone().cells()));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn flow_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.inner.flow_series.clone().cells())
    }

    #[getter]
    fn link_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.inner.link_series.clone().cells())
    }

    #[getter]
    fn bbr_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.inner.bbr_series.clone().cells())
    }

    #[getter]
    fn invalid(&self) -> Option<&str> {
        self.inner.invalid.as_deref()
    }

    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.inner.links.iter().map(|link| link.link.as_str()).collect()
    }
}
