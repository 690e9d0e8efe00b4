//! Networks whose links and routes change: laws on random networks, and equality with fixed paths.

use std::sync::Arc;

use leo_sim::{
    ConstellationSpec, GroundLink, Moments, Nanos, PolicySet, RUN_ON, RunLog, Simulation, Snapshot,
};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use crate::support::{INTERVAL, MS, SECOND, assert_conserved, policies, run, text};

/// The links of a moment, as the tests write them.
#[derive(Clone, Debug)]
struct Moment {
    laser_km: Vec<f64>,
    ground: Vec<GroundLink>,
}

impl Moment {
    fn new(laser_km: Vec<f64>, ground: &[(u32, u32, f64)]) -> Self {
        let mut ground: Vec<GroundLink> =
            ground.iter().map(|&(station, satellite, km)| GroundLink { station, satellite, km }).collect();
        ground.sort_by_key(|link| (link.station, link.satellite));
        ground.dedup_by_key(|link| (link.station, link.satellite));
        Self { laser_km, ground }
    }

    fn snapshot(&self) -> Snapshot<'_> {
        Snapshot { laser_km: &self.laser_km, ground: &self.ground }
    }
}

fn network(spec: &Value, policies: &PolicySet, series: Nanos) -> Simulation {
    let spec = ConstellationSpec::from_json(&spec.to_string()).expect("the network is valid");
    Simulation::of_constellation(&spec, policies, INTERVAL, series, RUN_ON).expect("it can be built")
}

/// Run a network through its moments, one every `step`, and check the laws that hold for all.
fn through(mut simulation: Simulation, moments: &[Moment], step: Nanos) -> (Simulation, RunLog) {
    for (number, moment) in (1..).zip(moments) {
        simulation.follow(&moment.snapshot());
        simulation.advance(number * step, RUN_ON).expect("nobody stops it");
        let traffic = simulation.traffic();
        let gone = traffic.arrived + traffic.dropped + traffic.lost + traffic.unroutable;
        assert_eq!(traffic.sent, gone + traffic.inside, "{traffic:?}");
    }
    simulation.advance(simulation.end(), RUN_ON).expect("nobody stops it");
    let log = simulation.run_log();
    assert_conserved(&log);
    (simulation, log)
}

fn spec(satellites: u32, stations: &[&str], lasers: &[[u32; 2]], flows: Vec<Value>) -> Value {
    let transmitter = json!({"rate_mbps": 10, "queue": {"packets": 50}});
    json!({
        "name": "test", "duration_s": 10, "seed": 1, "host_jitter_us": 0, "handshake": false,
        "telemetry_header_bytes": 0, "telemetry_hop_bytes": 0,
        "satellites": satellites, "stations": stations, "lasers": lasers,
        "laser": transmitter, "uplink": {"rate_mbps": null}, "downlink": {"rate_mbps": null},
        "shared_ground": true, "vanished_links": "deliver", "flows": flows,
    })
}

/// Length of a link of so many ms.
fn km(ms: f64) -> f64 {
    ms * 299.792_45
}

/// When a flow starts after its `start_s`, in s, if `draws` come before its seed.
fn start_jitter_s(draws: usize) -> f64 {
    let mut seeds = Pcg64Mcg::seed_from_u64(1);
    let seed = (0..=draws).map(|_| seeds.next_u64()).last().expect("there is one");
    (seed % 1_000_000) as f64 * 1e-9
}

