//! The controller on a fluid link: a rate in, an RTT and a delivery rate out.

use proptest::prelude::*;

use super::*;

const DT_S: f64 = 0.01;
const MSS: f64 = 1_448.0;

/// Index of the competition in an action; the target follows.
const COMPETE: usize = 8;

/// A link without packets: its queue integrates what exceeds the capacity.
struct Fluid {
    controller: Controller,
    capacity: f64,
    base_s: f64,
    queue_s: f64,
    time_s: f64,
    /// The rate of another flow, which grows until the buffer is full and then decreases by a half; 0 without one.
    other: f64,
    buffer_s: f64,
    /// Part of what arrives that is lost at random.
    lost: f64,
    command: Command,
    /// Rates sent, one an interval.
    sent: Vec<f64>,
}

impl Fluid {
    fn new(capacity_mbps: f64, base_s: f64) -> Self {
        let command = Command { cwnd_packets: 10, pacing_bytes_per_s: 0 };
        Self {
            controller: Controller::default(),
            capacity: capacity_mbps * 125e3,
            base_s,
            queue_s: 0.0,
            time_s: 0.0,
            other: 0.0,
            buffer_s: f64::MAX,
            lost: 0.0,
            command,
            sent: Vec::new(),
        }
    }

    fn step(&mut self, action: &[f32]) -> f64 {
        self.sent.push(self.command.pacing_bytes_per_s as f64);
        let arriving = self.sent[self.sent.len().saturating_sub(1 + (self.base_s / DT_S) as usize)];
        let all = arriving + self.other;
        let excess = (all / self.capacity - 1.0) * DT_S;
        let before = self.queue_s;
        self.queue_s = (self.queue_s + excess).max(0.0);
        let mut delivered = if self.queue_s > 0.0 { self.capacity * arriving / all } else { arriving };
        let is_full = self.queue_s > self.buffer_s;
        let mut lost = self.lost;
        if is_full {
            self.queue_s = self.buffer_s;
            delivered *= 0.99;
            lost = (1.0 - delivered / arriving).max(0.01);
        }
        if self.other > 0.0 {
            self.other = if is_full { 0.5 * self.other } else { self.other + 0.04 * self.capacity * DT_S };
        }
        self.time_s += DT_S;
        let rtt_us = ((self.base_s + self.queue_s) * 1e6) as u32;
        let report = Report {
            time_ns: (self.time_s * 1e9) as u64,
            interval_ns: (DT_S * 1e9) as u64,
            delivered_bytes: (delivered * DT_S) as u64,
            lost_bytes: (lost / (1.0 - lost) * delivered * DT_S) as u64,
            sent_bytes: (self.sent[self.sent.len() - 1] * DT_S) as u64,
            avg_throughput: delivered as u64,
            avg_rtt_us: rtt_us,
            rtt_samples: 10,
            min_rtt_us: rtt_us,
            srtt_us: rtt_us,
            cwnd: self.command.cwnd_packets,
            // Packets behind a lost packet count until its loss is detected, an RTT later.
            packets_out: (if self.lost > 0.0 { 2.0 } else { 1.0 } * delivered * (self.base_s + self.queue_s)
                / MSS) as u32,
            mss: MSS as u32,
            pacing_rate: self.command.pacing_bytes_per_s,
            rtt_slope: (self.queue_s - before) / DT_S,
            ..Report::default()
        };
        self.controller.observe(&report);
        self.command = self.controller.act(action, &report);
        delivered
    }

    /// Mean share of the capacity and mean queue in s over `seconds`.
    fn run(&mut self, seconds: f64) -> (f64, f64) {
        let steps = (seconds / DT_S) as usize;
        let (mut delivered, mut queue) = (0.0, 0.0);
        for _ in 0..steps {
            delivered += self.step(&[0.0; GAINS]);
            queue += self.queue_s;
        }
        (delivered / steps as f64 / self.capacity, queue / steps as f64)
    }
}

#[test]
fn a_link_is_full_and_its_queue_short_at_20_to_500_mbps() {
    for mbps in [20.0, 100.0, 500.0] {
        let mut link = Fluid::new(mbps, 0.05);
        link.run(5.0);
        let (share, queue_s) = link.run(20.0);
        assert!(share > 0.95 && queue_s < 4e-3, "{mbps} Mbit/s: {share} with {queue_s} s");
    }
}

