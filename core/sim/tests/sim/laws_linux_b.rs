//! The distinctive behavior of Vegas, Veno, YeAH, CDG, TCP-LP and NV, from their papers.

use crate::support::{MS, PACKET_BITS, dumbbell, goodputs, jain, run};
use leo_sim::RunLog;
use serde_json::json;

/// Mean share of the second flow over seeds, over 100 Mbit/s, 50 ms and 1 BDP.
fn share_of_second(schemes: [&str; 2], duration_s: f64) -> f64 {
    let share = |seed: u64| {
        let mut scenario = dumbbell(100.0, 25.0, duration_s, &schemes);
        scenario["seed"] = json!(seed);
        let goodputs = goodputs(&run(&scenario, 0));
        goodputs[1] / (goodputs[0] + goodputs[1])
    };
    (1..=4).map(share).sum::<f64>() / 4.0
}

/// Largest and smallest queue in packets over means of 100 ms, after `warm_up_s`.
fn queue_packets(log: &RunLog, rate_mbps: f64, base_ms: f64, warm_up_s: usize) -> (f64, f64) {
    let packet_ms = PACKET_BITS / rate_mbps / 1e3;
    let queued = |rtt: &f64| (rtt - base_ms) / packet_ms - 1.0;
    let queues: Vec<f64> = log.flow_series.rtt_ms[10 * warm_up_s..].iter().map(queued).collect();
    (queues.iter().copied().fold(f64::MAX, f64::min), queues.iter().copied().fold(0.0, f64::max))
}

#[test]
fn vegas_keeps_two_to_four_packets_queued() {
    // Brakmo and Peterson (JSAC 13(8), 1995) §3.2: Linux's α = 2 and β = 4 packets. Linux uses the smallest
    // RTT of a round, which excludes the effects of delayed ACKs and bursts.
    let log = run(&dumbbell(10.0, 25.0, 30.0, &["vegas"]), 100 * MS);
    let windows = &log.flow_series.cwnd_packets[100..];
    let (low, high) = (windows.iter().min(), windows.iter().max());
    assert_eq!(low, high, "it rests");
    // 51.2 ms, including a packet's own transmission, hold 42.7 packets.
    let queued = f64::from(windows[0]) - 42.7;
    assert!((2.0..5.0).contains(&queued), "{queued}");
    assert!(log.flows[0].normalized_goodput > 0.99, "{:?}", log.flows[0]);
    let lost_later = run(&dumbbell(10.0, 25.0, 3.0, &["vegas"]), 0).flows[0].lost_packets;
    assert_eq!(log.flows[0].lost_packets, lost_later, "after slow start nothing is lost");
}

#[test]
fn vegas_starves_beside_reno() {
    // Mo, La, Anantharam and Walrand (INFOCOM 1999): Reno fills the buffer, Vegas backs off.
    let share = share_of_second(["reno", "vegas"], 60.0);
    assert!(share < 0.15, "{share}");
}

#[test]
fn veno_loses_less_throughput_than_reno_to_random_loss() {
    // Fu and Liew (JSAC 21(2), 2003), abstract: "throughput improvement of up to 80%" with 1 % of random loss.
    let rate = |scheme: &str| {
        let mut scenario = dumbbell(10.0, 25.0, 300.0, &[scheme]);
        scenario["links"]["b"]["loss"] = json!(0.01);
        run(&scenario, 0).flows[0].goodput_mbps
    };
    let improvement = rate("veno") / rate("reno");
    assert!((1.3..1.8).contains(&improvement), "{improvement}");
}

#[test]
fn veno_halves_for_congestion_like_reno() {
    // §III-A: with more than β = 3 packets queued (always so at a full buffer), a loss means congestion.
    let lowest = |scheme: &str| {
        let log = run(&dumbbell(20.0, 20.0, 120.0, &[scheme]), 100 * MS);
        log.flow_series.cwnd_packets[200..].iter().copied().min()
    };
    let (veno, reno) = (lowest("veno").unwrap_or(0), lowest("reno").unwrap_or(0));
    assert!(veno.abs_diff(reno) <= 3, "{veno} {reno}");
}

