use super::*;

const MS: Nanos = 1_000_000;

/// Feed the controller the result of each interval until `intervals` have begun; return their rates. `outcome` gives losses
/// and the rise of the smoothed RTT in seconds at a rate.
fn run(kernel: &mut Kernel, intervals: u64, outcome: impl Fn(f64) -> (u64, f64)) -> Vec<f64> {
    let mut rates = Vec::new();
    let mut id = 0;
    while id < intervals {
        let mut begun = Vec::new();
        loop {
            let plan = kernel.plan(id, Rtts { min: 50 * MS, smoothed: 50 * MS, interval: 50 * MS });
            id += 1;
            if plan.duration == NEVER {
                break;
            }
            rates.push(plan.rate);
            begun.push((id - 1, plan.rate));
        }
        for (id, target_rate) in begun {
            let (lost, rise) = outcome(target_rate);
            let _again = kernel.learn(&Measurement {
                id,
                packets: 1_000,
                lost,
                target_rate,
                rate: target_rate,
                duration: 50 * MS,
                smoothed_rtt_rise: rise,
                inner_delivered: 1_000,
                inner_seconds: 0.05,
                ..Measurement::default()
            });
        }
    }
    rates
}

#[test]
fn it_starts_with_steps_of_half_until_the_rtt_rises_and_goes_one_back() {
    let mut kernel = Kernel::new(1);
    let rates = run(&mut kernel, 14, |rate| (0, if rate > 2e6 { 0.01 } else { 0.0 }));
    for (step, rate) in rates.iter().take(5).enumerate() {
        let expected = RATE_INITIAL * 1.5_f64.powi(step as i32);
        assert!((rate / expected - 1.0).abs() < 1e-9, "{rates:?}");
    }
    // The fifth rate exceeds 2 MB/s, so the probes are around the fourth.
    let fourth = RATE_INITIAL * 1.5_f64.powi(3);
    for rate in &rates[5..7] {
        assert!(((rate / fourth - 1.0).abs() - 0.05).abs() < 1e-9, "{rates:?}");
    }
}

#[test]
fn rates_without_a_limit_grow_faster_and_faster_but_never_by_more_than_the_bound() {
    let mut kernel = Kernel::new(1);
    kernel.mode = Mode::Probing;
    let rates = run(&mut kernel, 60, |_| (0, 0.0));
    let ratios: Vec<f64> = rates[4..].windows(2).map(|pair| pair[1] / pair[0]).collect();
    assert!(ratios.iter().all(|&ratio| (1.022 - 1e-9..1.5).contains(&ratio)), "{ratios:?}");
    assert!(ratios[ratios.len() - 1] > 1.022, "{ratios:?}");
}

#[test]
fn less_than_three_percent_of_inflation_is_none() {
    let kernel = Kernel { mode: Mode::Moving, ..Kernel::new(1) };
    let measured = |rise| Measurement {
        packets: 1_000,
        target_rate: 1e6,
        duration: 100 * MS,
        smoothed_rtt_rise: rise,
        inner_delivered: 1_000,
        inner_seconds: 0.1,
        ..Measurement::default()
    };
    assert_eq!(kernel.utility_of(&measured(0.002_9)), 1e6);
    assert!(kernel.utility_of(&measured(0.003_1)) < 0.0);
    // A falling RTT is rewarded, except while starting.
    assert!(kernel.utility_of(&measured(-0.003_1)) > 1e6);
    let starting = Kernel::new(1);
    assert_eq!(starting.utility_of(&measured(-0.003_1)), 1e6);
}

#[test]
fn loss_of_a_tenth_is_none_while_starting_and_costs_more_than_all_later() {
    let measured = Measurement {
        packets: 1_000,
        lost: 99,
        target_rate: 1e6,
        duration: 100 * MS,
        inner_delivered: 1_000,
        inner_seconds: 0.1,
        ..Measurement::default()
    };
    assert_eq!(Kernel::new(1).utility_of(&measured), 1e6);
    let moving = Kernel { mode: Mode::Moving, ..Kernel::new(1) };
    assert!(moving.utility_of(&measured) < 0.0);
}
