//! Flows with workloads: over every scheme, with handshake, ECN, a congested reverse path and losses.

use crate::support::{dumbbell, run, text};
use serde_json::{Value, json};

fn page() -> Value {
    let object = |index: usize| {
        let after = if index == 0 { vec![] } else { vec![index / 4] };
        json!({"bytes": 5_000 * (index + 1), "after": after, "client_ms": 2.0, "server_ms": 10.0})
    };
    json!({"page": {"http": "http1", "objects": (0..24).map(object).collect::<Vec<_>>()}})
}

/// A link of 20 Mbit/s and 40 ms whose flow of `scheme` has the workload.
fn scenario(scheme: &str, workload: Value) -> Value {
    let mut scenario = dumbbell(20.0, 20.0, 60.0, &[scheme]);
    scenario["handshake"] = json!(true);
    scenario["flows"][0]["workload"] = workload;
    scenario
}

#[test]
fn every_scheme_plays_a_video_and_loads_a_page_and_losses_on_both_ways_only_delay_it() {
    for scheme in leo_sim::SCHEMES {
        let log = run(&scenario(scheme, json!({"video": {}})), 0);
        let video = &log.flows[0];
        assert!(video.startup_s.is_some_and(|startup_s| startup_s < 2.0), "{scheme}: {video:?}");
        assert!(video.bitrate_mbps.is_some_and(|mbps| mbps > 2.0), "{scheme}: {video:?}");
        let mut scenario = scenario(scheme, page());
        let clean = run(&scenario, 0).flows[0].page_load_s;
        // 1.5 MB take 0.6 s, and each of four generations two round trips and the server's time.
        assert!(clean.is_some_and(|seconds| (0.8..4.0).contains(&seconds)), "{scheme}: {clean:?}");
        scenario["links"]["b"]["loss"] = json!(0.02);
        scenario["links"]["b"]["reverse"] = json!({"rate_mbps": 20.0, "loss": 0.02});
        let lossy = run(&scenario, 0).flows[0].page_load_s;
        assert!(lossy.is_some_and(|seconds| seconds < 30.0), "{scheme}: {lossy:?}");
    }
}

#[test]
fn a_page_closes_its_connections_when_it_is_loaded_and_leaves_none_open_that_it_did_not_need() {
    let log = run(&scenario("cubic", page()), 100_000_000);
    let loaded = log.flows[0].page_load_s.expect("it loads");
    for flow in &log.flows {
        assert!(flow.stop_s <= log.flows[0].start_s + loaded + 1e-9, "{flow:?}");
        assert_eq!((flow.completion_s, flow.transfer_bytes), (None, None));
    }
    let alone = run(&scenario("cubic", json!({"page": {"objects": [{"bytes": 1_000}]}})), 100_000_000);
    assert_eq!(alone.flows.len(), 6);
    assert!(alone.flows[1..].iter().all(|flow| flow.sent_packets == 0 && flow.start_s <= 60.0 + 1e-9));
    assert!(alone.flow_series.flow.iter().all(|&flow| flow == 0));
}

#[test]
fn workloads_come_from_the_seed_and_run_beside_each_other() {
    let all = |seed: u64| {
        let mut scenario = dumbbell(10.0, 20.0, 30.0, &["cubic", "bbr", "gcc", "reno"]);
        scenario["seed"] = json!(seed);
        scenario["flows"][0]["workload"] = json!({"video": {"adaptation": "bola"}});
        scenario["flows"][0]["ecn"] = json!(true);
        scenario["flows"][1]["workload"] = page();
        scenario["flows"][1]["count"] = json!(2);
        scenario["flows"][2]["workload"] = json!({"call": {"start_mbps": 1.0}});
        scenario["flows"][2]["extra_delay_ms"] = json!(5.0);
        run(&scenario, 100_000_000)
    };
    let log = all(1);
    assert_eq!(log.flows.len(), 1 + 2 * 6 + 1 + 1);
    assert_eq!(log.flows.iter().filter(|flow| flow.page_load_s.is_some()).count(), 2);
    let call = &log.flows[13];
    assert!(call.delay_p50_ms.is_some_and(|delay_ms| delay_ms > 25.0), "{call:?}");
    assert!(log.flows[14].normalized_goodput > 0.2 && log.flows[14].workload.is_none());
    assert_eq!(text(&log), text(&all(1)));
    assert_ne!(text(&log), text(&all(2)));
}
