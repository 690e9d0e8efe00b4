//! The scheme `oracle`: all of the capacity, no queue, no loss, on any path.

use leo_link::{Event, OneWay, PathTrace, Row, Stretch};
use leo_sim::RunLog;
use serde_json::json;

use crate::support::{MS, SECOND, dumbbell, run, run_over, trace, traced};

fn alone(path: PathTrace) -> RunLog {
    run_over(path, &traced(json!({"bdp": 1.0}), 20.0, &["oracle"]), 100 * MS)
}

fn longest_queue(log: &RunLog) -> u32 {
    log.link_series.queue_packets.iter().copied().max().unwrap_or(0)
}

#[test]
fn a_static_path_is_full_from_the_first_round_trip_and_its_queue_empty() {
    let log = run(&dumbbell(100.0, 25.0, 20.0, &["oracle"]), 100 * MS);
    let flow = &log.flows[0];
    // 25 ms of 20 s pass before the first packet arrives. An RTT adds a packet's transmission of 0.12 ms, mostly that of
    // the packet which the delayed acknowledgement waits for, and 10 us of the host's noise.
    assert!((flow.normalized_goodput - (1.0 - 0.025 / 20.0)).abs() < 1e-4, "{flow:?}");
    assert!((50.13 / 50.0..50.25 / 50.0).contains(&flow.delay_inflation), "{flow:?}");
    assert_eq!((flow.lost_packets, longest_queue(&log)), (0, 1));
    // A window of 100 Mbit/s over 50 ms is 417 packets.
    assert!(log.flow_series.cwnd_packets.iter().all(|&window| window == 417));
    assert!(log.flow_series.pacing_mbps.iter().all(|rate| (rate - 100.0 * 1448.0 / 1500.0).abs() < 0.01));
}

#[test]
fn steps_of_rate_and_delay_and_outages_cost_no_packet() {
    let parts = [
        (3_000 * MS, 20 * MS, 50, true),
        (3_000 * MS, 20 * MS, 10, true),
        (2_900 * MS, 60 * MS, 90, true),
        (100 * MS, 60 * MS, 90, false),
        (2_000 * MS, 25 * MS, 90, true),
    ];
    let log = alone(trace(&parts));
    let flow = &log.flows[0];
    assert_eq!((flow.lost_packets, flow.rtos), (0, 0), "{flow:?}");
    assert!(flow.power > 0.98, "{flow:?}");
}

#[test]
fn a_handover_that_drops_what_is_on_a_stretch_finds_it_empty() {
    let row = |time_ns, delay_ns, event| Row {
        event,
        ..Row::alike(time_ns, OneWay { delay_ns, rate_bps: 50_000_000, loss: 0.0, connected: true })
    };
    let stretch = Stretch { from_us: 4_000, to_us: 15_000 };
    let rows = vec![row(0, 20 * MS, Event::None), row(SECOND, 18 * MS, Event::SoftHandover(stretch))];
    let log = alone(PathTrace { rows, period_ns: 2 * SECOND, ..PathTrace::default() });
    assert_eq!((log.flows[0].lost_packets, log.links[0].lost_packets), (0, 0));
    // The capacity of the 11 ms before each of the handovers is out of reach.
    assert!((log.flows[0].normalized_goodput - (1.0 - 0.011 / 2.0)).abs() < 2e-3, "{:?}", log.flows[0]);
}

#[test]
fn packets_meet_the_frames_of_a_link_that_sends_in_bursts() {
    // 5 ms at 90 Mbit/s, then 15 ms of silence; every packet goes out with the frame that it was sent for.
    let log = alone(trace(&[(5 * MS, 30 * MS, 90, true), (15 * MS, 30 * MS, 0, true)]));
    let flow = &log.flows[0];
    assert!(flow.normalized_goodput > 0.99, "{flow:?}");
    // Every second frame ends with a packet whose acknowledgement waits for the next one.
    assert!(flow.delay_inflation < 1.02, "{flow:?}");
}