#[test]
fn two_flows_over_two_paths_have_the_results_of_a_scenario_with_these_paths() {
    let schemes = ["cubic", "westwood"];
    let start = |draws: usize| 0.01 - start_jitter_s(draws);
    let link = |delay_ms: u32| {
        json!({"rate_mbps": 10, "delay_ms": delay_ms, "queue": {"packets": 50},
               "reverse": {"rate_mbps": 10, "queue": {"packets": 50}}})
    };
    // The second flow moves to the first one's path, and its packets on the old path still arrive.
    // A scenario draws two seeds for each of its links before those of the flows.
    let scenario = json!({
        "duration_s": 10, "seed": 1, "host_jitter_us": 0, "links": {"far": link(25), "near": link(10)},
        "flows": [{"scheme": schemes[0], "route": ["near"], "start_s": start(4)},
                  {"scheme": schemes[1], "route": ["far"], "start_s": start(5)}],
        "events": [{"at_s": 5, "reroute": {"flows": [1], "route": ["near"]}}],
    });
    let expected = run(&scenario, 300 * MS);
    let flows = (0..2).map(|flow| {
        let route = [["a", "b"], ["c", "d"]][flow];
        json!({"scheme": schemes[flow], "route": route, "start_s": start(flow)})
    });
    let network = network(
        &spec(4, &["a", "b", "c", "d"], &[[0, 1], [2, 3]], flows.collect()),
        &PolicySet::new(),
        300 * MS,
    );
    let lasers = vec![km(10.0), km(25.0)];
    let apart = Moment::new(lasers.clone(), &[(0, 0, 0.0), (1, 1, 0.0), (2, 2, 0.0), (3, 3, 0.0)]);
    let together =
        Moment::new(lasers, &[(0, 0, 0.0), (1, 1, 0.0), (2, 0, 0.0), (2, 2, 0.0), (3, 1, 0.0), (3, 3, 0.0)]);
    let (_, log) = through(network, &[apart, together], 5 * SECOND);
    assert_eq!(format!("{:?}", log.flows), format!("{:?}", expected.flows));
    assert_eq!(format!("{:?}", log.flow_series), format!("{:?}", expected.flow_series));
}

#[test]
fn packets_on_a_link_that_vanishes_arrive_or_are_lost_as_the_network_says() {
    let outcome = |vanished: &str| {
        let mut spec = spec(
            3,
            &["a", "b"],
            &[[0, 1], [0, 2], [2, 1]],
            vec![json!({"scheme": "cubic", "route": ["a", "b"]})],
        );
        spec["vanished_links"] = json!(vanished);
        let ground = [(0, 0, km(2.0)), (1, 1, km(2.0))];
        let direct = Moment::new(vec![km(20.0), km(15.0), km(15.0)], &ground);
        let detour = Moment::new(vec![f64::INFINITY, km(15.0), km(15.0)], &ground);
        let (mut simulation, log) =
            through(network(&spec, &PolicySet::new(), 0), &[direct, detour], 5 * SECOND);
        let [pair] = &simulation.pairs()[..] else { panic!("there is one pair") };
        assert_eq!((pair.changes, pair.hops, pair.unreachable_s), (1, 4, 0.0));
        assert!((pair.rtt_min_ms - 48.0).abs() < 1e-3 && (pair.rtt_max_ms - 68.0).abs() < 1e-3, "{pair:?}");
        assert!(log.flows[0].normalized_goodput > 0.9, "{:?}", log.flows[0]);
        simulation.traffic().lost
    };
    assert_eq!(outcome("deliver"), 0);
    // The queue of 50 packets and those in flight are about 70.
    assert!((20..120).contains(&outcome("lose")), "{}", outcome("lose"));
}

#[test]
fn without_a_route_packets_are_dropped_and_the_time_counts_as_no_capacity() {
    let spec = spec(2, &["a", "b"], &[[0, 1]], vec![json!({"scheme": "reno", "route": ["a", "b"]})]);
    let ground = [(0, 0, km(2.0)), (1, 1, km(2.0))];
    let on = Moment::new(vec![km(10.0)], &ground);
    let off = Moment::new(vec![f64::INFINITY], &ground);
    let (mut simulation, log) =
        through(network(&spec, &PolicySet::new(), 0), &[on.clone(), off, on], 3 * SECOND);
    assert_eq!(simulation.pairs()[0].unreachable_s, 3.0);
    assert!((log.flows[0].capacity_mbps - 7.0).abs() < 0.01, "{:?}", log.flows[0]);
    assert!(simulation.traffic().unroutable > 0);
    assert!(log.flows[0].goodput_mbps > 5.0, "{:?}", log.flows[0]);
}

