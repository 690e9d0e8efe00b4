//! Properties of all scenarios: conservation, causality, bounds and determinism.

use crate::support::{
    MS, PACKET_BITS, assert_conserved, dumbbell, run, run_many, run_over, simulation, text, trace, traced,
    traces,
};
use leo_sim::{BbrSeries, FlowSeries, LinkSeries, RUN_ON, RunLog, TraceSet};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The number of cases, unless `PROPTEST_CASES` overrides it.
fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(default))
}

/// A percentile of RTTs is so far from its value at most, as a part of it.
const BUCKET: f64 = 1.0 / 512.0;

/// A socket buffer (minimum, default, maximum) or none.
fn buffer() -> impl Strategy<Value = Option<[u64; 3]>> {
    let sizes =
        (4_096_u64..200_000, 0_u64..10_000_000).prop_map(|(default, more)| [4_096, default, default + more]);
    prop::option::weighted(0.2, sizes)
}

/// One to three links in a row and one to six flows over any part of them, some with a reroute.
fn scenarios(duration_s: f64) -> impl Strategy<Value = (Value, TraceSet)> {
    let size = prop_oneof![
        3 => (0.1..8.0).prop_map(|bdp| json!({"bdp": bdp})),
        1 => (1_u64..500).prop_map(|packets| json!({"packets": packets})),
        1 => (1_500_u64..500_000).prop_map(|bytes| json!({"bytes": bytes})),
        1 => Just(json!({})),
    ];
    let kind = prop_oneof![
        Just("droptail"),
        prop::sample::select(vec![
            "head_drop",
            "gateway",
            "sfq",
            "codel",
            "fq_codel",
            "pie",
            "fq_pie",
            "cake",
            "dualpi2"
        ]),
    ];
    let queue = (size, kind).prop_map(|(mut queue, kind)| {
        queue["kind"] = json!(kind);
        if kind == "codel" || kind == "pie" {
            queue["ecn"] = json!(true);
        }
        queue
    });
    let loss = prop_oneof![2 => Just(0.0), 1 => 0.0..0.05];
    let medium = prop_oneof![
        3 => (1.0..150.0_f64, prop_oneof![3 => Just(0_u32), 1 => 1_500_u32..600_000])
            .prop_map(|(delay, burst)| json!({"delay_ms": delay, "burst_bytes": burst})),
        1 => (0.0..5.0).prop_map(|offset: f64| json!({"trace": "path", "offset_s": offset})),
    ];
    let rate = prop_oneof![1.0..20.0, 1.0..200.0];
    // From a reverse path that a few ACKs fill to one that carries data.
    let reverse = (0.02..50.0_f64, loss.clone(), queue.clone())
        .prop_map(|(rate, loss, queue)| json!({"rate_mbps": rate, "loss": loss, "queue": queue}));
    let link = (rate, medium, loss, queue, prop::option::weighted(0.4, reverse)).prop_map(
        |(rate, mut link, loss, queue, reverse)| {
            link["rate_mbps"] = json!(rate);
            link["loss"] = json!(loss);
            link["queue"] = queue;
            link["reverse"] = json!(reverse);
            link
        },
    );
    let scheme = prop::sample::select([leo_sim::SCHEMES, &["oracle", "policy", "agent"]].concat());
    let length = || 0.001..0.5_f64;
    let bursts = (length(), length(), prop::sample::select(vec!["constant", "exponential"]))
        .prop_map(|(on, off, distribution)| json!({"on_s": on, "off_s": off, "distribution": distribution}));
    let writer = prop_oneof![1 => Just("udp"), 1 => scheme.clone()];
    let cross = (writer, 0.01..300.0_f64, prop::option::of(bursts))
        .prop_map(|(scheme, rate, on_off)| json!({"scheme": scheme, "rate_mbps": rate, "on_off": on_off}));
    let transfer = (scheme.clone(), prop_oneof![1_u64..5_000, 1_u64..1_000_000])
        .prop_map(|(scheme, bytes)| json!({"scheme": scheme, "transfer_bytes": bytes}));
    let size = prop::sample::select(vec!["constant", "exponential", "pareto"]);
    let arrivals = (scheme.clone(), 1.0..60.0_f64, 1_u64..100_000, size).prop_map(
        |(scheme, rate, bytes, distribution)| {
            let arrivals = json!({"rate_per_s": rate, "mean_bytes": bytes, "distribution": distribution});
            // Agent flows cannot arrive at random.
            json!({"scheme": if scheme == "agent" { "reno" } else { scheme }, "arrivals": arrivals})
        },
    );
    let endless = scheme.prop_map(|scheme| json!({"scheme": scheme}));
    let source = prop_oneof![10 => endless, 2 => transfer, 1 => arrivals, 2 => cross];
    let extra = prop_oneof![Just(0.0), 0.0..50.0];
    let ecn = prop::sample::select(vec![
        json!(false),
        json!(true),
        json!("accurate"),
        json!({"sender": "accurate", "receiver": "classic"}),
    ]);
    let flow = (
        source,
        0.0..0.97 * duration_s,
        prop::option::of(0.0001..0.75 * duration_s),
        extra,
        any::<(prop::sample::Index, prop::sample::Index)>(),
        (1_u32..3, prop::bool::weighted(0.3), ecn, [buffer(), buffer()]),
    );
    let parts = (50 * MS..2_000 * MS, 5 * MS..80 * MS, 0_u64..100, prop::bool::weighted(0.8));
    (
        prop::collection::vec(link, 1..4),
        prop::collection::vec(flow, 1..5),
        prop::collection::vec(parts, 1..6).prop_map(|mut parts| {
            // A trace needs capacity at some time.
            parts.push((500 * MS, 20 * MS, 50, true));
            parts
        }),
        any::<(u64, bool)>(),
        prop_oneof![Just(0.0), 0.0..500.0],
        prop::collection::vec((0.0..duration_s, any::<[prop::sample::Index; 3]>()), 0..3),
    )
        .prop_map(move |(links, flows, parts, (seed, handshake), jitter, reroutes)| {
            let names: Vec<String> = (0..links.len()).map(|index| format!("link{index}")).collect();
            let mut flows: Vec<Value> = flows
                .into_iter()
                .map(|(mut flow, start, length, extra, (from, to), (count, backward, ecn, [rmem, wmem]))| {
                    let (from, to) = (from.index(names.len()), to.index(names.len()));
                    flow["start_s"] = json!(start);
                    flow["stop_s"] = json!(length.map(|length| start + length));
                    flow["route"] = json!(names[from.min(to)..=from.max(to)]);
                    flow["extra_delay_ms"] = json!(extra);
                    flow["count"] = json!(count);
                    if flow["scheme"] != "udp" {
                        flow["ecn"] = ecn;
                        flow["tcp_rmem"] = json!(rmem);
                        flow["tcp_wmem"] = json!(wmem.filter(|_| flow["rate_mbps"].is_null()));
                    }
                    flow["direction"] = json!(if backward { "backward" } else { "forward" });
                    flow
                })
                .collect();
            let events: Vec<Value> = reroutes
                .into_iter()
                .map(|(at_s, [flow, from, to])| {
                    let (from, to) = (from.index(names.len()), to.index(names.len()));
                    let route = &names[from.min(to)..=from.max(to)];
                    json!({"at_s": at_s, "reroute": {"flows": [flow.index(flows.len())], "route": route}})
                })
                .collect();
            let links: serde_json::Map<String, Value> = names.into_iter().zip(links).collect();
            turn_where_nothing_limits(&mut flows, &events, &links);
            let scenario = json!({
                "duration_s": duration_s,
                "seed": seed,
                "host_jitter_us": jitter,
                "handshake": handshake,
                "telemetry_header_bytes": 12 * (seed % 2),
                "telemetry_hop_bytes": 28 * (seed % 2),
                "links": links,
                "flows": flows,
                "events": events,
            });
            (scenario, traces(trace(&parts)))
        })
}

