//! The estimate on made-up reports.

use super::*;

fn report(time_ms: u64, avg_rtt_us: u32) -> Report {
    Report {
        time_ns: time_ms * 1_000_000,
        interval_ns: 10_000_000,
        delivered_bytes: 10_000,
        sent_bytes: 12_500,
        lost_bytes: 2_500,
        avg_throughput: 1_000_000,
        avg_rtt_us,
        packets_out: 10,
        mss: 1_000,
        pacing_rate: time_ms * 1_000,
        ..Report::default()
    }
}

#[test]
fn the_base_rtt_falls_at_once_ages_by_a_hundredth_a_second_and_rises_on_rebase() {
    let mut path = PathEstimate::default();
    path.observe(&report(10, 50_000));
    path.observe(&report(20, 40_000));
    assert_eq!(path.base_s, 0.04);
    for interval in 3..=102 {
        path.observe(&report(10 * interval, 60_000));
    }
    assert!((path.base_s - 0.04 * 1.01).abs() < 1e-5, "{}", path.base_s);
    assert!((path.queue_s() - 0.0196).abs() < 1e-5);
    path.rebase();
    assert_eq!((path.base_s, path.queue_s()), (0.06, 0.0));
}

#[test]
fn rates_and_losses_are_sums_over_the_latest_intervals() {
    let mut path = PathEstimate::default();
    for interval in 1..=10 {
        path.observe(&report(10 * interval, 30_000));
    }
    assert!((path.delivered_over(0.05) - 1e6).abs() < 1e-3);
    assert_eq!(path.loss_over(0.05), 0.2);
    // The rate of three intervals ago is answered now.
    assert_eq!(path.answered_rate(), 80_000.0);
    assert!((path.answered_share(0.03) - 0.8).abs() < 1e-9);
}

#[test]
fn the_first_packets_spacing_shows_at_least_half_of_the_rate_and_never_more_than_it() {
    // Ten packets sent at once: every second one is acknowledged, 0.24 ms after the last at 100 Mbit/s.
    for min_rtt_us in [50_000, 50_240] {
        let mut path = PathEstimate::default();
        let first = Report {
            delivered_bytes: 14_480,
            rtt_samples: 5,
            min_rtt_us,
            mss: 1_448,
            ..report(10, 50_000 + 240 * 3)
        };
        path.observe(&first);
        let mbps = path.burst_rate * 8e-6;
        assert!((50.0..100.0).contains(&mbps), "{mbps} Mbit/s");
        // Later packets are paced.
        path.observe(&Report { min_rtt_us, ..report(20, 50_000) });
        assert_eq!(path.burst_rate * 8e-6, mbps);
    }
    let mut path = PathEstimate::default();
    path.observe(&Report { rtt_samples: 1, min_rtt_us: 50_000, ..report(10, 50_500) });
    assert_eq!(path.burst_rate, 0.0);
}

#[test]
fn deliveries_follow_the_sending_rate_beside_others_and_not_alone_behind_a_queue() {
    for (others, slope) in [(0.0, 0.0), (4e6, 0.8)] {
        let mut path = PathEstimate::default();
        let capacity = 5e6;
        for interval in 1..=256_u64 {
            // The rate of 30 ms ago arrives now; it changes every 120 ms.
            let sent = |interval: u64| if interval / 12 % 2 == 0 { 1.1e6 } else { 1.3e6 };
            let arriving = sent(interval.saturating_sub(3)) + if others == 0.0 { 4e6 } else { 0.0 };
            let delivered = capacity * arriving / (arriving + others);
            let sent = sent(interval) + if others == 0.0 { 4e6 } else { 0.0 };
            path.observe(&Report {
                delivered_bytes: (delivered * 0.01) as u64,
                sent_bytes: (sent * 0.01) as u64,
                ..report(10 * interval, 30_000)
            });
        }
        let response = path.response();
        assert!((response.slope - slope).abs() < 0.1, "{response:?}, expected {slope}");
    }
}

#[test]
fn an_rtt_that_stays_while_the_sending_rate_varies_is_the_base_rtt() {
    for (varied, base_s) in [(true, 0.06), (false, 0.042)] {
        let mut path = PathEstimate::default();
        for interval in 1..=500_u64 {
            let high = varied && interval / 15 % 2 == 0;
            let sent_bytes = if high { 12_000 } else { 10_000 };
            let rtt_us = if interval < 200 { 40_000 } else { 60_000 };
            path.observe(&Report {
                sent_bytes,
                delivered_bytes: sent_bytes,
                ..report(10 * interval, rtt_us)
            });
        }
        assert!((path.base_s - base_s).abs() < 2e-3, "{} s, expected {base_s}", path.base_s);
    }
}

#[test]
fn silence_lasts_until_the_next_delivery() {
    let mut path = PathEstimate::default();
    path.observe(&report(10, 30_000));
    for interval in 2..=4 {
        path.observe(&Report { delivered_bytes: 0, avg_rtt_us: 0, ..report(10 * interval, 0) });
    }
    assert!((path.silent_s - 0.03).abs() < 1e-9 && !path.has_rtt);
    path.observe(&report(50, 30_000));
    assert_eq!((path.silent_s, path.has_rtt), (0.0, true));
}

#[test]
fn scatter_is_that_of_single_samples_at_any_number_of_samples_and_ignores_queues() {
    let scatter_ms = |rtt_us: &dyn Fn(u32, u32) -> u32, samples: u32| {
        let mut path = PathEstimate::default();
        let mut state = 7_u32;
        for interval in 1..=40 {
            let mut sum = 0;
            for _ in 0..samples {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                sum += rtt_us(interval, (state >> 8) % 6_000);
            }
            let row = report(10 * u64::from(interval), sum / samples);
            path.observe(&Report { rtt_samples: samples, ..row });
        }
        path.scatter_s() * 1e3
    };
    // Uniform over 6 ms: a deviation of 1.73 ms.
    for samples in [1, 5, 30] {
        let scatter = scatter_ms(&|_, random| 40_000 + random, samples);
        assert!((1.0..2.6).contains(&scatter), "{samples}: {scatter} ms");
    }
    // A step and the beginning of a queue, without scatter.
    assert_eq!(scatter_ms(&|interval, _| 40_000 + 1_500 * interval.saturating_sub(35), 9), 0.0);
    assert_eq!(scatter_ms(&|interval, _| if interval < 36 { 40_000 } else { 70_000 }, 9), 0.0);
    assert_eq!(PathEstimate::default().scatter_s(), 0.0);
}

#[test]
fn rtts_that_scatter_are_averaged_until_little_is_left_and_a_slope_or_a_step_is_not() {
    let mut path = PathEstimate::default();
    for interval in 1..=200 {
        // A slope of 0.1 s/s, and a step every second.
        path.observe(&report(
            10 * interval,
            30_000 + 1_000 * (interval as u32 % 50) + 9_000 * (interval as u32 / 100),
        ));
    }
    assert_eq!(path.window_s(), 0.0);
    let mut path = PathEstimate::default();
    let mut state = 7_u32;
    let mut farthest: f64 = 0.0;
    for interval in 1..=1_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        path.observe(&report(10 * interval, 20_000 + (state >> 8) % 6_000));
        if interval > 200 {
            farthest = farthest.max((path.rtt_s - 0.023).abs()).max(path.queue_s());
        }
    }
    assert_eq!(path.window_s(), 0.15);
    assert!(farthest < 3e-3 && path.base_s > 0.0205, "{farthest} s, {} s", path.base_s);
}
