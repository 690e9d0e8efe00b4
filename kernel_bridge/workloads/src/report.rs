//! What a flow's user felt, by the names of the run log's columns, and what the runner needs besides.

use leo_workload::{Call, Client, Nanos};
use serde::Serialize;
use serde_json::{Value, json};

use crate::clock::Clock;

/// A connection's times; none if it was never opened.
#[derive(Debug, Serialize)]
pub struct Times {
    /// When it was opened.
    pub start_ns: Nanos,
    /// When it was closed.
    pub stop_ns: Nanos,
}

/// The program's result.
#[derive(Debug, Serialize)]
pub struct Report {
    /// How long the program slept although it had something to do.
    pub late_ns: Nanos,
    /// Times of each connection.
    pub connections: Vec<Option<Times>>,
    /// Columns of the run log, for the flow of the first connection.
    pub columns: Value,
}

impl Report {
    pub fn new(clock: &Clock, connections: Vec<Option<Times>>, columns: Value) -> Self {
        Self { late_ns: clock.late(), connections, columns }
    }
}

/// Return what the user of a video or page has felt until `now`.
pub fn of_client(client: &Client, now: Nanos) -> Value {
    match client {
        Client::Video(player) => {
            let seen = player.summary(now);
            json!({
                "workload": "video",
                "startup_s": seen.startup.map(seconds),
                "rebuffer_s": seconds(seen.rebuffering),
                "rebuffers": seen.rebuffers,
                "bitrate_mbps": seen.bitrate_mbps,
                "switches": seen.switches,
                "qoe": seen.qoe,
            })
        }
        Client::Page(page) => json!({ "workload": "page", "page_load_s": page.load_time().map(seconds) }),
    }
}

/// Return what the users of a call have felt until `now`, after `duration`.
pub fn of_call(call: &Call, now: Nanos, duration: Nanos) -> Value {
    let seen = call.summary(now);
    let [p50, p95, p99] = [0, 1, 2].map(|place| seen.delays.map(|delays| delays[place] / 1e6));
    json!({
        "workload": "call",
        "bitrate_mbps": (duration > 0).then(|| call.received_bytes() as f64 * 8e3 / duration as f64),
        "freezes": seen.freezes,
        "freeze_s": seconds(seen.frozen),
        "delay_p50_ms": p50,
        "delay_p95_ms": p95,
        "delay_p99_ms": p99,
        "delivered_packets": call.received(),
    })
}

fn seconds(time: Nanos) -> f64 {
    time as f64 / 1e9
}