#[test]
fn random_loss_costs_what_is_lost_and_no_drain_of_what_is_behind_it() {
    let mut link = Fluid { lost: 0.01, ..Fluid::new(100.0, 0.05) };
    link.run(5.0);
    let (share, queue_s) = link.run(20.0);
    assert!(share > 0.95 && queue_s < 4e-3, "{share} with {queue_s} s");
}

#[test]
fn the_start_doubles_the_rate_every_round_trip_and_interval() {
    let mut link = Fluid::new(1_000.0, 0.1);
    link.run(0.15);
    let before = link.command.pacing_bytes_per_s as f64;
    link.run(0.1 + DT_S);
    let growth = link.command.pacing_bytes_per_s as f64 / before;
    assert!((1.9..2.1).contains(&growth), "{growth}");
}

#[test]
fn a_start_on_a_path_of_one_interval_overshoots_by_less_than_a_base_rtt() {
    for mbps in [50.0, 200.0] {
        let mut link = Fluid::new(mbps, DT_S);
        let mut longest: f64 = 0.0;
        for _ in 0..50 {
            link.step(&[0.0; GAINS]);
            longest = longest.max(link.queue_s);
        }
        assert!(longest < 0.015, "{mbps} Mbit/s: {longest} s");
    }
}

#[test]
fn a_longer_path_becomes_the_base_within_two_seconds_and_costs_little() {
    let mut link = Fluid::new(100.0, 0.03);
    link.run(5.0);
    link.base_s = 0.06;
    let (share, _) = link.run(2.0);
    assert!((link.controller.path.base_s - 0.06).abs() < 3e-3, "{}", link.controller.path.base_s);
    assert!(share > 0.85, "{share}");
    let (share, queue_s) = link.run(10.0);
    assert!(share > 0.96 && queue_s < 3e-3, "{share} with {queue_s} s");
}

#[test]
fn capacity_that_doubles_or_halves_is_found_within_two_seconds() {
    let mut link = Fluid::new(50.0, 0.05);
    link.run(5.0);
    link.capacity *= 2.0;
    link.run(2.0);
    let (share, _) = link.run(5.0);
    assert!(share > 0.95, "{share}");
    link.capacity /= 2.0;
    link.run(2.0);
    let (_, queue_s) = link.run(5.0);
    assert!(queue_s < 3e-3, "{queue_s} s");
}

/// An action that competes for half of the link.
fn competing_for_half(link: &Fluid) -> [f32; GAINS] {
    let mut action = [0.0; GAINS];
    let delivered = link.controller.path.delivered_over(1.0).max(1.0);
    action[COMPETE] = 1.0;
    action[COMPETE + 1] = (libm::log2(0.5 * link.capacity / delivered) / 2.0) as f32;
    action
}

#[test]
fn beside_a_flow_that_fills_the_buffer_it_keeps_at_least_the_named_share_until_the_policy_ends_it() {
    for buffer_s in [0.04, 0.15] {
        let mut link = Fluid { buffer_s, ..Fluid::new(80.0, 0.04) };
        link.run(5.0);
        link.other = 0.1 * link.capacity;
        let mut delivered = 0.0;
        for step in 0..4_000 {
            let bytes_per_s = link.step(&competing_for_half(&link));
            delivered += if step < 2_000 { 0.0 } else { bytes_per_s / 2_000.0 };
        }
        let share = delivered / link.capacity;
        assert!((0.4..0.8).contains(&share), "{share} with a buffer of {buffer_s} s");
        link.other = 0.0;
        let mut action = [0.0; GAINS];
        action[COMPETE] = -1.0;
        link.step(&action);
        link.run(30.0);
        let (share, queue_s) = link.run(20.0);
        assert!(share > 0.95 && queue_s < 4e-3, "{share} with {queue_s} s, alone");
    }
}

