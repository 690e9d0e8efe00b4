//! `leosim.Constellation`.

use leo_sim::{ConstellationSpec, GroundLink, Nanos, Snapshot};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::input_error;
use crate::inputs::{Policies, interval, policy_set};
use crate::run_log::{RunLog, to_dict};
use crate::signals::{checked, interruptible};

const NANOS_PER_S: f64 = 1e9;

/// The simulation of a network whose links the caller sets, moment by moment.
#[pyclass(module = "leosim")]
pub struct Constellation {
    inner: leo_sim::Simulation,
    satellites: u32,
    stations: u32,
    lasers: usize,
}

#[pymethods]
impl Constellation {
    #[new]
    #[pyo3(signature = (network, policies = None, *, interval_ms = 30.0, series_ms = 1000.0))]
    fn new(
        py: Python<'_>,
        network: &str,
        policies: Option<Policies<'_>>,
        interval_ms: f64,
        series_ms: f64,
    ) -> PyResult<Self> {
        let interval_ns = interval("interval_ms", interval_ms, 0.1)?;
        let series = if series_ms == 0.0 { 0 } else { interval("series_ms", series_ms, 0.1)? };
        let policies = policy_set(policies.as_ref());
        interruptible(py, |stop| {
            let spec = ConstellationSpec::from_json(network)?;
            let inner = leo_sim::Simulation::of_constellation(&spec, &policies, interval_ns, series, stop)?;
            let (stations, lasers) = (spec.stations.len() as u32, spec.lasers.len());
            Ok(Self { inner, satellites: spec.satellites, stations, lasers })
        })
    }

    #[getter]
    fn time_s(&self) -> f64 {
        self.inner.now() as f64 / NANOS_PER_S
    }

    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.inner.link_names().collect()
    }

    fn follow(
        &mut self,
        py: Python<'_>,
        laser_km: PyReadonlyArray1<'_, f64>,
        station: PyReadonlyArray1<'_, i64>,
        satellite: PyReadonlyArray1<'_, i64>,
        km: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<()> {
        let laser_km: Vec<f64> = laser_km.as_array().to_vec();
        let (station, satellite, km) = (station.as_array(), satellite.as_array(), km.as_array());
        let same_length = station.len() == satellite.len() && station.len() == km.len();
        if !same_length || laser_km.len() != self.lasers {
            return Err(input_error(
                "arguments: arrays: must have one length, and laser_km an entry per laser",
            ));
        }
        let ends = station.iter().zip(&satellite).zip(&km);
        let ground: Vec<GroundLink> = ends
            .map(|((&station, &satellite), &km)| GroundLink {
                station: u32::try_from(station).unwrap_or(u32::MAX),
                satellite: u32::try_from(satellite).unwrap_or(u32::MAX),
                km,
            })
            .collect();
        let known =
            ground.iter().all(|link| link.station < self.stations && link.satellite < self.satellites);
        let rises =
            ground.is_sorted_by(|one, next| (one.station, one.satellite) < (next.station, next.satellite));
        if !known || !rises {
            return Err(input_error("arguments: station and satellite: must rise, and be in the network"));
        }
        py.detach(|| self.inner.follow(&Snapshot { laser_km: &laser_km, ground: &ground }));
        Ok(())
    }

    #[pyo3(signature = (until_s, *, check = None))]
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        until_s: f64,
        check: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        if !(0.0..=1e9).contains(&until_s) {
            return Err(input_error(format!("arguments: until_s: must be from 0 to 1e9, not {until_s}")));
        }
        let until = (until_s * NANOS_PER_S).round() as Nanos;
        let (flows, links) = checked(py, check, |stop| {
            self.inner.advance(until, stop)?;
            Ok(self.inner.take_series())
        })?;
        Ok((to_dict(py, flows.cells())?, to_dict(py, links.cells())?))
    }

    fn routes<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyArray1<u32>>, u64)> {
        self.inner.routes().into_iter().map(|(nodes, rtt_ns)| (nodes.into_pyarray(py), rtt_ns)).collect()
    }

    fn pairs_of_flows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.inner.pairs_of_flows().into_pyarray(py)
    }

    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.inner.pairs().into_iter().map(|pair| to_dict(py, pair.cells()));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    fn traffic<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let traffic = self.inner.traffic();
        let dict = PyDict::new(py);
        for (name, packets) in [
            ("sent", traffic.sent),
            ("arrived", traffic.arrived),
            ("dropped", traffic.dropped),
            ("lost", traffic.lost),
            ("unroutable", traffic.unroutable),
            ("inside", traffic.inside),
            ("hops", traffic.hops),
        ] {
            dict.set_item(name, packets)?;
        }
        Ok(dict)
    }

    fn run_log(&mut self, py: Python<'_>) -> RunLog {
        RunLog { inner: py.detach(|| self.inner.run_log()) }
    }
}
