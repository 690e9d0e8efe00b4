//! `leosim.Sgp4`.

use leo_link::Watch;
use leo_orbit::{MeanElements, Satellites};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::input_error;
use crate::signals::{Failure, interruptible};

/// Satellites for propagation.
#[pyclass(frozen, module = "leosim")]
pub struct Sgp4 {
    inner: Satellites,
}

#[pymethods]
impl Sgp4 {
    #[new]
    fn new(elements: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let view = elements.as_array();
        if view.dim().1 != 8 {
            return Err(input_error(format!(
                "arguments: elements: must have 8 columns, not {}",
                view.dim().1
            )));
        }
        let elements: Vec<MeanElements> = view
            .rows()
            .into_iter()
            .map(|row| MeanElements {
                epoch_years: row[0],
                inclination_rad: row[1],
                node_rad: row[2],
                eccentricity: row[3],
                perigee_rad: row[4],
                mean_anomaly_rad: row[5],
                motion_rad_per_min: row[6],
                bstar: row[7],
            })
            .collect();
        Ok(Self { inner: Satellites::new(&elements).map_err(input_error)? })
    }

    fn positions_km<'py>(
        &self,
        py: Python<'py>,
        minutes: PyReadonlyArray1<'py, f64>,
        satellite: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (minutes, satellite) = (minutes.as_array(), satellite.as_array());
        if minutes.len() != satellite.len() {
            return Err(input_error("arguments: minutes and satellite: must have the same length"));
        }
        let pairs: Vec<(f64, usize)> =
            minutes.iter().zip(satellite.iter()).map(|(&at, &index)| (at, index as usize)).collect();
        let positions = interruptible(py, |stop| {
            let (mut positions, mut watch) = (Vec::with_capacity(3 * pairs.len()), Watch::new(stop));
            for &(at, index) in &pairs {
                watch.unit()?;
                let position = self.inner.position_km(index, at);
                positions.extend_from_slice(&position.map_err(|error| Failure::Input(error.to_string()))?);
            }
            Ok(positions)
        })?;
        let flat: Bound<'py, PyArray1<f64>> = positions.into_pyarray(py);
        flat.reshape([pairs.len(), 3])
    }
}
