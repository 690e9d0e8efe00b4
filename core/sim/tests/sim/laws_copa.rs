//! Copa's behavior on constant paths (Arun and Balakrishnan, NSDI 2018) and on changing routes.

use crate::support::{MS, dumbbell, goodput, goodputs, mean, run, run_over, trace, traced};
use serde_json::json;

#[test]
fn copa_alone_fills_the_link_and_its_queue_is_a_few_packets_that_drain_every_five_round_trips() {
    // §3: with δ = 0.5, the queue oscillates between 0 and 2.5/δ = 5 packets in about five round trips.
    let log = run(&dumbbell(100.0, 25.0, 40.0, &["copa"]), MS);
    let steady = 15_000..40_000;
    let mean_goodput = mean(&log.flow_series.goodput_mbps[steady.clone()]);
    assert!(mean_goodput > 0.99 * 100.0 * 1_448.0 / 1_500.0, "{mean_goodput}");
    // Means over 10 ms, without the packet in transmission.
    let queues: Vec<f64> = log.link_series.queue_packets[steady]
        .chunks(10)
        .map(|packets| f64::from(packets.iter().sum::<u32>()) / 10.0 - 1.0)
        .collect();
    assert!((0.5..3.5).contains(&mean(&queues)), "{} packets", mean(&queues));
    assert!(queues.iter().all(|&queue| queue < 7.0), "{:?}", queues.iter().copied().fold(0.0, f64::max));
    // §2.2: the queue is nearly empty at least once per five round trips (250 ms).
    for cycle in queues.windows(25) {
        assert!(cycle.iter().any(|&queue| queue < 1.5), "{cycle:?}");
    }
}

#[test]
fn copa_flows_share_a_link_equally() {
    // §3: every flow's rate converges to 1/(δ dq), and all see the same queue.
    for flows in [2, 4] {
        let mut sums = vec![0.0; flows];
        for seed in 0..4 {
            let mut scenario = dumbbell(100.0, 25.0, 120.0, &vec!["copa"; flows]);
            scenario["seed"] = json!(seed);
            let log = run(&scenario, 0);
            let goodputs = goodputs(&log);
            let (low, high) = goodputs
                .iter()
                .fold((f64::MAX, 0.0_f64), |(low, high), &goodput| (low.min(goodput), high.max(goodput)));
            assert!(low > 0.7 * high && goodputs.iter().sum::<f64>() > 90.0, "{goodputs:?}");
            for (sum, goodput) in sums.iter_mut().zip(&goodputs) {
                *sum += goodput / 4.0;
            }
        }
        let share = 96.0 / flows as f64;
        assert!(sums.iter().all(|sum| (sum / share - 1.0).abs() < 0.15), "{sums:?}");
    }
}

#[test]
fn copa_is_fairer_to_long_paths_than_reno() {
    // §5: the target rate does not depend on the RTT, here 20 ms and 100 ms.
    let ratio = |scheme: &str| {
        let mut scenario = dumbbell(50.0, 10.0, 60.0, &[scheme, scheme]);
        scenario["flows"][1]["extra_delay_ms"] = json!(40.0);
        let log = run(&scenario, 0);
        log.flows[1].goodput_mbps / log.flows[0].goodput_mbps
    };
    let (copa, reno) = (ratio("copa"), ratio("reno"));
    assert!(copa > 0.4 && reno < 0.3, "{copa} {reno}");
}

#[test]
fn random_loss_does_not_slow_copa_down() {
    // Abstract: "robust to non-congestive loss"; the default mode ignores losses.
    let mut scenario = dumbbell(100.0, 25.0, 60.0, &["copa"]);
    scenario["links"]["b"]["loss"] = json!(0.05);
    let log = run(&scenario, 0);
    // Such a link can carry 95 %.
    assert!(log.flows[0].normalized_goodput > 0.9, "{:?}", log.flows[0]);
}

#[test]
fn copa_competes_with_cubic_where_vegas_starves() {
    // Abstract: Copa "co-exists well with Cubic"; §2.2: by its competitive mode.
    let share = |scheme: &str| {
        let log = run(&dumbbell(100.0, 25.0, 120.0, &[scheme, "cubic"]), 0);
        log.flows[0].goodput_mbps / (log.flows[0].goodput_mbps + log.flows[1].goodput_mbps)
    };
    let (copa, vegas) = (share("copa"), share("vegas"));
    assert!((0.3..0.7).contains(&copa), "{copa}");
    assert!(vegas < 0.15, "{vegas}");
}

#[test]
fn a_longer_route_starves_copa_until_it_forgets_the_shorter_one() {
    // §2: RTTmin covers the last 10 s. Until the old minimum expires, 20 ms of extra propagation look like a
    // queue, which allows 1/(0.5 · 20 ms) = 100 packets/s (1.2 Mbit/s) plus what competitive mode adds.
    let path = trace(&[(20_000 * MS, 25 * MS, 50, true), (20_000 * MS, 35 * MS, 50, true)]);
    let log = run_over(path, &traced(json!({"bdp": 1.0}), 40.0, &["copa"]), 1_000 * MS);
    let full = 50.0 * 1_448.0 / 1_500.0;
    let [before, after, late] = [(10.0, 20.0), (21.0, 23.0), (32.0, 40.0)]
        .map(|(from_s, to_s)| goodput(&log, 0, from_s, to_s) / full);
    assert!(before > 0.97 && after < 0.4 && late > 0.95, "{before} {after} {late}");
    // The expiry of RTTmin, not competitive mode, restores the rate: the queue stays short.
    let rtts = &log.flow_series.rtt_ms[33..];
    assert!(rtts.iter().all(|&rtt| rtt < 75.0), "{rtts:?}");
}
