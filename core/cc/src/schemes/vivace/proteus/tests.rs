use super::*;

const MS: Nanos = 1_000_000;
const MEGABIT: f64 = 1e6;

/// Feed the controller the result of each interval until `trials` are complete; return their rates in Mbit/s.
fn run(proteus: &mut Proteus, trials: usize, gradient: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut rates = Vec::new();
    let mut id = proteus.first_id + 100;
    while rates.len() < trials {
        let mut begun = Vec::new();
        loop {
            let plan = proteus.plan(id, Rtts { min: 50 * MS, smoothed: 50 * MS, interval: 50 * MS });
            id += 1;
            if plan.duration == NEVER {
                break;
            }
            begun.push((id - 1, plan.rate));
        }
        for (id, rate) in begun {
            let wire = wire_rate(rate, MEGABIT);
            rates.push(wire);
            let _again = proteus.learn(&Measurement {
                id,
                packets: 1_000,
                target_rate: rate,
                rate,
                duration: 50 * MS,
                mean_rtt: 0.05,
                rtt_gradient: gradient(wire),
                ..Measurement::default()
            });
        }
    }
    rates
}

fn started() -> Proteus {
    let mut proteus = Proteus::new(1);
    proteus.on_first_rtt(50 * MS);
    proteus
}

#[test]
fn it_starts_with_ten_packets_an_rtt_doubles_and_takes_the_last_doubling_back() {
    let mut proteus = started();
    let rates = run(&mut proteus, 5, |rate| if rate > 20.0 { 0.5 } else { 0.0 });
    for (rate, expected) in rates.iter().zip([2.24, 4.48, 8.96, 17.92, 35.84]) {
        assert!((rate - expected).abs() < 1e-9, "{rates:?}");
    }
    assert_eq!(proteus.mode, Mode::Probing);
    assert!((proteus.base - 17.92e6).abs() < 1.0, "{}", proteus.base);
}

#[test]
fn three_pairs_are_probed_each_above_and_below_in_random_order() {
    let mut proteus = Proteus { mode: Mode::Probing, base: 100e6, ..started() };
    let rates = run(&mut proteus, 60, |_| 0.0);
    let mut firsts = Vec::new();
    for pair in rates[..6].chunks(2) {
        let mut sorted = [pair[0], pair[1]];
        sorted.sort_by(f64::total_cmp);
        assert!((sorted[0] - 95.0).abs() < 1e-6 && (sorted[1] - 105.0).abs() < 1e-6, "{rates:?}");
        firsts.push(pair[0] > pair[1]);
    }
    // The rate goes up by 5 % and a step.
    assert!(rates[6] > 105.0, "{rates:?}");
}

#[test]
fn two_pairs_suffice_to_go_up_and_all_three_must_agree_to_go_down() {
    let decide = |ups: usize| {
        let mut proteus = Proteus { mode: Mode::Probing, base: 100e6, ..started() };
        for pair in 0..PAIRS {
            let (high, low) = if pair < ups { (2.0, 1.0) } else { (1.0, 2.0) };
            proteus.trials[2 * pair] = Trial { rate: 105e6, utility: high };
            proteus.trials[2 * pair + 1] = Trial { rate: 95e6, utility: low };
        }
        proteus.learn_probes();
        (proteus.mode, proteus.base)
    };
    assert!(decide(3).1 > 105e6 && decide(2).1 > 105e6);
    assert_eq!(decide(1), (Mode::Probing, 100e6));
    assert!(decide(0).1 < 95e6);
    // A dissenting pair makes the step smaller, down to the least step.
    assert!(decide(2).1 <= decide(3).1);
}

#[test]
fn steps_are_bounded_by_five_percent_and_five_more_each_time() {
    let mut proteus = started();
    proteus.base = 100e6;
    let steps: Vec<f64> = (0..3).map(|_| proteus.step(1.0)).collect();
    for (step, expected) in steps.iter().zip([5e6, 10e6, 15e6]) {
        assert!((step - expected).abs() < 1.0, "{steps:?}");
    }
    assert_eq!(proteus.step(0.0), RATE_MIN);
}

#[test]
fn a_step_that_utility_does_not_reward_is_taken_back() {
    let mut proteus = Proteus { mode: Mode::Moving, base: 110e6, upwards: true, rounds: 3, ..started() };
    proteus.latest = Trial { rate: 100e6, utility: 60.0 };
    proteus.trials[0] = Trial { rate: 110e6, utility: 50.0 };
    proteus.learn_move();
    assert_eq!(proteus.mode, Mode::Probing);
    assert!(proteus.base < 110e6, "{}", proteus.base);
}

#[test]
fn at_the_least_rate_it_starts_again_if_the_probes_do_not_agree() {
    let decide = |base: f64, preferences: [bool; PAIRS]| {
        let mut proteus = Proteus { mode: Mode::Probing, base, ..started() };
        for (pair, up) in preferences.into_iter().enumerate() {
            let (high, low) = if up { (2.0, 1.0) } else { (1.0, 2.0) };
            proteus.trials[2 * pair] = Trial { rate: 1.05 * base, utility: high };
            proteus.trials[2 * pair + 1] = Trial { rate: 0.95 * base, utility: low };
        }
        proteus.learn_probes();
        (proteus.mode, proteus.base)
    };
    assert_eq!(decide(520e3, [false; PAIRS]), (Mode::Probing, RATE_MIN));
    assert_eq!(decide(RATE_MIN, [true, false, false]), (Mode::Starting, RATE_MIN));
    assert_eq!(decide(520e3, [true, false, false]), (Mode::Probing, 520e3));
}

#[test]
fn a_gradient_that_scatter_explains_is_none() {
    let measured = |gradient, residual| Measurement {
        packets: 100,
        rate: 12_500_000.0,
        duration: 50 * MS,
        mean_rtt: 0.05,
        rtt_gradient: gradient,
        rtt_residual: residual,
        ..Measurement::default()
    };
    let utility = |gradient, residual| {
        let mut proteus = Proteus { mode: Mode::Moving, ..started() };
        proteus.utility(&measured(gradient, residual))
    };
    assert!(utility(0.02, 0.000_9) < 0.0);
    assert_eq!(utility(0.02, 0.001_1), utility(0.0, 0.0));
    // A draining queue is not rewarded.
    assert_eq!(utility(-0.5, 0.0), utility(0.0, 0.0));
}