/// Turn backward flows forward if a route of theirs has no queue on the reverse path.
fn turn_where_nothing_limits(flows: &mut [Value], events: &[Value], links: &serde_json::Map<String, Value>) {
    let limited = |route: &Value| {
        let mut names = route.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.any(|name| !links[name]["reverse"].is_null())
    };
    for (index, flow) in flows.iter_mut().enumerate() {
        let mut later =
            events.iter().map(|event| &event["reroute"]).filter(|reroute| reroute["flows"][0] == index);
        if !limited(&flow["route"]) || later.any(|reroute| !limited(&reroute["route"])) {
            flow["direction"] = json!("forward");
        }
    }
}

fn assert_sound(log: &RunLog) {
    assert_conserved(log);
    for flow in &log.flows {
        assert!(flow.delivered_packets <= flow.sent_packets, "{flow:?}");
        assert!(flow.retransmitted_packets <= flow.sent_packets, "{flow:?}");
        assert!(flow.stop_s >= flow.start_s && flow.stop_s <= 4.0, "{flow:?}");
        // Without samples, the mean is NaN.
        assert!(flow.delay_inflation.is_nan() || flow.delay_inflation >= 1.0, "{flow:?}");
        assert!(flow.rtt_mean_ms.is_nan() || flow.rtt_mean_ms >= flow.base_rtt_mean_ms, "{flow:?}");
        if let (Some(bytes), Some(completion_s)) = (flow.transfer_bytes, flow.completion_s) {
            assert_eq!(flow.delivered_packets, bytes.div_ceil(1_448), "{flow:?}");
            assert!((flow.goodput_mbps * completion_s * 125e3 - bytes as f64).abs() < 0.01, "{flow:?}");
            assert!(
                completion_s * 1e3 >= flow.base_rtt_mean_ms || flow.base_rtt_mean_ms.is_nan(),
                "{flow:?}"
            );
        }
        assert!(flow.goodput_mbps.is_nan() || flow.goodput_mbps >= 0.0, "{flow:?}");
    }
    let series = &log.flow_series;
    let rows = series.time_s.len();
    assert!(series.cwnd_packets.iter().all(|&cwnd| cwnd >= 1));
    assert_eq!([series.flow.len(), series.rtt_ms.len(), series.cwnd_packets.len()], [rows; 3]);
    assert!(series.time_s.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(log.link_series.time_s.windows(2).all(|pair| pair[0] <= pair[1]));
}

proptest! {
    #![proptest_config(cases(10_000))]
    #[test]
    fn any_scenario_conserves_packets_and_keeps_its_bounds((scenario, traces) in scenarios(0.6)) {
        let mut steps = simulation(&scenario, &traces, 100 * MS);
        while !steps.is_finished() {
            let before = steps.now();
            steps.run_interval(RUN_ON).expect("nobody stops it");
            prop_assert!(steps.now() > before);
        }
        assert_sound(&steps.run_log());
    }
}

proptest! {
    #![proptest_config(cases(150))]
    #[test]
    fn any_scenario_conserves_packets_and_repeats_bit_for_bit((scenario, traces) in scenarios(4.0)) {
        let build = || simulation(&scenario, &traces, 100 * MS);
        let mut steps = build();
        while !steps.is_finished() {
            let before = steps.now();
            steps.run_interval(RUN_ON).expect("nobody stops it");
            prop_assert!(steps.now() > before);
            assert_sound(&steps.run_log());
        }
        let expected = text(&steps.run_log());
        let alone = run_many(vec![build()], 1);
        prop_assert_eq!(&text(&alone[0]), &expected);
        for log in run_many((0..4).map(|_| build()).collect(), 3) {
            prop_assert_eq!(&text(&log), &expected);
        }
        let mut other = scenario.clone();
        other["seed"] = json!(scenario["seed"].as_u64().map(|seed| seed ^ 1));
        let other = run_many(vec![simulation(&other, &traces, 100 * MS)], 1);
        // All arrivals may come after the end with both seeds.
        if !alone[0].flows.is_empty() {
            prop_assert_ne!(text(&other[0]), expected);
        }
    }

    #[test]
    fn shortcuts_change_nothing((scenario, traces) in scenarios(4.0)) {
        let short = run_many(vec![simulation(&scenario, &traces, 100 * MS)], 1);
        let long = run_many(vec![simulation(&scenario, &traces, 100 * MS).without_shortcuts()], 1);
        prop_assert_eq!(text(&short[0]), text(&long[0]));
    }

    #[test]
    fn a_run_that_is_advanced_piece_by_piece_gives_the_same_rows_one_after_the_other(
        (scenario, traces) in scenarios(2.0),
        piece in 1_u64..900 * MS,
    ) {
        let mut whole = simulation(&scenario, &traces, 50 * MS);
        whole.run(RUN_ON).expect("nobody stops it");
        let mut whole = whole.run_log();
        let mut pieces = simulation(&scenario, &traces, 50 * MS);
        let (mut flows, mut links) = (FlowSeries::default(), LinkSeries::default());
        let mut bbr = BbrSeries::default();
        while !pieces.is_finished() {
            pieces.advance(pieces.now() + piece.max(MS), RUN_ON).expect("nobody stops it");
            let (flow_rows, link_rows, bbr_rows) = pieces.take_series();
            bbr.bw_mbps.extend(bbr_rows.bw_mbps);
            flows.time_s.extend(flow_rows.time_s);
            flows.flow.extend(flow_rows.flow);
            flows.goodput_mbps.extend(flow_rows.goodput_mbps);
            flows.cwnd_packets.extend(flow_rows.cwnd_packets);
            links.time_s.extend(link_rows.time_s);
            links.delivered_mbps.extend(link_rows.delivered_mbps);
            links.queue_packets.extend(link_rows.queue_packets);
        }
        let (log, whole_series) = (pieces.run_log(), (&whole.flow_series, &whole.link_series));
        prop_assert!(log.flow_series.time_s.is_empty() && log.link_series.time_s.is_empty());
        prop_assert_eq!(&bbr.bw_mbps, &whole.bbr_series.bw_mbps);
        prop_assert_eq!(&flows.time_s, &whole_series.0.time_s);
        prop_assert_eq!(&flows.flow, &whole_series.0.flow);
        prop_assert_eq!(&flows.goodput_mbps, &whole_series.0.goodput_mbps);
        prop_assert_eq!(&flows.cwnd_packets, &whole_series.0.cwnd_packets);
        prop_assert_eq!(&links.time_s, &whole_series.1.time_s);
        prop_assert_eq!(&links.delivered_mbps, &whole_series.1.delivered_mbps);
        prop_assert_eq!(&links.queue_packets, &whole_series.1.queue_packets);
        (whole.flow_series, whole.link_series) = (log.flow_series.clone(), log.link_series.clone());
        whole.bbr_series = log.bbr_series.clone();
        prop_assert_eq!(text(&log), text(&whole));
    }

    #[test]
    fn a_flow_alone_never_waits_longer_than_the_buffer_takes_to_drain(
        scheme in prop::sample::select(leo_sim::SCHEMES.to_vec()),
        rate in 10.0_f64..200.0,
        delay in 10.0_f64..150.0,
        bdp in 0.1_f64..4.0,
        seed in any::<u64>(),
    ) {
        let mut scenario = dumbbell(rate, delay, 8.0, &[scheme]);
        scenario["seed"] = json!(seed);
        scenario["links"]["b"]["queue"] = json!({"bdp": bdp});
        let log = run(&scenario, 0);
        let flow = &log.flows[0];
        let packet_ms = PACKET_BITS / (rate * 1e3);
        let queue_ms = (bdp * 2.0 * delay / packet_ms).round().max(1.0) * packet_ms;
        // The packet itself, the one that its ACK waits for, and 20 µs of jitter at each host. A lone packet's ACK waits for
        // 40 ms, which is too rare for this percentile.
        let most = 2.0 * delay + queue_ms + 2.0 * packet_ms + 0.04;
        let bounds = 2.0 * delay * (1.0 - BUCKET)..=most * (1.0 + BUCKET);
        prop_assert!(bounds.contains(&flow.rtt_p95_ms), "{} outside {bounds:?}", flow.rtt_p95_ms);
        prop_assert!(flow.delay_inflation >= 1.0, "{flow:?}");
        prop_assert!(flow.normalized_goodput > 0.0 && flow.normalized_goodput <= 1.0, "{flow:?}");
    }
}

#[test]
fn a_flow_shorter_than_the_hosts_jitter_starts_before_it_stops() {
    // Starts have up to 1 ms of jitter; this flow lives for 10 µs.
    for seed in 0..50 {
        let mut scenario = dumbbell(10.0, 5.0, 1.0, &["cubic", "cubic"]);
        scenario["seed"] = json!(seed);
        scenario["flows"][0]["start_s"] = json!(0.5);
        scenario["flows"][0]["stop_s"] = json!(0.50001);
        scenario["flows"][1]["start_s"] = json!(0.9999);
        let log = run(&scenario, 0);
        for flow in &log.flows {
            assert!(flow.start_s < flow.stop_s, "{flow:?}");
            assert_eq!(flow.sent_packets, 10, "the initial window");
        }
    }
}

#[test]
fn packets_of_a_flow_that_stopped_still_leave_the_links() {
    let scenario = json!({
        "duration_s": 4.0,
        "links": {"a": {"rate_mbps": 50, "delay_ms": 20}, "b": {"rate_mbps": 10, "delay_ms": 20}},
        "flows": [{"scheme": "cubic", "route": ["a", "b"], "stop_s": 2.0}],
    });
    let log = run(&scenario, 0);
    for link in &log.links {
        assert_eq!((link.queued_packets, link.in_flight_packets), (0, 0), "{link:?}");
        assert_eq!(link.offered_packets, link.delivered_packets + link.dropped_packets);
    }
    let (first, second) = (&log.links[0], &log.links[1]);
    assert_eq!(first.delivered_packets, second.offered_packets);
    assert!(
        log.flows[0].delivered_packets < second.delivered_packets,
        "what came after the stop is not counted"
    );
}

#[test]
fn what_was_measured_of_a_flow_outlives_the_memory_that_it_gives_back() {
    let flow = |duration_s: f64| {
        let mut scenario = dumbbell(20.0, 20.0, duration_s, &["cubic"]);
        scenario["flows"][0]["stop_s"] = json!(2.0);
        run(&scenario, 0).flows.remove(0)
    };
    let (ended, cut) = (flow(4.0), flow(2.0));
    assert!(ended.rtt_p95_ms > ended.rtt_mean_ms, "{ended:?}");
    assert_eq!(format!("{ended:?}"), format!("{cut:?}"));
}

#[test]
fn count_stands_for_as_many_equal_flows() {
    let flows = |flows: Value| {
        let mut scenario = dumbbell(30.0, 20.0, 3.0, &[]);
        scenario["flows"] = flows;
        text(&run(&scenario, 100 * MS))
    };
    let flow = json!({"scheme": "reno", "route": ["b"], "start_s": 0.5});
    assert_eq!(
        flows(json!([{"scheme": "reno", "route": ["b"], "start_s": 0.5, "count": 3}])),
        flows(json!([flow, flow, flow]))
    );
}

#[test]
fn the_series_has_a_row_for_each_interval_to_the_very_end() {
    let log = run(&dumbbell(10.0, 10.0, 2.0, &["cubic"]), 500 * MS);
    assert_eq!(log.flow_series.time_s, [0.5, 1.0, 1.5, 2.0]);
    assert_eq!(log.link_series.time_s, [0.5, 1.0, 1.5, 2.0]);
    let goodput: f64 = log.flow_series.goodput_mbps.iter().sum::<f64>() / 4.0;
    let summary = log.flows[0].goodput_mbps * (log.flows[0].stop_s - log.flows[0].start_s) / 2.0;
    assert!((goodput / summary - 1.0).abs() < 1e-9, "{goodput} against {summary}");
}

#[test]
fn an_outage_across_the_wrap_stops_traffic_for_as_long_as_it_lasts() {
    // Down from 1.9 s to 2.2 s in every 2 s: the replay wraps during the outage.
    let path = trace(&[
        (200 * MS, 20 * MS, 10, false),
        (1_700 * MS, 20 * MS, 10, true),
        (100 * MS, 20 * MS, 10, false),
    ]);
    let mut scenario = traced(json!({"packets": 50}), 8.0, &["cubic"]);
    scenario["links"]["b"]["offset_s"] = json!(1.0);
    let log = run_over(path, &scenario, 100 * MS);
    let series = &log.link_series;
    for row in 0..series.time_s.len() {
        let (mbps, connected, capacity) =
            (series.delivered_mbps[row], series.connected[row], series.capacity_mbps[row]);
        // Rows close intervals of 0.1 s; the outage lasts from 0.9 s to 1.2 s and repeats every 2 s.
        let down = (9..=11).contains(&(row % 20));
        assert_eq!((!connected, capacity == 0.0), (down, down), "row {row}");
        assert!(!down || mbps == 0.0, "row {row}: {mbps} Mbit/s during the outage");
    }
    let flow = &log.flows[0];
    assert!((flow.capacity_mbps - 8.5).abs() < 0.01, "an outage has no capacity: {}", flow.capacity_mbps);
    assert!(flow.normalized_goodput > 0.6, "{flow:?}");
}

#[test]
fn looking_at_a_run_does_not_change_it() {
    // Telemetry reports queues at the time when packets left them, not at the time of a query.
    for kind in ["droptail", "head_drop", "codel", "fq_pie", "cake", "dualpi2"] {
        let mut scenario = dumbbell(5.42, 42.3, 4.0, &["bbr", "bbr", "leotcp"]);
        scenario["links"]["b"]["queue"] = json!({"kind": kind, "bdp": 3.35});
        let mut steps = simulation(&scenario, &TraceSet::new(), 100 * MS);
        while !steps.is_finished() {
            steps.run_interval(RUN_ON).expect("nobody stops it");
            assert_sound(&steps.run_log());
        }
        assert_eq!(text(&steps.run_log()), text(&run(&scenario, 100 * MS)), "{kind}");
    }
}

#[test]
fn an_rtt_is_compared_with_the_path_of_the_packet_that_was_acknowledged() {
    // A receiver delays the ACK of packets after a gap, and sends it before that of a packet that must not
    // share it: the path became shorter in between. The simulator asserts that no RTT is below its path's.
    let path = trace(&[(1_310_972_741, 44_515_856, 0, true), (500 * MS, 20 * MS, 50, true)]);
    let scenario = json!({
        "duration_s": 0.6,
        "seed": 12_478_916_926_747_079_164_u64,
        "host_jitter_us": 465.386_277_280_697_1,
        "links": {
            "link0": {
                "rate_mbps": 50.187_812_614_644_76, "trace": "path", "offset_s": 2.708_465_109_762_253_4,
                "loss": 0.024_899_177_769_178_677, "queue": {"bdp": 0.1},
            },
            "link1": {"rate_mbps": 1.0, "delay_ms": 1.0, "queue": {"bdp": 0.1}},
        },
        "flows": [
            {"scheme": "bbr", "route": ["link1"]},
            {"scheme": "bbr", "count": 2, "extra_delay_ms": 28.012_218_287_477_396, "route": ["link0"],
             "start_s": 0.414_990_660_705_936_74},
            {"scheme": "satcp", "count": 2, "rate_mbps": 67.148_975_191_339_35, "route": ["link0"],
             "start_s": 0.029_944_511_441_175_28},
            {"scheme": "bbr", "route": ["link0"], "start_s": 0.579_993_191_295_226_2},
        ],
    });
    run_over(path, &scenario, 100 * MS);
}