#[test]
fn many_losses_hold_a_competing_flow_to_what_is_delivered() {
    let rate_over_delivery = [0.02, 0.2].map(|lost| {
        let mut link = Fluid::new(80.0, 0.04);
        link.run(5.0);
        let (now, delivered) = (link.time_s, 0.4 * link.capacity);
        let mut action = [0.0; GAINS];
        action[COMPETE] = 1.0;
        action[COMPETE + 1] = 0.2;
        let mut command = link.command;
        for interval in 1..=300 {
            // The queue grows to 40 ms in half a second, and stays.
            let rtt_us = 40_000 + 800 * interval.min(50);
            let report = Report {
                time_ns: ((now + f64::from(interval) * DT_S) * 1e9) as u64,
                interval_ns: (DT_S * 1e9) as u64,
                delivered_bytes: (delivered * DT_S) as u64,
                lost_bytes: (lost * delivered * DT_S) as u64,
                avg_rtt_us: rtt_us,
                rtt_samples: 10,
                srtt_us: rtt_us,
                mss: MSS as u32,
                ..Report::default()
            };
            link.controller.observe(&report);
            command = link.controller.act(&action, &report);
        }
        assert!(matches!(link.controller.phase, Phase::Compete(_)));
        command.pacing_bytes_per_s as f64 / delivered
    });
    let wave = 1.0 - 0.08..1.0 + 0.08 + 1e-3;
    assert!(wave.contains(&(rate_over_delivery[0] / 4_f64.powf(0.2))), "{rate_over_delivery:?}");
    assert!(wave.contains(&rate_over_delivery[1]), "{rate_over_delivery:?}");
}

#[test]
fn a_nan_or_missing_action_is_the_hand_made_controller() {
    let mut links: [Fluid; 3] = std::array::from_fn(|_| Fluid::new(100.0, 0.05));
    for _ in 0..500 {
        links[0].step(&[0.0; GAINS]);
        links[1].step(&[f32::NAN; GAINS]);
        links[2].step(&[]);
        assert_eq!(links[0].command, links[1].command);
        assert_eq!(links[0].command, links[2].command);
    }
}

#[test]
fn every_scale_of_an_action_matters_and_its_bounds_do_not_break_a_link() {
    for index in 0..GAINS {
        for end in [-1.0, 1.0] {
            let mut action = [0.0; GAINS];
            action[index] = end;
            assert_ne!(Tuning::of(&action), Tuning::of(&[0.0; GAINS]), "scale {index}");
            if index == COMPETE && end > 0.0 {
                continue; // the policy names the rate
            }
            for (base_s, buffer) in [(0.02, 1.0), (0.045, 0.5), (0.06, 2.0), (0.1, 1.0), (0.12, 0.5)] {
                let mut link = Fluid { buffer_s: buffer * base_s, ..Fluid::new(100.0, base_s) };
                for _ in 0..4_000 {
                    link.step(&action);
                }
                for sent in link.sent.chunks(500) {
                    let share = sent.iter().sum::<f64>() / 500.0 / link.capacity;
                    assert!((0.7..1.3).contains(&share), "scale {index} at {end}, {base_s} s: {share}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_reported_the_window_stays_within_its_bounds(
        rows in proptest::collection::vec((any::<[u64; 6]>(), any::<[u32; 6]>(), -1e3..1e3), 1..30),
    ) {
        let mut controller = Controller::default();
        for (long, short, rtt_slope) in rows {
            let long = long.map(|number| number >> (number % 64));
            let short = short.map(|number| number >> (number % 32));
            let report = Report {
                time_ns: long[0],
                interval_ns: long[1],
                delivered_bytes: long[2],
                sent_bytes: long[3],
                lost_bytes: long[4],
                avg_throughput: long[5],
                pacing_rate: long[3],
                avg_rtt_us: short[0],
                srtt_us: short[1],
                cwnd: short[2].clamp(MIN_CWND_PACKETS, MAX_CWND_PACKETS),
                packets_out: short[3],
                mss: short[4],
                rtt_slope,
                ..Report::default()
            };
            controller.observe(&report);
            let command = controller.act(&[0.0; GAINS], &report);
            prop_assert!((MIN_CWND_PACKETS..=MAX_CWND_PACKETS).contains(&command.cwnd_packets));
            prop_assert!(command.pacing_bytes_per_s <= 2_500_000_000);
        }
    }
}
