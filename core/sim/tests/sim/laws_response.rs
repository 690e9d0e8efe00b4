//! Response functions: mean window of loss-based schemes under random loss.

use crate::support::{dumbbell, run};
use serde_json::json;

/// For each RTT, loss rate and duration, assert that one flow that only random loss limits has the `expected` mean packets
/// per round trip.
fn assert_windows(scheme: &str, cases: &[(f64, f64, f64)], expected: impl Fn(f64, f64) -> f64) {
    for &(rtt_s, loss, duration_s) in cases {
        let mut scenario = dumbbell(2000.0, rtt_s * 500.0, duration_s, &[scheme]);
        scenario["links"]["b"]["loss"] = json!(loss);
        scenario["links"]["b"]["queue"] = json!({"packets": 100_000});
        let log = run(&scenario, 0);
        assert_eq!(log.links[0].dropped_packets, 0, "the link is never full");
        let measured = log.links[0].delivered_packets as f64 * rtt_s / duration_s;
        let expected = expected(rtt_s, loss);
        let setting = format!("RTT {rtt_s} s, p = {loss}");
        let near = (measured / expected - 1.0).abs() < 0.15;
        assert!(near, "{setting}: {measured:.1} packets, {expected:.1} expected");
    }
}

#[test]
fn renos_window_is_1_31_over_the_square_root_of_the_loss_rate() {
    // Ott, Kemperman and Mathis, "The stationary behavior of ideal TCP congestion avoidance" (1996): 1.3098 /
    // √p for independent losses. Mathis, Semke, Mahdavi and Ott (CCR 27(3), 1997): √(3/2) = 1.22 for periodic
    // ones. As in Linux, Reno counts packets, not ACKs, so delayed ACKs do not slow it down.
    let cases = [
        (0.05, 1e-2, 400.0),
        (0.05, 1e-3, 1_000.0),
        (0.05, 1e-4, 2_000.0),
        (0.2, 1e-3, 2_000.0),
        (0.2, 3e-4, 3_000.0),
    ];
    assert_windows("reno", &cases, |_, loss| 1.3098 / loss.sqrt());
}

#[test]
fn cubics_window_follows_its_response_function_where_it_is_cubic() {
    // RFC 9438 §5.1, equation 6: AVG_W = (C · (3 + β) / (4 · (1 - β)))^(1/4) · RTT^(3/4) / p^(3/4), for periodic losses.
    let constant = (0.4 * 3.7 / (4.0 * 0.3_f64)).powf(0.25);
    let cases = [(0.2, 1e-3, 2_000.0), (0.2, 3e-4, 3_000.0), (0.2, 1e-4, 4_000.0)];
    assert_windows("cubic", &cases, |rtt_s, loss| constant * (rtt_s / loss).powf(0.75));
}

/// CUBIC as equations: RFC 9438 §4.2 (window over time), §4.3 (Reno-friendly region), §4.6 (β), §4.7 (fast
/// convergence). Losses are random with probability p; the window changes once per round trip.
fn cubic_by_its_equations(rtt_s: f64, loss: f64) -> f64 {
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;
    let mut state = 1_u64;
    let mut until_loss = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -uniform.ln() / loss
    };
    let (mut rounds, mut packets) = (0.0, 0.0);
    let (mut window, mut w_max) = (100.0_f64, 100.0_f64);
    for _ in 0..20_000 {
        w_max = if window < w_max { window * (1.0 + BETA) / 2.0 } else { window };
        let start = window * BETA;
        let k = ((w_max - start).max(0.0) / C).cbrt();
        let mut packets_to_loss = until_loss();
        let (mut since, mut w_est) = (0.0, start);
        window = start;
        while packets_to_loss > window {
            packets_to_loss -= window;
            packets += window;
            rounds += 1.0;
            since += rtt_s;
            w_est += 3.0 * (1.0 - BETA) / (1.0 + BETA);
            let cubic: f64 = C * (since - k) * (since - k) * (since - k) + w_max;
            // §4.4: at most 1.5 times per round trip.
            window = cubic.max(w_est).clamp(window, 1.5 * window);
        }
        packets += packets_to_loss;
        rounds += packets_to_loss / window;
    }
    packets / rounds
}

#[test]
fn cubic_is_what_its_equations_say_in_both_its_regions() {
    let cases = [
        (0.05, 1e-2, 400.0),
        (0.05, 1e-3, 1_000.0),
        (0.05, 1e-4, 2_000.0),
        (0.1, 1e-4, 3_000.0),
        (0.2, 1e-3, 2_000.0),
        (0.2, 1e-4, 4_000.0),
    ];
    assert_windows("cubic", &cases, cubic_by_its_equations);
}
