//! Runs flows over a static link (50 ms, 1 BDP) and prints the delivered and the sent packets, for profilers.
//! Usage: `cell FLOWS RATE_MBPS SECONDS [QUEUE [SCHEME [RANDOM_LOSS]]]`; SCHEME may be the folder of a policy.

use std::path::Path;
use std::sync::Arc;

use leo_control::Policy;
use leo_sim::{PolicySet, RUN_ON, Scenario, Simulation, TraceSet};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flows, rate, seconds, options @ ..] = arguments.as_slice() else {
        return Err("usage: cell FLOWS RATE_MBPS SECONDS [QUEUE [SCHEME [RANDOM_LOSS]]]".into());
    };
    let queue = options.first().map_or("droptail", String::as_str);
    let mut scheme = options.get(1).map_or("cubic", String::as_str);
    let loss = options.get(2).map_or("0", String::as_str);
    let mut interval_ns = 1_000_000_000;
    let mut policies = PolicySet::new();
    if Path::new(scheme).is_dir() {
        let policy = Policy::load(Path::new(scheme))?;
        scheme = "policy";
        interval_ns = policy.interval_ns();
        policies.insert(scheme.to_owned(), Arc::new(policy));
    }
    let text = format!(
        r#"{{"duration_s": {seconds},
            "links": {{"b": {{"rate_mbps": {rate}, "delay_ms": 25, "loss": {loss}, "queue": {{"kind": "{queue}", "bdp": 1}}}}}},
            "flows": [{{"scheme": "{scheme}", "route": ["b"], "count": {flows}}}]}}"#
    );
    let scenario = Scenario::from_json(&text)?;
    let mut simulation = Simulation::new(&scenario, &TraceSet::new(), &policies, interval_ns, 0, RUN_ON)?;
    simulation.run(RUN_ON)?;
    let log = simulation.run_log();
    let sent: u64 = log.flows.iter().map(|flow| flow.sent_packets).sum();
    println!("{} {sent}", log.links[0].delivered_packets);
    Ok(())
}