#[test]
fn stations_below_one_satellite_share_its_transmitter_unless_each_has_a_link_of_its_own() {
    let goodput = |shared: bool| {
        let routes = [["a", "b"], ["c", "d"]];
        let flows = routes.iter().map(|route| json!({"scheme": "cubic", "route": route}));
        let mut spec = spec(2, &["a", "b", "c", "d"], &[[0, 1]], flows.collect());
        spec["laser"]["rate_mbps"] = json!(100);
        spec["downlink"] = json!({"rate_mbps": 10, "queue": {"packets": 50}});
        spec["shared_ground"] = json!(shared);
        let ground = [(0, 0, km(2.0)), (1, 1, km(3.0)), (2, 0, km(4.0)), (3, 1, km(2.0))];
        let moment = Moment::new(vec![km(10.0)], &ground);
        let (_, log) = through(network(&spec, &PolicySet::new(), 0), &[moment], 10 * SECOND);
        log.flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>()
    };
    assert!((8.5..10.0).contains(&goodput(true)), "{}", goodput(true));
    assert!((17.0..20.0).contains(&goodput(false)), "{}", goodput(false));
}

#[test]
fn telemetry_crosses_satellites_with_links_of_their_own_and_is_refused_with_shared_ones() {
    let mut spec = spec(2, &["a", "b"], &[[0, 1]], vec![json!({"scheme": "leotcp", "route": ["a", "b"]})]);
    let text = |spec: &Value| ConstellationSpec::from_json(&spec.to_string()).expect("it is valid");
    let shared = Simulation::of_constellation(&text(&spec), &PolicySet::new(), INTERVAL, 0, RUN_ON);
    assert!(shared.err().is_some_and(|error| error.to_string().contains("set shared to false")));
    spec["shared_ground"] = json!(false);
    let moment = Moment::new(vec![km(10.0)], &[(0, 0, km(2.0)), (1, 1, km(2.0))]);
    let (_, log) = through(network(&spec, &PolicySet::new(), 0), &[moment], 10 * SECOND);
    assert!(log.flows[0].normalized_goodput > 0.8, "{:?}", log.flows[0]);
    assert!(log.flows[0].delay_inflation < 1.5, "{:?}", log.flows[0]);
}

#[test]
fn telemetry_sees_the_last_link_of_a_route_of_twenty() {
    let satellites = 19;
    let lasers: Vec<_> = (1..satellites).map(|satellite| [satellite - 1, satellite]).collect();
    let flow = json!({"scheme": "leotcp", "route": ["a", "b"]});
    let mut spec = spec(satellites, &["a", "b"], &lasers, vec![flow]);
    spec["shared_ground"] = json!(false);
    spec["laser"]["rate_mbps"] = json!(100);
    spec["downlink"] = json!({"rate_mbps": 10, "queue": {"packets": 500}});
    let moment = Moment::new(vec![km(2.0); lasers.len()], &[(0, 0, km(2.0)), (1, satellites - 1, km(2.0))]);
    let (_, log) = through(network(&spec, &PolicySet::new(), 0), &[moment], 10 * SECOND);
    assert!(log.flows[0].normalized_goodput > 0.8, "{:?}", log.flows[0]);
    assert!(log.flows[0].delay_inflation < 1.2, "{:?}", log.flows[0]);
}

#[test]
fn a_flow_between_stations_that_the_file_does_not_have_is_one_line() {
    let spec = spec(1, &["a"], &[], vec![json!({"scheme": "cubic", "route": ["a", "b"]})]);
    let spec = ConstellationSpec::from_json(&spec.to_string()).expect("its parts are valid");
    let built = Simulation::of_constellation(&spec, &PolicySet::new(), INTERVAL, 0, RUN_ON);
    let error = built.err().expect("b is unknown").to_string();
    assert_eq!(error, "test: flows.0.route: no station is named \"b\"");
}

const SATELLITES: u32 = 7;
const STATIONS: [&str; 4] = ["a", "b", "c", "d"];

fn moment(lasers: usize) -> impl Strategy<Value = Moment> {
    let laser = prop_oneof![1 => Just(f64::INFINITY), 5 => 300.0_f64..4_000.0];
    let ground = (0..STATIONS.len() as u32, 0..SATELLITES, 500.0_f64..1_500.0);
    (prop::collection::vec(laser, lasers), prop::collection::vec(ground, 3..14))
        .prop_map(|(laser_km, ground)| Moment::new(laser_km, &ground))
}

