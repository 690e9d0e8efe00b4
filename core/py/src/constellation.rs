//! `leosim.Constellation`.

use std::sync::Arc;

use leo_sim::{ConstellationSpec, Nanos, PathState, Snapshot};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::input_error;
use crate::inputs::{MAX_THREADS, Policies, count, interval, policy_set};
use crate::moments::{Moments, ground_links};
use crate::run_log::{RunLog, SeriesDicts, series_dicts, to_dict};
use crate::signals::{checked, interruptible};

const NANOS_PER_S: f64 = 1e9;

/// The simulation of a network whose links the caller sets, moment by moment.
#[pyclass(module = "leosim")]
#[derive(Clone)]
pub struct Constellation {
    inner: leo_sim::Simulation,
    /// Without the flows.
    spec: Arc<ConstellationSpec>,
}

#[pymethods]
impl Constellation {
    #[new]
    #[pyo3(signature = (network, policies = None, *, interval_ms = 30.0, series_ms = 1000.0, threads = 1))]
    fn new(
        py: Python<'_>,
        network: &str,
        policies: Option<Policies<'_>>,
        interval_ms: f64,
        series_ms: f64,
        threads: i64,
    ) -> PyResult<Self> {
        let threads = count("threads", threads, 1..=MAX_THREADS)?;
        let interval_ns = interval("interval_ms", interval_ms, 0.1)?;
        let series = if series_ms == 0.0 { 0 } else { interval("series_ms", series_ms, 0.1)? };
        let policies = policy_set(policies.as_ref());
        interruptible(py, |stop| {
            let spec = ConstellationSpec::from_json(network)?;
            let inner = leo_sim::Simulation::of_constellation(&spec, &policies, interval_ns, series, stop)?;
            let spec = Arc::new(ConstellationSpec { flows: Vec::new(), ..spec });
            Ok(Self { inner: inner.on_threads(threads), spec })
        })
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !self.inner.copies() {
            return Err(input_error("network: flows: QUIC stacks cannot be copied"));
        }
        Ok(self.clone())
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
        let ground = ground_links(station.as_array(), satellite.as_array(), km.as_array())?;
        let known = ground.iter().all(|link| {
            (link.station as usize) < self.spec.stations.len() && link.satellite < self.spec.satellites
        });
        if !known || laser_km.len() != self.spec.lasers.len() {
            return Err(input_error("arguments: links: must be those of the network, with all its lasers"));
        }
        py.detach(|| self.inner.follow(&Snapshot { laser_km: &laser_km, ground: &ground }));
        Ok(())
    }

    fn follow_all(&mut self, moments: &Moments, first: usize) -> PyResult<()> {
        moments.check(&self.spec, first).map_err(input_error)?;
        self.inner.follow_all(moments.inner.clone(), first);
        Ok(())
    }

    #[pyo3(signature = (until_s, *, check = None))]
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        until_s: f64,
        check: Option<Py<PyAny>>,
    ) -> PyResult<SeriesDicts<'py>> {
        if !(0.0..=1e9).contains(&until_s) {
            return Err(input_error(format!("arguments: until_s: must be from 0 to 1e9, not {until_s}")));
        }
        let until = (until_s * NANOS_PER_S).round() as Nanos;
        let series = checked(py, check, |stop| {
            self.inner.advance(until, stop)?;
            Ok(self.inner.take_series())
        })?;
        series_dicts(py, series)
    }

    fn choose_paths(&mut self, paths: PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let paths = paths.as_array();
        let known = paths.iter().all(|path| (-1..i64::from(self.spec.paths)).contains(path));
        if paths.len() != self.inner.flow_schemes().count() || !known {
            let rule = format!("must have an entry for each flow, from -1 to {}", self.spec.paths - 1);
            return Err(input_error(format!("arguments: paths: {rule}")));
        }
        for (flow, path) in paths.iter().enumerate() {
            if let Ok(path) = u32::try_from(*path) {
                self.inner.choose_path(flow, path);
            }
        }
        Ok(())
    }

    fn measure_paths<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let row = |state: PathState| {
            vec![state.base_rtt as f64 / 1e6, f64::from(state.hops), state.utilisation, state.share_bps / 1e6]
        };
        let rows: Vec<_> = self.inner.measure_paths().into_iter().map(row).collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
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
