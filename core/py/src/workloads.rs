//! `leosim.plan_workloads`, `leosim.play_video`, `leosim.google_congestion_control`.

use leo_sim::{Gcc, Nanos, Scenario};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::input_error;

#[pyfunction]
pub fn plan_workloads(scenario: &str) -> PyResult<Vec<Option<(String, u32)>>> {
    let scenario = Scenario::from_json(scenario).map_err(input_error)?;
    leo_sim::plan_workloads(&scenario).map_err(input_error)
}

#[pyfunction]
pub fn play_video<'py>(
    py: Python<'py>,
    video: &str,
    downloads_ns: Vec<Nanos>,
) -> PyResult<(Vec<f64>, Vec<f64>, Bound<'py, PyDict>)> {
    let mut player = leo_sim::player(video)
        .map_err(|broken| input_error(format!("video: {}: {}", broken.field, broken.rule)))?;
    let (mut bitrates_mbps, mut buffers_s) = (Vec::new(), Vec::new());
    let mut now = 0;
    player.start(0, now);
    for download_ns in downloads_ns {
        now = player.next_event();
        player.poll(now);
        bitrates_mbps.push(player.bitrate_mbps());
        now += download_ns;
        player.on_chunk(now);
        buffers_s.push(player.buffer() as f64 / 1e9);
    }
    let seen = player.summary(now);
    let summary = PyDict::new(py);
    summary.set_item("startup_s", seen.startup.map(|time| time as f64 / 1e9))?;
    summary.set_item("rebuffer_s", seen.rebuffering as f64 / 1e9)?;
    summary.set_item("rebuffers", seen.rebuffers)?;
    summary.set_item("bitrate_mbps", seen.bitrate_mbps)?;
    summary.set_item("switches", seen.switches)?;
    summary.set_item("qoe", seen.qoe)?;
    Ok((bitrates_mbps, buffers_s, summary))
}

/// Number, departure, arrival and bytes of a packet.
type Packet = (u64, Nanos, Nanos, u32);
/// Trend, threshold, usage and rate.
type State = (f64, f64, i8, u64);

#[pyfunction]
pub fn google_congestion_control(
    bitrates_bps: [u64; 3],
    reports: Vec<(Nanos, Nanos, Vec<Packet>)>,
) -> Vec<State> {
    let [start, min, max] = bitrates_bps;
    let mut gcc = Gcc::new(start, min, max);
    let states = reports.into_iter().map(|(now, rtt, packets)| {
        for (seq, left, arrived, bytes) in packets {
            gcc.on_arrival(seq, left, arrived, bytes);
        }
        gcc.update(now, rtt);
        let (trend, threshold_ms, usage) = gcc.state();
        (trend, threshold_ms, usage, gcc.rate_bps())
    });
    states.collect()
}
