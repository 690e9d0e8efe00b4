//! What users of a flow's workload felt.

use leo_link::Nanos;
use leo_workload::Client as Kind;

use super::{FlowSummary, NS, NS_TO_MS};
use crate::client::Client;
use crate::flow::{Flow, Load};

/// Add the values of the flow's workload, if it has one, to its summary at `now`.
pub fn added(summary: FlowSummary, flow: &Flow, clients: &[Client], now: Nanos) -> FlowSummary {
    let seconds = |time: Nanos| time as f64 * NS;
    let now = now.min(flow.stop);
    match flow.load.as_deref() {
        Some(Load::Call(call)) => {
            let seen = call.summary(now);
            let [p50, p95, p99] = [0, 1, 2].map(|place| seen.delays.map(|delays| delays[place] * NS_TO_MS));
            FlowSummary {
                workload: Some("call".to_owned()),
                bitrate_mbps: Some(summary.goodput_mbps).filter(|mbps| mbps.is_finite()),
                freezes: Some(seen.freezes),
                freeze_s: Some(seconds(seen.frozen)),
                delay_p50_ms: p50,
                delay_p95_ms: p95,
                delay_p99_ms: p99,
                ..summary
            }
        }
        Some(Load::Connection(connection)) => match &clients[connection.client as usize].kind {
            Kind::Video(player) => {
                let seen = player.summary(now);
                FlowSummary {
                    workload: Some("video".to_owned()),
                    startup_s: seen.startup.map(seconds),
                    rebuffer_s: Some(seconds(seen.rebuffering)),
                    rebuffers: Some(seen.rebuffers),
                    bitrate_mbps: seen.bitrate_mbps,
                    switches: Some(seen.switches),
                    qoe: Some(seen.qoe),
                    ..summary
                }
            }
            Kind::Page(page) => FlowSummary {
                workload: Some("page".to_owned()),
                page_load_s: page.load_time().filter(|_| connection.place == 0).map(seconds),
                ..summary
            },
        },
        _ => summary,
    }
}