#[test]
fn oracles_take_turns_at_their_link_as_they_come_and_go() {
    let flow = |start: f64, stop: f64, extra: f64| json!({"scheme": "oracle", "route": ["b"], "start_s": start, "stop_s": stop, "extra_delay_ms": extra});
    let mut scenario = dumbbell(40.0, 10.0, 20.0, &[]);
    // The last is 15 ms farther away.
    scenario["flows"] = json!([flow(0.0, 20.0, 0.0), flow(5.0, 20.0, 0.0), flow(10.0, 15.0, 15.0)]);
    let log = run(&scenario, SECOND);
    assert!(
        log.flows.iter().all(|flow| flow.lost_packets == 0 && flow.delay_inflation < 1.06),
        "{:?}",
        log.flows
    );
    for (second, flows) in [(3.0, 1.0), (8.0, 2.0), (13.0, 3.0), (18.0, 2.0)] {
        let rows = log.flow_series.time_s.iter().zip(&log.flow_series.goodput_mbps);
        let goodputs: Vec<f64> =
            rows.filter(|(time, _)| **time == second).map(|(_, goodput)| *goodput).collect();
        let share = 40.0 * 1448.0 / 1500.0 / flows;
        assert!(
            goodputs.iter().all(|goodput| (goodput - share).abs() < 0.02 * share),
            "{second} s: {goodputs:?}"
        );
    }
    // Three pairs at most: one of each flow.
    assert!(longest_queue(&log) <= 6, "{}", longest_queue(&log));
}

#[test]
fn a_route_of_many_links_goes_at_the_rate_of_the_narrowest_whatever_the_others_carry() {
    let scenario = json!({
        "duration_s": 20.0,
        "links": {
            "a": {"rate_mbps": 60, "delay_ms": 10},
            "b": {"rate_mbps": 20, "delay_ms": 10},
            "c": {"rate_mbps": 60, "delay_ms": 10},
            "d": {"rate_mbps": 30, "delay_ms": 5},
        },
        "flows": [{"scheme": "oracle", "route": ["a", "b", "c"]}, {"scheme": "oracle", "route": ["a"]}],
        "events": [{"at_s": 10, "reroute": {"flows": [0], "route": ["d"]}}],
    });
    let log = run(&scenario, 100 * MS);
    assert!(log.links.iter().all(|link| link.dropped_packets == 0), "{:?}", log.links);
    assert!(log.flows[0].normalized_goodput > 0.998, "{:?}", log.flows[0]);
    assert!(longest_queue(&log) <= 4, "{}", longest_queue(&log));
}

#[test]
fn whatever_an_application_writes_goes_at_once_and_all_of_a_transfer_arrives() {
    let reverse = json!({"rate_mbps": 5, "queue": {"packets": 100}});
    let scenario = json!({
        "duration_s": 10.0,
        "handshake": true,
        "links": {"b": {"rate_mbps": 20, "delay_ms": 20, "loss": 0.01, "reverse": reverse}},
        "flows": [
            {"scheme": "oracle", "route": ["b"], "rate_mbps": 4, "on_off": {"on_s": 0.4, "off_s": 0.6}},
            {"scheme": "oracle", "route": ["b"], "transfer_bytes": 1_000_000, "ecn": true},
            {"scheme": "oracle", "route": ["b"], "tcp_rmem": [4096, 131_072, 6_291_456], "stop_s": 5},
            {"scheme": "oracle", "route": ["b"], "direction": "backward"},
            {"scheme": "oracle", "route": ["b"], "arrivals": {"rate_per_s": 5, "mean_bytes": 20_000}},
        ],
    });
    let log = run(&scenario, SECOND);
    let mut transfers = log.flows.iter().filter(|flow| flow.transfer_bytes.is_some());
    assert!(transfers.all(|flow| flow.completion_s.is_some() || flow.start_s > 9.0), "{:?}", log.flows);
    assert!(log.flows[0].delivered_packets > 500, "{:?}", log.flows[0]);
}
