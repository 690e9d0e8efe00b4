//! `leosim.plan_links` and `leosim.world`: a scenario's links for runs outside the simulator.

use leo_link::{Schedule, Span, Stop, Watch};
use leo_sim::{Interrupted, Nanos, Scenario};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::{Traces, trace_set};
use crate::signals::interruptible;

type Array<'py, T> = Bound<'py, PyArray1<T>>;
type Times<'py> = PyReadonlyArray1<'py, i64>;

/// The plan of a scenario's link over the run.
#[pyclass(frozen, module = "leosim")]
pub struct LinkPlan {
    inner: leo_sim::LinkPlan,
    /// Both directions from a start on; equal neighbors are merged.
    spans: Vec<(Nanos, Span, Back)>,
}

/// The reverse direction, which has no queue and so no capacity to plan for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Back {
    delay: Nanos,
    connected: bool,
}

impl LinkPlan {
    fn new(inner: leo_sim::LinkPlan, duration: Nanos, stop: Stop<'_>) -> Result<Self, Interrupted> {
        let mut watch = Watch::new(stop);
        let mut spans: Vec<(Nanos, Span, Back)> = Vec::new();
        let mut now = 0;
        while spans.is_empty() || now < duration {
            watch.unit()?;
            let (span, back) = (inner.schedule.at(now), inner.back.at(now));
            let end = span.end.min(back.end);
            let (span, back) =
                (Span { end: 0, ..span }, Back { delay: back.delay, connected: back.connected });
            if spans.last().is_none_or(|&(_, last, last_back)| (last, last_back) != (span, back)) {
                spans.push((now, span, back));
            }
            now = end;
        }
        Ok(Self { inner, spans })
    }

    fn of_spans<'py, T: numpy::Element>(&self, py: Python<'py>, get: impl Fn(&Span) -> T) -> Array<'py, T> {
        PyArray1::from_iter(py, self.spans.iter().map(|(_, span, _)| get(span)))
    }

    fn carried(&self, from: i64, to: i64) -> f64 {
        let early_ns = to.min(0) - from.min(0);
        let first = &self.spans[0].1;
        let early = if first.connected { first.rate_bps as f64 * early_ns as f64 * 1e-9 } else { 0.0 };
        early + self.inner.schedule.capacity_bits(nanos(from), nanos(to))
    }
}

fn nanos(time_ns: i64) -> Nanos {
    time_ns.max(0).unsigned_abs()
}

#[pymethods]
impl LinkPlan {
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn start_ns<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        PyArray1::from_iter(py, self.spans.iter().map(|(start, ..)| *start as i64))
    }

    #[getter]
    fn delay_ns<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        self.of_spans(py, |span| span.delay as i64)
    }

    #[getter]
    fn rate_bps<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        self.of_spans(py, |span| span.rate_bps as i64)
    }

    #[getter]
    fn loss<'py>(&self, py: Python<'py>) -> Array<'py, f64> {
        // A packet must survive two independent losses.
        self.of_spans(py, |span| 1.0 - (1.0 - span.loss) * (1.0 - self.inner.loss))
    }

    #[getter]
    fn connected<'py>(&self, py: Python<'py>) -> Array<'py, bool> {
        self.of_spans(py, |span| span.connected)
    }

    #[getter]
    fn back_delay_ns<'py>(&self, py: Python<'py>) -> Array<'py, i64> {
        PyArray1::from_iter(py, self.spans.iter().map(|(.., back)| back.delay as i64))
    }

    #[getter]
    fn back_connected<'py>(&self, py: Python<'py>) -> Array<'py, bool> {
        PyArray1::from_iter(py, self.spans.iter().map(|(.., back)| back.connected))
    }

    #[getter]
    fn varies(&self) -> bool {
        self.spans.len() > 1
    }

    #[getter]
    fn loss_seed(&self) -> u64 {
        self.inner.loss_seed
    }

    #[getter]
    fn limit_packets(&self) -> Option<u64> {
        Some(self.inner.limit.packets).filter(|&packets| packets < u64::MAX)
    }

    #[getter]
    fn limit_bytes(&self) -> Option<u64> {
        Some(self.inner.limit.bytes).filter(|&bytes| bytes < u64::MAX)
    }

    fn delay_at<'py>(&self, py: Python<'py>, time_ns: Times<'py>) -> Array<'py, i64> {
        delay_at(py, &self.inner.schedule, &time_ns)
    }

    fn back_delay_at<'py>(&self, py: Python<'py>, time_ns: Times<'py>) -> Array<'py, i64> {
        delay_at(py, &self.inner.back, &time_ns)
    }

    fn capacity_bits<'py>(
        &self,
        py: Python<'py>,
        from_ns: Times<'py>,
        to_ns: Times<'py>,
    ) -> PyResult<Array<'py, f64>> {
        over(py, &from_ns, &to_ns, |from, to| self.carried(from, to))
    }

    fn stays_connected<'py>(
        &self,
        py: Python<'py>,
        from_ns: Times<'py>,
        to_ns: Times<'py>,
    ) -> PyResult<Array<'py, bool>> {
        // An empty interval is the instant at which it begins.
        let connected = |from: Nanos, to: Nanos| self.inner.schedule.stays_connected(from, to.max(from + 1));
        over(py, &from_ns, &to_ns, |from, to| connected(nanos(from), nanos(to)))
    }
}