fn transmitter() -> impl Strategy<Value = Value> {
    let rate = prop_oneof![Just(json!(2)), Just(json!(8)), Just(Value::Null)];
    let loss = prop_oneof![4 => Just(0.0), 1 => Just(0.02)];
    (rate, loss, 2_u32..40).prop_map(
        |(rate, loss, packets)| json!({"rate_mbps": rate, "loss": loss, "queue": {"packets": packets}}),
    )
}

fn flow() -> impl Strategy<Value = Value> {
    let scheme = prop::sample::select(vec!["cubic", "reno", "bbr", "bbr3", "vegas", "copa", "policy", "udp"]);
    let ends = (0..STATIONS.len(), 1..STATIONS.len());
    let size = prop_oneof![Just(Value::Null), (1_u32..200_000).prop_map(|bytes| json!(bytes))];
    (scheme, ends, size, 0.0_f64..0.3).prop_map(|(scheme, (from, step), size, start_s)| {
        let route = [STATIONS[from], STATIONS[(from + step) % STATIONS.len()]];
        let mut flow = json!({"scheme": scheme, "route": route, "start_s": start_s});
        if scheme == "udp" {
            flow["rate_mbps"] = json!(1);
        } else if !size.is_null() {
            flow["transfer_bytes"] = size;
        }
        flow
    })
}

fn random_network() -> impl Strategy<Value = (Value, Vec<Moment>)> {
    let laser = (0..SATELLITES, 1..SATELLITES).prop_map(|(from, step)| [from, (from + step) % SATELLITES]);
    let choices =
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<u64>(), prop::sample::select(vec![0, 200]));
    let transmitters = (transmitter(), transmitter(), transmitter());
    let flows = prop::collection::vec(flow(), 1..6);
    (prop::collection::vec(laser, 4..14), transmitters, flows, choices).prop_flat_map(
        |(lasers, (laser, uplink, downlink), flows, (shared, lose, handshake, seed, jitter))| {
            let moments = prop::collection::vec(moment(lasers.len()), 2..6);
            let mut spec = spec(SATELLITES, &STATIONS, &lasers, flows);
            spec["duration_s"] = json!(0.5);
            (spec["laser"], spec["uplink"], spec["downlink"]) = (laser, uplink, downlink);
            // Nothing else stops flows from growing where no link is congested.
            spec["uplink"]["rate_mbps"] = json!(5);
            spec["shared_ground"] = json!(shared);
            spec["vanished_links"] = json!(if lose { "lose" } else { "deliver" });
            spec["handshake"] = json!(handshake);
            spec["seed"] = json!(seed);
            spec["host_jitter_us"] = json!(jitter);
            (Just(spec), moments)
        },
    )
}

proptest! {
    // Debug assertions check that no packet overtakes another on an unchanged route, and that none is faster than light.
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn on_random_networks_no_packet_vanishes_overtakes_or_outruns_light((spec, moments) in random_network()) {
        through(network(&spec, &policies(), 0), &moments, 100 * MS);
    }
}

