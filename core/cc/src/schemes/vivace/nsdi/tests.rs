use super::*;
use crate::schemes::vivace::controller::wire_rate;

const MS: Nanos = 1_000_000;

/// A link with a capacity in the controller's Mbit/s and a share of random loss. Results arrive an interval late.
struct Link {
    capacity: f64,
    loss: f64,
    gradient_at: fn(f64) -> f64,
}

impl Default for Link {
    fn default() -> Self {
        // An empty queue cannot drain, so the gradient is never negative.
        Self { capacity: 50.0, loss: 0.0, gradient_at: |load| (load - 1.0).max(0.0) }
    }
}

/// Run the controller for `intervals` on the link; return their rates in the controller's Mbit/s.
fn run(nsdi: &mut Nsdi2018, link: &Link, intervals: u64) -> Vec<f64> {
    run_counting(nsdi, link, intervals).0
}

/// Like [`run`], and return the number of planned probes at each interval.
fn run_counting(nsdi: &mut Nsdi2018, link: &Link, intervals: u64) -> (Vec<f64>, Vec<usize>) {
    let mut counts = Vec::new();
    let (first, mut rates) = (nsdi.next_id, Vec::<f64>::new());
    for id in first..first + intervals {
        let plan = nsdi.plan(id, Rtts { min: 50 * MS, smoothed: 50 * MS, interval: 50 * MS });
        rates.push(wire_rate(plan.rate, MEGABIT));
        counts.push(nsdi.probe_count);
        if id > first {
            let before = rates[rates.len() - 2];
            nsdi.learn(&Measurement {
                id: id - 1,
                packets: 1_000,
                lost: (1_000.0 * link.loss) as u64,
                target_rate: payload_rate(before, MEGABIT),
                rate: payload_rate(before, MEGABIT),
                duration: 50 * MS,
                rtt_gradient: (link.gradient_at)(before / link.capacity),
                ..Measurement::default()
            });
        }
    }
    (rates, counts)
}

#[test]
fn it_starts_at_twice_0_8_and_doubles_every_other_interval_until_utility_falls() {
    let mut nsdi = Nsdi2018::new(1);
    let rates = run(
        &mut nsdi,
        &Link { gradient_at: |load| if load > 1.0 { 0.3 } else { 0.0 }, ..Link::default() },
        13,
    );
    assert_eq!(rates[..12], [1.6, 1.6, 3.2, 3.2, 6.4, 6.4, 12.8, 12.8, 25.6, 25.6, 51.2, 51.2]);
    // The rate halves, and the first probe is 5 % off.
    assert!(((rates[12] / 25.6 - 1.0).abs() - 0.05).abs() < 1e-9, "{rates:?}");
}

#[test]
fn a_gradient_within_a_fifth_does_not_end_the_start() {
    let mut nsdi = Nsdi2018::new(1);
    run(&mut nsdi, &Link { gradient_at: |_| 0.19, ..Link::default() }, 24);
    assert_eq!(nsdi.mode, Mode::Starting);
    assert_eq!(nsdi.rate, RATE_MAX);
}

#[test]
fn two_pairs_are_probed_by_five_percent_and_one_pair_when_the_direction_holds() {
    let mut nsdi = Nsdi2018 { mode: Mode::Probing, base: 20.0, ..Nsdi2018::new(1) };
    let link = Link::default();
    let rates = run(&mut nsdi, &link, 5);
    for pair in rates[..4].chunks(2) {
        assert!((pair[0] + pair[1] - 40.0).abs() < 1e-9, "{rates:?}");
        assert!(((pair[0] - pair[1]).abs() - 2.0).abs() < 1e-9, "{rates:?}");
    }
    // The rate is the base until the last result arrives.
    assert!((rates[4] - 20.0).abs() < 1e-9, "{rates:?}");
    let (_, counts) = run_counting(&mut nsdi, &Link { capacity: 1e6, ..Link::default() }, 40);
    // The first decision has no earlier direction to agree with, the second has.
    let change = counts.iter().position(|&count| count == 2).expect("it becomes confident");
    assert!(counts[..change].contains(&4) && !counts[change..].contains(&4), "{counts:?}");
    assert!(nsdi.base > 25.0, "{}", nsdi.base);
}