/// Return the delay at each of `time_ns`; times before the run get the initial delay.
fn delay_at<'py>(py: Python<'py>, schedule: &Schedule, time_ns: &Times<'py>) -> Array<'py, i64> {
    let at = |&time: &i64| schedule.at(nanos(time)).delay as i64;
    PyArray1::from_iter(py, time_ns.as_array().iter().map(at))
}

/// A value for each interval.
fn over<'py, T: numpy::Element>(
    py: Python<'py>,
    from_ns: &Times<'py>,
    to_ns: &Times<'py>,
    get: impl Fn(i64, i64) -> T + Sync + Send,
) -> PyResult<Array<'py, T>> {
    let (from_ns, to_ns) = (from_ns.as_array(), to_ns.as_array());
    let values = interruptible(py, |stop| {
        let mut watch = Watch::new(stop);
        let intervals = from_ns.into_iter().zip(to_ns);
        let values = intervals.map(|(&from, &to)| watch.unit().map(|()| get(from, to)));
        Ok(values.collect::<Result<Vec<_>, _>>()?)
    })?;
    Ok(PyArray1::from_vec(py, values))
}

/// Plan the links of a scenario, sorted by name.
#[pyfunction]
pub fn plan_links(py: Python<'_>, scenario: &str, traces: Traces<'_>) -> PyResult<Vec<LinkPlan>> {
    let traces = trace_set(&traces);
    interruptible(py, |stop| {
        let scenario = Scenario::from_json(scenario)?;
        let duration = (scenario.duration_s * 1e9).round() as Nanos;
        let links = leo_sim::plan_links(&scenario, &traces, stop)?;
        Ok(links.into_iter().map(|link| LinkPlan::new(link, duration, stop)).collect::<Result<_, _>>()?)
    })
}

/// Return bottleneck capacity in bytes/s, propagation both ways in ns, bottleneck buffer in bytes and the bottleneck's
/// place in `route`, of which each link is given with the number of flows on it.
#[pyfunction]
pub fn world(route: Vec<(PyRef<'_, LinkPlan>, u32)>, time_ns: u64) -> PyResult<(f64, u64, u64, usize)> {
    let links = route.iter().map(|(link, flows)| {
        let link = &link.inner;
        (&link.schedule, &link.back, link.limit, *flows)
    });
    let (world, place) = leo_sim::world(links, time_ns);
    let place = place.ok_or_else(|| input_error("arguments: route: must have a link"))?;
    Ok((world.capacity_bytes_per_s, world.base_rtt_ns, world.buffer_bytes, place))
}