/// Run a network through its moments and return all that it measures, on so many threads.
fn measured(spec: &Value, moments: &[Moment], threads: usize) -> String {
    let simulation = network(spec, &policies(), 50 * MS).on_threads(threads);
    let (mut simulation, log) = through(simulation, moments, 100 * MS);
    format!("{} {:?} {:?}", text(&log), simulation.traffic(), simulation.pairs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_networks_have_the_same_results_on_any_number_of_threads(
        (mut spec, moments) in random_network(), threads in 2_usize..9, paths in 1_u32..3,
        queue in prop::sample::select(vec!["droptail", "fq_codel", "pie"]),
    ) {
        spec["paths"] = json!(paths);
        for kind in ["laser", "uplink"] {
            spec[kind]["queue"]["kind"] = json!(queue);
        }
        spec["shared_ground"] = json!(spec["shared_ground"] == json!(true) && queue == "droptail");
        prop_assert_eq!(measured(&spec, &moments, 1), measured(&spec, &moments, threads));
    }
}

/// A ring of satellites with losses and a detour that comes and goes, loaded by flows that start with a handshake.
fn ring(vanished: &str, schemes: &[&str]) -> (Value, Vec<Moment>) {
    let stations = ["a", "b", "c", "d"];
    let lasers: Vec<[u32; 2]> = (0..12).map(|satellite| [satellite, (satellite + 1) % 12]).collect();
    let flows = (0..12).map(|flow| {
        let route = [stations[flow % 4], stations[(flow + 1 + flow / 4) % 4]];
        json!({"scheme": schemes[flow % schemes.len()], "route": route, "start_s": 0.02 * flow as f64})
    });
    let mut spec = spec(12, &stations, &lasers, flows.collect());
    (spec["duration_s"], spec["handshake"], spec["vanished_links"]) =
        (json!(2), json!(true), json!(vanished));
    (spec["laser"]["loss"], spec["shared_ground"]) = (json!(0.001), json!(false));
    spec["uplink"] = json!({"rate_mbps": 5, "queue": {"packets": 40}});
    let ground: Vec<(u32, u32, f64)> = (0..4)
        .flat_map(|station| [(station, 3 * station, 600.0), (station, 3 * station + 1, 900.0)])
        .collect();
    let moment = |off: usize, length_km: f64| {
        let lasers = (0..12).map(|laser| if laser == off { f64::INFINITY } else { length_km });
        Moment::new(lasers.collect(), &ground[off % 2..])
    };
    (spec, (0..20).map(|number| moment(number * 5 % 12, 900.0 + 10.0 * number as f64)).collect())
}

#[test]
fn a_network_with_losses_and_reroutes_has_the_same_bytes_on_1_2_3_and_7_threads() {
    for (vanished, schemes) in [
        ("lose", &["cubic", "bbr3", "policy"][..]),
        ("deliver", &["cubic", "bbr3"]),
        ("deliver", &["leotcp"]),
    ] {
        let (spec, moments) = ring(vanished, schemes);
        let expected = measured(&spec, &moments, 1);
        for threads in [2, 3, 7] {
            let log = measured(&spec, &moments, threads);
            assert!(log == expected, "{vanished}, {schemes:?}: {threads} threads differ from 1");
        }
    }
}

#[test]
fn a_network_on_threads_that_is_stopped_goes_on_to_the_same_results() {
    let (spec, moments) = ring("lose", &["cubic", "bbr3"]);
    let results = |stops: bool| {
        let mut simulation = network(&spec, &PolicySet::new(), 50 * MS).on_threads(3);
        simulation.follow_all(known(&moments, 100 * MS), 0);
        let mut stopped = 0;
        while simulation.run(&|| stops).is_err() {
            stopped += 1;
        }
        (stopped, text(&simulation.run_log()))
    };
    let ((stopped, log), (_, expected)) = (results(true), results(false));
    assert!(stopped > 5, "stopped {stopped} times only");
    assert_eq!(log, expected);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let spec = spec(2, &["a", "b"], &[[0, 1]], vec![json!({"scheme": "bbr", "route": ["a", "b"]})]);
    let moment = Moment::new(vec![km(10.0)], &[(0, 0, km(2.0)), (1, 1, km(2.0))]);
    let log = || {
        text(&through(network(&spec, &PolicySet::new(), 100 * MS), std::slice::from_ref(&moment), SECOND).1)
    };
    assert_eq!(log(), log());
}

/// The core's own course through moments, for networks whose links are known ahead.
fn known(moments: &[Moment], interval: Nanos) -> Arc<Moments> {
    let laser_km = moments.iter().flat_map(|moment| moment.laser_km.clone()).collect();
    let ground: Vec<GroundLink> = moments.iter().flat_map(|moment| moment.ground.clone()).collect();
    let mut ends = Vec::new();
    for moment in moments {
        ends.push(ends.last().unwrap_or(&0) + moment.ground.len());
    }
    Arc::new(Moments::new(interval, moments[0].laser_km.len(), laser_km, ground, ends))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_network_that_knows_its_links_ahead_runs_as_one_that_is_led_and_no_law_depends_on_routing(
        (mut spec, moments) in random_network(), paths in 1_u32..4, loads in any::<bool>(),
    ) {
        spec["paths"] = json!(paths);
        if loads {
            spec["by_load"] = json!({"period_ms": 100, "most": 3});
        }
        let moments: Vec<Moment> = moments.iter().cycle().take(5).cloned().collect();
        let (_, led) = through(network(&spec, &policies(), 50 * MS), &moments, 100 * MS);
        let mut ahead = network(&spec, &policies(), 50 * MS);
        ahead.follow_all(known(&moments, 100 * MS), 0);
        ahead.advance(ahead.end() / 3, RUN_ON).expect("nobody stops it");
        ahead.run(RUN_ON).expect("nobody stops it");
        prop_assert_eq!(text(&led), text(&ahead.run_log()));
    }
}

/// Stations a above satellites 0 and 2, b above 1 and 3. From 0 to 1 there is a laser, and a detour over 2 and 3.
fn diamond(flows: Vec<Value>) -> (Value, Moment) {
    let spec = spec(4, &["a", "b"], &[[0, 1], [2, 3], [0, 2], [1, 3]], flows);
    let lasers = [4.0, 6.0, 1.0, 1.0].map(km).to_vec();
    (spec, Moment::new(lasers, &[(0, 0, km(2.0)), (0, 2, km(9.0)), (1, 1, km(2.0)), (1, 3, km(9.0))]))
}

#[test]
fn the_paths_of_a_pair_share_no_link_and_those_beyond_are_the_first_ones_again() {
    let (mut spec, moment) = diamond(vec![json!({"scheme": "cubic", "route": ["a", "b"]})]);
    spec["paths"] = json!(4);
    let mut simulation = network(&spec, &PolicySet::new(), 0);
    simulation.follow(&moment.snapshot());
    let nodes: Vec<Vec<u32>> = simulation.routes().into_iter().map(|(nodes, _)| nodes).collect();
    assert_eq!(nodes[..2], [vec![4, 0, 1, 5], vec![4, 2, 3, 5]]);
    assert_eq!(nodes[2..], nodes[..2]);
}

#[test]
fn a_flow_that_changes_to_another_path_loses_nothing_and_has_its_delay() {
    let (mut spec, moment) = diamond(vec![json!({"scheme": "cubic", "route": ["a", "b"]})]);
    (spec["paths"], spec["flow_paths"]) = (json!(2), json!([0]));
    let mut simulation = network(&spec, &PolicySet::new(), SECOND);
    simulation.follow(&moment.snapshot());
    simulation.advance(5 * SECOND, RUN_ON).expect("nobody stops it");
    let before = simulation.measure_paths();
    simulation.choose_path(0, 1);
    simulation.advance(10 * SECOND, RUN_ON).expect("nobody stops it");
    let after = simulation.measure_paths();
    assert!(before[0].utilisation > 0.8 && before[1].utilisation < 1e-9, "{before:?}");
    assert!(after[0].utilisation < 0.05 && after[1].utilisation > 0.9, "{after:?}");
    let traffic = simulation.traffic();
    assert_eq!((traffic.lost, traffic.unroutable), (0, 0), "{traffic:?}");
}

#[test]
fn routes_by_load_part_two_flows_that_shortest_paths_send_over_one_laser() {
    let goodput = |loads: bool| {
        let flow = |route: [&str; 2]| json!({"scheme": "cubic", "route": route});
        let (mut spec, moment) = diamond(vec![flow(["a", "b"]), flow(["c", "d"])]);
        spec["stations"] = json!(["a", "b", "c", "d"]);
        if loads {
            // Only the second flow leaves the laser: the detour is twice as long for the first.
            spec["by_load"] = json!({"period_ms": 500, "most": 2});
        }
        let ground =
            [(0, 0), (1, 1), (2, 0), (3, 3)].map(|(station, satellite)| (station, satellite, km(2.0)));
        let moments = vec![Moment::new(moment.laser_km, &ground); 20];
        let (_, log) = through(network(&spec, &PolicySet::new(), 0), &moments, 500 * MS);
        log.flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>()
    };
    assert!((8.5..10.0).contains(&goodput(false)), "{}", goodput(false));
    assert!(goodput(true) > 11.0, "{}", goodput(true));
}
