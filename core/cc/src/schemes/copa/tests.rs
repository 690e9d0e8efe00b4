use super::*;
use crate::testing::{RTT, round_at};

const MS: Nanos = 1_000_000;

/// A path whose RTT the test chooses.
struct Path {
    copa: Copa,
    now: Nanos,
}

impl Path {
    fn new() -> Self {
        Self { copa: Copa::new(), now: RTT }
    }

    /// Leave slow start with `window` packets after a round without queueing.
    fn avoiding_at(window: f64) -> Self {
        let mut path = Self::new();
        path.round(RTT);
        path.copa.slow_start = false;
        path.copa.window = window;
        path.copa.turn(Direction::Up);
        path
    }

    fn round(&mut self, rtt: Nanos) {
        self.now = round_at(&mut self.copa, self.now, rtt);
    }

    fn rounds(&mut self, rtts: &[Nanos]) -> Vec<u32> {
        rtts.iter()
            .map(|&rtt| {
                self.round(rtt);
                self.copa.window()
            })
            .collect()
    }
}

#[test]
fn slow_start_doubles_the_window_each_round_until_the_rate_exceeds_the_target() {
    let mut path = Path::new();
    assert_eq!(path.rounds(&[RTT; 3]), [20, 40, 80]);
    // λ = 80 packets / 105 ms exceeds λt = 1/(0.5 · 5 ms) = 400 packets/s; RTTstanding shows it after half a round.
    path.round(RTT + 5 * MS);
    assert!(!path.copa.slow_start);
    assert!((118..=122).contains(&path.copa.window()), "{}", path.copa.window());
}

#[test]
fn the_window_moves_by_one_over_delta_a_round_towards_the_target() {
    // §2.1: "Over 1 RTT, the change in cwnd is thus ≈ v/δ packets". The target at 100 packets and 110 ms is dq = 2.2 ms.
    let mut path = Path::avoiding_at(100.0);
    path.round(RTT + MS);
    assert!((101..=102).contains(&path.copa.window()), "{}", path.copa.window());
    let mut path = Path::avoiding_at(100.0);
    path.rounds(&[RTT + 10 * MS; 2]);
    let before = path.copa.window;
    path.round(RTT + 10 * MS);
    assert!((before - path.copa.window - 2.0).abs() < 0.2, "{before} {}", path.copa.window);
}

#[test]
fn the_velocity_doubles_after_three_rounds_in_one_direction_and_falls_back_when_that_turns() {
    let mut path = Path::avoiding_at(100.0);
    let windows = path.rounds(&[RTT; 8]);
    let steps: Vec<u32> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps[0] <= 3, "{windows:?}");
    for pair in steps[3..].windows(2) {
        assert!((1.6..2.4).contains(&(f64::from(pair[1]) / f64::from(pair[0]))), "{windows:?}");
    }
    path.round(RTT + 50 * MS);
    assert_eq!(path.copa.velocity, 1.0);
    assert_eq!(path.copa.direction, Direction::Down);
}

#[test]
fn a_queue_that_does_not_empty_for_five_rounds_makes_it_compete_by_aimd() {
    let mut path = Path::avoiding_at(100.0);
    let full = [RTT + 50 * MS; 20];
    path.rounds(&full[..3]);
    assert_eq!(path.copa.inverse_delta, 2.0, "five round trips must pass");
    path.rounds(&full[..7]);
    let inverse = path.copa.inverse_delta;
    path.rounds(&full[..10]);
    assert!((path.copa.inverse_delta - inverse - 10.0).abs() < 0.1, "one more each round trip");
    let inverse = path.copa.inverse_delta;
    path.copa.on_congestion(Congestion::Loss, path.now);
    assert_eq!(path.copa.inverse_delta, inverse / 2.0);
    path.rounds(&[RTT; 2]);
    assert_eq!(path.copa.inverse_delta, 2.0, "the queue has emptied: δ = 0.5");
}

#[test]
fn losses_do_not_move_the_window_in_the_default_mode() {
    let mut path = Path::avoiding_at(100.0);
    path.copa.on_congestion(Congestion::Loss, path.now);
    assert_eq!((path.copa.window(), path.copa.inverse_delta), (100, 2.0));
}

#[test]
fn a_mistaken_timeout_is_given_back() {
    let mut path = Path::avoiding_at(100.0);
    path.copa.on_congestion(Congestion::Timeout, path.now);
    path.copa.on_congestion(Congestion::RepeatedTimeout, path.now);
    assert_eq!((path.copa.window(), path.copa.slow_start), (2, true));
    path.copa.on_undo(path.now);
    assert_eq!((path.copa.window(), path.copa.slow_start), (100, false));
}

#[test]
fn it_paces_at_twice_the_window_over_the_standing_rtt() {
    let path = Path::avoiding_at(100.0);
    assert_eq!(path.copa.pacing_rate(), Some(2 * 100 * 1448 * 10));
}
