//! `leosim.Moments`.

use std::sync::Arc;

use leo_sim::{ConstellationSpec, GroundLink, Nanos};
use numpy::ndarray::{ArrayView1, s};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::interval;

/// The links of a network over time.
#[pyclass(frozen, module = "leosim")]
pub struct Moments {
    pub inner: Arc<leo_sim::Moments>,
}

type Ints<'py> = Bound<'py, PyArray1<i64>>;
/// The arguments of the constructor.
type Arguments<'py> =
    (f64, Bound<'py, PyArray2<f64>>, Ints<'py>, Ints<'py>, Ints<'py>, Bound<'py, PyArray1<f64>>);

/// Return the ground links between stations and satellites, if pairs rise.
///
/// # Errors
/// Lengths differ, a node is negative, or pairs do not rise.
pub fn ground_links(
    station: ArrayView1<'_, i64>,
    satellite: ArrayView1<'_, i64>,
    km: ArrayView1<'_, f64>,
) -> PyResult<Vec<GroundLink>> {
    if station.len() != satellite.len() || station.len() != km.len() {
        return Err(input_error("arguments: station, satellite and km: must have one length"));
    }
    let node =
        |node: i64| u32::try_from(node).map_err(|_| input_error("arguments: a node: must not be negative"));
    let ends = station.iter().zip(&satellite).zip(&km);
    let links: Vec<GroundLink> = ends
        .map(|((&station, &satellite), &km)| {
            Ok(GroundLink { station: node(station)?, satellite: node(satellite)?, km })
        })
        .collect::<PyResult<_>>()?;
    let rises = links.is_sorted_by(|one, next| (one.station, one.satellite) < (next.station, next.satellite));
    if rises { Ok(links) } else { Err(input_error("arguments: pairs of station and satellite: must rise")) }
}

impl Moments {
    /// Check that the moments from `first` on are those of a network, and last as long as its run.
    pub fn check(&self, spec: &ConstellationSpec, first: usize) -> Result<(), String> {
        let moments = &self.inner;
        let [stations, satellites] = moments.nodes();
        let known = stations as usize <= spec.stations.len() && satellites <= spec.satellites;
        if !known || moments.lasers() != spec.lasers.len() {
            return Err("arguments: moments: have other links than the network".to_owned());
        }
        let needed = ((spec.duration_s * 1e9).round() as Nanos).div_ceil(moments.interval()) as usize;
        if first.saturating_add(needed) > moments.count() {
            return Err(format!(
                "arguments: moments: {} from number {first} on are too few for {} s",
                moments.count(),
                spec.duration_s
            ));
        }
        Ok(())
    }
}

#[pymethods]
impl Moments {
    #[new]
    fn new(
        interval_ms: f64,
        laser_km: PyReadonlyArray2<'_, f64>,
        links: PyReadonlyArray1<'_, i64>,
        station: PyReadonlyArray1<'_, i64>,
        satellite: PyReadonlyArray1<'_, i64>,
        km: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let laser_km = laser_km.as_array();
        let (station, satellite, km) = (station.as_array(), satellite.as_array(), km.as_array());
        let (mut ground, mut ends) = (Vec::new(), Vec::new());
        for &count in links.as_array() {
            let range =
                ground.len()..ground.len().saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
            if range.end > station.len() {
                break;
            }
            let part = s![range];
            ground.extend(ground_links(station.slice(part), satellite.slice(part), km.slice(part))?);
            ends.push(ground.len());
        }
        if ends.is_empty() || ends.len() != laser_km.nrows() || ground.len() != station.len() {
            return Err(input_error("arguments: links: must count the ground links of each moment"));
        }
        let interval = interval("interval_ms", interval_ms, 0.1)?;
        let lengths = laser_km.iter().copied().collect();
        let inner = leo_sim::Moments::new(interval, laser_km.ncols(), lengths, ground, ends);
        Ok(Self { inner: Arc::new(inner) })
    }

    fn __len__(&self) -> usize {
        self.inner.count()
    }

    // Nothing changes moments, so copies share them.
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Arguments<'py>)> {
        let py = slf.py();
        let moments = &slf.get().inner;
        let (mut laser_km, mut links, mut ground) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..moments.count() {
            let snapshot = moments.snapshot(index);
            laser_km.push(snapshot.laser_km.to_vec());
            links.push(snapshot.ground.len() as i64);
            ground.extend_from_slice(snapshot.ground);
        }
        let ints = |node: fn(&GroundLink) -> u32| {
            PyArray1::from_iter(py, ground.iter().map(|link| i64::from(node(link))))
        };
        let arguments = (
            moments.interval() as f64 / 1e6,
            PyArray2::from_vec2(py, &laser_km)?,
            PyArray1::from_vec(py, links),
            ints(|link| link.station),
            ints(|link| link.satellite),
            PyArray1::from_iter(py, ground.iter().map(|link| link.km)),
        );
        Ok((slf.get_type().into_any(), arguments))
    }
}
