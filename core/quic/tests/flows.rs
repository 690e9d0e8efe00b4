//! QUIC flows over the simulator's links.

use leo_sim::{FlowSummary, PolicySet, RUN_ON, RunLog, Scenario, Simulation, TraceSet};
use serde_json::{Value, json};

fn scenario(flows: &Value) -> Value {
    json!({
        "name": "quic",
        "seed": 1,
        "duration_s": 10.0,
        "links": {"bottleneck": {"delay_ms": 20.0, "rate_mbps": 20.0, "queue": {"bdp": 1.0}}},
        "flows": flows,
    })
}

fn run(scenario: &Value) -> RunLog {
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a valid scenario");
    let mut simulation =
        Simulation::new(&scenario, &TraceSet::new(), &PolicySet::new(), 30_000_000, 100_000_000, RUN_ON)
            .expect("a simulation");
    simulation.run(RUN_ON).expect("no interruption");
    simulation.run_log()
}

fn alone(scheme: &str) -> FlowSummary {
    run(&scenario(&json!([{"scheme": scheme, "route": ["bottleneck"]}]))).flows.swap_remove(0)
}

#[test]
fn quinn_fills_a_link_alone() {
    for scheme in ["quic:quinn-cubic", "quic:quinn-newreno"] {
        let flow = alone(scheme);
        println!("{flow:?}");
        // 1,452 bytes of UDP payload hold some 1,423 of the stream, in 1,480 bytes as IP packets.
        assert!((18.0..19.3).contains(&flow.goodput_mbps), "{flow:?}");
    }
}
