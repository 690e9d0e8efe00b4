//! Scalable TCP (Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR 33(2), 2003).

use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// §3.1: each acknowledged packet adds a = 0.01 packets; below 100 packets the window grows like Reno's.
const PACKETS_PER_INCREASE: u32 = 100;
/// §3.1: b = 1/8 on a loss.
const DECREASE_SHIFT: u32 = 3;

/// Multiplicative increase, multiplicative decrease: recovery takes the same number of round trips at any rate.
#[derive(Clone, Debug)]
pub struct Scalable;

impl WindowBased for Scalable {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.may_grow && ack.window_limited {
            window.grow(ack.delivered, |packets| packets.min(PACKETS_PER_INCREASE));
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        window.reduce(window.packets - (window.packets >> DECREASE_SHIFT), kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, Windowed, round_of_acks};

    #[test]
    fn a_round_trip_adds_a_hundredth_and_a_loss_takes_an_eighth() {
        let mut scalable = Windowed::new(Scalable);
        scalable.window.packets = 800;
        scalable.on_congestion(Congestion::Loss, 0);
        assert_eq!(scalable.window(), 700);
        round_of_acks(&mut scalable, 0);
        assert_eq!(scalable.window(), 707);
    }
}