#[test]
fn it_hovers_just_below_the_capacity() {
    for seed in 0..5 {
        let mut nsdi = Nsdi2018 { mode: Mode::Probing, base: 20.0, ..Nsdi2018::new(seed) };
        let link = Link::default();
        run(&mut nsdi, &link, 300);
        let rates = run(&mut nsdi, &link, 600);
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!((44.0..51.0).contains(&mean), "{mean}");
    }
}

#[test]
fn loss_of_three_percent_leaves_it_there_and_of_a_tenth_does_not() {
    let rate = |loss: f64| {
        let mut nsdi = Nsdi2018 { mode: Mode::Probing, base: 40.0, ..Nsdi2018::new(1) };
        run(&mut nsdi, &Link { loss, ..Link::default() }, 2_000);
        nsdi.base
    };
    assert!(rate(0.03) > 40.0, "{}", rate(0.03));
    assert!(rate(0.1) < 20.0, "{}", rate(0.1));
}

#[test]
fn half_the_packets_lost_halve_the_rate_once_a_round_trip() {
    let mut nsdi = Nsdi2018 { mode: Mode::Probing, base: 80.0, ..Nsdi2018::new(1) };
    for id in 0..4 {
        nsdi.plan(id, Rtts::default());
    }
    let disaster = |id| Measurement { id, packets: 100, lost: 51, rate: 1e6, ..Measurement::default() };
    for id in 0..3 {
        nsdi.learn(&disaster(id));
        assert_eq!(nsdi.base, 40.0, "{id}");
    }
    // Interval 3 was being sent at the stop; from it on, losses halve the rate again.
    nsdi.learn(&disaster(3));
    assert_eq!(nsdi.base, 20.0);
}

#[test]
fn a_large_step_is_followed_by_another_without_probes_and_stops_when_losses_make_no_sense() {
    let prepared = || {
        let mut nsdi =
            Nsdi2018 { mode: Mode::Moving, base: 20.0, change: 3.0, next_id: 9, ..Nsdi2018::new(1) };
        let reference = Outcome { utility: 15.0, sent_rate: 20.0, gradient: 0.0, packets: 100, lost: 8 };
        nsdi.reference = Trial { id: Some(7), rate: 20.0, outcome: Some(reference) };
        nsdi.target = Trial { id: None, rate: 23.0, outcome: None };
        for _ in 0..2 {
            // Large steps need a direction that has held.
            nsdi.ascent.change(10.0, 20.0);
        }
        nsdi.plan(9, Rtts::default());
        nsdi
    };
    let result = |lost| Measurement {
        id: 9,
        packets: 100,
        lost,
        target_rate: payload_rate(23.0, MEGABIT),
        rate: payload_rate(23.0, MEGABIT),
        ..Measurement::default()
    };
    let mut nsdi = prepared();
    nsdi.reference.outcome =
        nsdi.reference.outcome.map(|outcome| Outcome { lost: 0, utility: -40.0, ..outcome });
    nsdi.learn(&result(0));
    assert_eq!(nsdi.mode, Mode::Moving);
    assert!(nsdi.target.rate > 23.0 * 1.1, "{}", nsdi.target.rate);
    // §4.3: 23 Mbit/s lost nothing and 20 Mbit/s 8 %, so the rate is not the cause.
    let mut nsdi = prepared();
    nsdi.learn(&result(0));
    assert_eq!((nsdi.mode, nsdi.base), (Mode::Probing, 23.0));
}

#[test]
fn an_interval_has_as_many_packets_as_fit_into_an_rtt_within_bounds() {
    let nsdi = Nsdi2018 { rate: 12.0, ..Nsdi2018::new(1) };
    let packet = PACKET * 1e9 / (12.0 * MEGABIT);
    let packets = |rtt| libm::round(nsdi.duration(Rtts { interval: rtt, ..Rtts::default() }) as f64 / packet);
    assert_eq!(packets(100 * MS), 104.0);
    assert_eq!(packets(2 * MS), 10.0);
    // With an RTT above a second, intervals last 300 ms.
    assert_eq!(packets(1_001 * MS), 314.0);
    let fast = Nsdi2018 { rate: 1_000.0, ..Nsdi2018::new(1) };
    let duration = fast.duration(Rtts { interval: 500 * MS, ..Rtts::default() });
    assert_eq!(libm::round(duration as f64 * 1_000.0 * MEGABIT / 1e9 / PACKET), 3_000.0);
}

const PACKET: f64 = super::super::utility::PACKET_BITS;
