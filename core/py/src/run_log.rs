//! `leosim.RunLog`.

use leo_sim::{FlowSeries, LinkSeries};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What a run measured.
#[pyclass(frozen, module = "leosim")]
pub struct RunLog {
    pub inner: leo_sim::RunLog,
}

/// Set `dict[name]` to each field of the same name.
macro_rules! fields {
    ($dict:ident, $from:expr, $($name:ident),+ $(,)?) => {{
        let from = $from;
        $($dict.set_item(stringify!($name), from.$name.clone())?;)+
    }};
}

/// Move each column into an array in `dict[name]`.
macro_rules! columns {
    ($py:ident, $dict:ident, $from:expr, $($name:ident),+ $(,)?) => {{
        let from = $from;
        $($dict.set_item(stringify!($name), from.$name.into_pyarray($py))?;)+
    }};
}

pub fn flow_columns<'py>(py: Python<'py>, series: FlowSeries) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(
        py,
        dict,
        series,
        time_s,
        flow,
        goodput_mbps,
        send_mbps,
        rtt_ms,
        base_rtt_ms,
        cwnd_packets,
        in_flight_packets,
        pacing_mbps,
        lost_packets,
        retransmitted_packets,
    );
    Ok(dict)
}

pub fn link_columns<'py>(py: Python<'py>, series: LinkSeries) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(
        py,
        dict,
        series,
        time_s,
        link,
        capacity_mbps,
        delay_ms,
        queue_packets,
        connected,
        dropped_packets,
        delivered_mbps,
    );
    Ok(dict)
}

#[pymethods]
impl RunLog {
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (index, flow) in self.inner.flows.iter().enumerate() {
            let dict = PyDict::new(py);
            dict.set_item("flow", index)?;
            fields!(
                dict,
                flow,
                scheme,
                start_s,
                stop_s,
                goodput_mbps,
                capacity_mbps,
                normalized_goodput,
                rtt_mean_ms,
                rtt_p95_ms,
                base_rtt_mean_ms,
                delay_inflation,
                loss_rate,
                retransmit_rate,
                power,
                sent_packets,
                delivered_packets,
                retransmitted_packets,
                lost_packets,
                rtos,
                transfer_bytes,
                completion_s,
            );
            list.append(dict)?;
        }
        Ok(list)
    }

    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for link in &self.inner.links {
            let dict = PyDict::new(py);
            dict.set_item("link", &link.link)?;
            dict.set_item("offered_packets", link.stats.offered)?;
            dict.set_item("delivered_packets", link.stats.delivered)?;
            dict.set_item("dropped_packets", link.stats.dropped)?;
            dict.set_item("marked_packets", link.stats.marked)?;
            dict.set_item("lost_packets", link.stats.lost)?;
            dict.set_item("queued_packets", link.queued_packets)?;
            dict.set_item("in_flight_packets", link.in_flight_packets)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    #[getter]
    fn flow_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        flow_columns(py, self.inner.flow_series.clone())
    }

    #[getter]
    fn link_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        link_columns(py, self.inner.link_series.clone())
    }

    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.inner.links.iter().map(|link| link.link.as_str()).collect()
    }
}
