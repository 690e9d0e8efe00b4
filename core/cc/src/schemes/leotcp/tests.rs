use super::*;
use crate::testing::ack_of_one;

const MS: Nanos = 1_000_000;
/// 100 Mbit/s.
const RATE: u64 = 12_500_000;
const RTT: Nanos = 48 * MS;
/// The bandwidth-delay product in packets: 12.5 MB/s · 48 ms / 1,500 B.
const BDP: f64 = 400.0;

/// A sender that gets an ACK per millisecond, and the link whose telemetry the ACKs carry.
struct Link {
    leotcp: LeoTcp,
    now: Nanos,
    sent_bytes: u64,
    flows: u32,
}

impl Link {
    fn new(flows: u32) -> Self {
        let mut leotcp = LeoTcp::new();
        leotcp.on_start(0, RTT);
        Self { leotcp, now: RTT, sent_bytes: 0, flows }
    }

    fn hop(&self, queue: u32) -> Hop {
        Hop {
            link: 1,
            flows: self.flows,
            queue_found: queue,
            queue_left: queue,
            departed_at: self.now,
            sent_bytes: self.sent_bytes,
            rate: RATE,
            average_rtt: RTT,
        }
    }

    fn acknowledge(&mut self, hops: &[Hop], rtt: Nanos) {
        self.leotcp.on_telemetry(self.now, hops);
        self.leotcp.on_ack(&Ack { rtt: Some(rtt), srtt: RTT, ..ack_of_one(self.now) });
    }

    fn pass(&mut self, utilisation: f64, queue: u32) {
        self.now += MS;
        self.sent_bytes += (utilisation * RATE as f64 / 1_000.0) as u64;
        self.acknowledge(&[self.hop(queue)], RTT + Nanos::from(queue) * 1_000_000_000 / RATE);
    }

    fn run(&mut self, milliseconds: u32, utilisation: f64, queue: u32) {
        for _ in 0..milliseconds {
            self.pass(utilisation, queue);
        }
    }

    /// A sender past the initial phase, at low utilisation, with the given window.
    fn steady(flows: u32, window: f64) -> Self {
        let mut link = Self::new(flows);
        link.run(200, 0.5, 0);
        (link.leotcp.window, link.leotcp.reference) = (window, window);
        link.leotcp.reference_until = 0;
        link
    }
}

#[test]
fn the_initial_phase_waits_for_an_average_rtt_and_takes_95_percent_of_the_share() {
    for flows in [1, 4] {
        let mut link = Link::new(flows);
        link.run(48, 0.3, 0);
        assert_eq!(link.leotcp.window(), 5, "it waits");
        link.run(2, 0.3, 0);
        let share = INITIAL_PACKETS + 0.95 * BDP / f64::from(flows);
        assert!((link.leotcp.window - share).abs() < 1.0, "{} of {share}", link.leotcp.window);
        link.run(46, 0.3, 0);
        assert!((link.leotcp.window - share).abs() < 1.0, "{} of {share}", link.leotcp.window);
    }
}

#[test]
fn below_the_target_the_window_grows_by_5_percent_of_the_share_each_smoothed_rtt() {
    // Equation 3: AI = bw · RTT / flowCnt · (1 - η).
    let mut link = Link::steady(2, 100.0);
    link.run(1, 0.8, 0);
    let begin = link.leotcp.window;
    link.run(5 * 48, 0.8, 0);
    let increase = (link.leotcp.window - begin) / 5.0;
    assert!((increase - 0.05 * BDP / 2.0).abs() < 0.5, "{increase}");
}

#[test]
fn above_the_target_the_window_comes_down_in_proportion_and_only_once_an_rtt() {
    // Equation 4 with U = 1.9: half of the reference plus AI, however many ACKs arrive within the smoothed RTT.
    let mut link = Link::steady(1, 400.0);
    link.leotcp.utilisation = Some(1.9);
    link.leotcp.reference_until = link.now + 40 * MS;
    link.run(40, 1.9, 0);
    assert!((link.leotcp.window - 220.0).abs() < 2.0, "{}", link.leotcp.window);
    link.run(1, 1.9, 0);
    assert!((link.leotcp.window - (110.0 + 20.0)).abs() < 2.0, "{}", link.leotcp.window);
}

#[test]
fn what_waits_in_the_queue_counts_like_what_is_sent() {
    // Equation 1: half a BDP in the queue and half the rate in use.
    let mut link = Link::steady(1, 400.0);
    link.run(1_000, 0.5, 300_000);
    assert!((link.leotcp.utilisation.unwrap_or(0.0) - 1.0).abs() < 0.01, "{:?}", link.leotcp.utilisation);
}