#[test]
fn yeah_keeps_the_queue_below_its_bound_and_above_nothing() {
    // Baiocchi, Castellani and Vacirca (PFLDnet 2007) §III: decongestion above Linux's Q_max = 80 packets.
    let mut scenario = dumbbell(100.0, 25.0, 60.0, &["yeah"]);
    scenario["links"]["b"]["queue"] = json!({"bdp": 2.0});
    let log = run(&scenario, 100 * MS);
    let (low, high) = queue_packets(&log, 100.0, 50.0, 20);
    // At most one round late, in which Reno's growth adds a packet.
    assert!(high > 70.0 && high < 90.0, "{high}");
    assert!(low > -1.0 && low < 20.0, "{low}");
    assert!(log.flows[0].normalized_goodput > 0.99);
}

#[test]
fn lp_is_reno_where_random_offsets_of_the_timestamps_hide_the_delay_and_gives_way_where_they_do_not() {
    // Kuzmanovic and Knightly (ToN 14(4), 2006), abstract: "utilize only the excess network bandwidth as
    // compared to the fair share of bandwidth as targeted by TCP". Linux 6.1: like Reno on all of five seeds.
    let goodput = |scheme: &str, seed: u64| {
        let mut scenario = dumbbell(20.0, 25.0, 30.0, &["cubic", scheme]);
        scenario["seed"] = json!(seed);
        run(&scenario, 0).flows[1].goodput_mbps
    };
    let (mut equal, mut lower) = (0, 0);
    for seed in 1..=24 {
        let (lp, reno) = (goodput("lp", seed), goodput("reno", seed));
        equal += u32::from(lp == reno);
        lower += u32::from(lp < 0.9 * reno);
    }
    // Seven of eight offsets exceed any possible smoothed delay.
    assert!(equal >= 16 && lower >= 1, "{equal} as Reno, {lower} gave way");
}

#[test]
fn cdg_holds_out_against_reno_better_than_vegas() {
    // Hayes and Armitage (Networking 2011) §III-C: ineffectual backoffs and the shadow window let it coexist.
    let (cdg, vegas) = (share_of_second(["reno", "cdg"], 120.0), share_of_second(["reno", "vegas"], 120.0));
    assert!(cdg > 1.5 * vegas, "{cdg} {vegas}");
}

#[test]
fn cdg_flows_share_a_link_with_a_short_queue_and_lose_nothing() {
    // §IV: CDG flows among themselves back off before the queue is full; 1 BDP is 50 ms of queue.
    let log = run(&dumbbell(100.0, 25.0, 200.0, &["cdg"; 4]), 0);
    let goodputs = goodputs(&log);
    assert!(goodputs.iter().sum::<f64>() > 90.0 && jain(&goodputs) > 0.95, "{goodputs:?}");
    assert!(log.flows.iter().all(|flow| flow.lost_packets == 0), "{:?}", log.flows);
    assert!(log.flows[0].rtt_mean_ms < 55.0, "{}", log.flows[0].rtt_mean_ms);
}

#[test]
fn nv_on_a_long_path_leaves_slow_start_early_and_then_crawls() {
    // Linux's tcp_nv.c is "for traffic within a data center". Its rate uses the previous round trip's window,
    // in slow start half of the current one, so it concludes that more than its 10 packets are queued.
    let log = run(&dumbbell(100.0, 100.0, 60.0, &["nv"]), 1_000 * MS);
    let windows = &log.flow_series.cwnd_packets;
    assert!(windows[1] < 1_667 / 10, "it left slow start at {} of 1,667 packets", windows[1]);
    for pair in windows[1..].windows(2) {
        // Five round trips a second.
        assert!((4..=5).contains(&(pair[1] - pair[0])), "{pair:?}");
    }
}

#[test]
fn nv_lets_ten_packets_queue() {
    // Linux's nv_pad = 10, until the standing queue enters the minimum RTT, which expires after 5 s.
    let log = run(&dumbbell(100.0, 5.0, 5.0, &["nv"]), 100 * MS);
    let (_, high) = queue_packets(&log, 100.0, 10.0, 4);
    assert!(high < 20.0, "{high}");
    assert!(log.flows[0].normalized_goodput > 0.9, "{:?}", log.flows[0]);
}