#[test]
fn the_base_rtt_leaves_out_the_queues_of_all_hops() {
    let mut link = Link::steady(1, 100.0);
    for _ in 0..100 {
        link.now += MS;
        link.sent_bytes += 5_000;
        let hops = [link.hop(125_000), Hop { link: 2, ..link.hop(250_000) }];
        // 10 and 20 ms of queue.
        link.acknowledge(&hops, RTT + 30 * MS);
    }
    let base = link.leotcp.header().map(|header| header.base_rtt).unwrap_or(0);
    assert!(base.abs_diff(RTT) < MS / 10, "{base}");
}

#[test]
fn the_most_utilised_hop_decides() {
    let mut link = Link::steady(1, 100.0);
    for _ in 0..200 {
        link.now += MS;
        link.sent_bytes += 12_000;
        let slower = Hop { link: 2, rate: RATE / 2, flows: 3, ..link.hop(0) };
        link.acknowledge(&[link.hop(0), slower], RTT);
    }
    // 12 MB/s on a link of 6.25 MB/s.
    assert!((link.leotcp.utilisation.unwrap_or(0.0) - 1.92).abs() < 0.05, "{:?}", link.leotcp.utilisation);
}

#[test]
fn a_new_path_is_believed_at_once_and_stragglers_of_the_old_one_are_not() {
    let mut link = Link::steady(1, 400.0);
    link.leotcp.utilisation = Some(0.9);
    let old =
        Hop { sent_bytes: link.sent_bytes + 100_000_000, departed_at: link.now + 4 * MS, ..link.hop(0) };
    link.now += MS;
    let new = Hop { link: 9, ..link.hop(0) };
    link.acknowledge(&[new], 20 * MS);
    assert!(link.leotcp.base_rtt < 21e6, "the base RTT is the new path's");
    link.now += MS;
    link.acknowledge(&[old], RTT);
    assert_eq!(link.leotcp.utilisation, Some(0.9), "a straggler");
    link.now += MS;
    link.acknowledge(&[Hop { departed_at: link.now, sent_bytes: new.sent_bytes + 50_000, ..new }], 20 * MS);
    assert!(link.leotcp.utilisation > Some(0.9), "{:?}", link.leotcp.utilisation);
}

#[test]
fn losses_and_timeouts_mean_nothing() {
    let mut link = Link::steady(1, 123.0);
    for kind in [Congestion::Loss, Congestion::Ecn, Congestion::Timeout, Congestion::RepeatedTimeout] {
        link.leotcp.on_congestion(kind, link.now);
        assert_eq!(link.leotcp.window(), 123);
    }
}

#[test]
fn a_flow_that_does_not_fill_its_window_does_not_grow() {
    let mut link = Link::steady(1, 100.0);
    for _ in 0..1_000 {
        link.now += MS;
        link.sent_bytes += 100;
        link.leotcp.on_telemetry(link.now, &[link.hop(0)]);
        let ack = Ack { rtt: Some(RTT), srtt: RTT, window_limited: false, ..ack_of_one(link.now) };
        link.leotcp.on_ack(&ack);
    }
    assert_eq!(link.leotcp.window(), 100);
}

/// Return the utilisation after a second at half the rate and 300 kB of queue. The average RTT is 48 ms, the flow's 144 ms.
fn utilisation_with_a_long_rtt(mut leotcp: LeoTcp) -> f64 {
    leotcp.on_start(0, 3 * RTT);
    let mut link = Link { leotcp, now: 3 * RTT, sent_bytes: 0, flows: 2 };
    for _ in 0..1_000 {
        link.now += MS;
        link.sent_bytes += RATE / 2_000;
        let hop = link.hop(300_000);
        link.acknowledge(&[hop], 3 * RTT);
    }
    link.leotcp.utilisation.unwrap_or(0.0)
}

#[test]
fn without_the_average_rtt_a_flow_of_a_longer_rtt_sees_less_utilisation() {
    // "flows with higher RTTs will observe lower utilisation values for the same level of congestion": a queue that adds 1/2
    // over the average RTT adds 1/6 over three times that RTT.
    let (average, own) = (LeoTcp::new(), LeoTcp::without(Ablation::AverageRtt));
    let (average, own) = (utilisation_with_a_long_rtt(average), utilisation_with_a_long_rtt(own));
    assert!((average - 1.0).abs() < 0.01, "{average}");
    assert!((own - (0.5 + 0.5 / 3.0)).abs() < 0.01, "{own}");
}

#[test]
fn without_the_initial_phase_a_flow_grows_by_5_percent_of_its_share_from_the_first_rtt_on() {
    let mut link = Link::new(4);
    link.leotcp = LeoTcp::without(Ablation::InitialPhase);
    link.leotcp.on_start(0, RTT);
    link.run(96, 0.3, 0);
    let grown = link.leotcp.window - INITIAL_PACKETS;
    let step = 0.05 * BDP / 4.0;
    assert!((grown - 2.0 * step).abs() <= step, "{grown}: a step of {step} each RTT");
}
