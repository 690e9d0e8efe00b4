//! TCP Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", IJSCN 22, 2004).

use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos, Recovery};

/// §3: RTT of the wired reference connection.
const RTT_0: Nanos = 25_000_000;

/// Grows per second like a connection with an RTT of 25 ms, however long its own RTT is.
#[derive(Clone, Debug)]
pub struct Hybla {
    /// ρ = RTT / RTT_0, at least 1, in eighths; 0 before an RTT is known.
    rho_8: u64,
    min_srtt: Nanos,
    /// Fractions of a packet, in 1/128.
    fraction: u64,
}

impl Hybla {
    pub const fn new() -> Self {
        Self { rho_8: 0, min_srtt: Nanos::MAX, fraction: 0 }
    }

    fn note_rtt(&mut self, srtt: Nanos) {
        if srtt > 0 && srtt < self.min_srtt {
            self.min_srtt = srtt;
            self.rho_8 = (8 * srtt / RTT_0).clamp(8, 8 * 1024);
        }
    }

    /// Growth per ACK, in 1/128 packets.
    fn increment(&self, window: &Window) -> u64 {
        if window.in_slow_start() {
            // §3.1: 2^ρ - 1
            let integer_power = 1_u64 << (self.rho_8 / 8).min(16);
            let fractional_power = libm::exp2((self.rho_8 % 8) as f64 / 8.0);
            (integer_power as f64 * 128.0 * fractional_power) as u64 - 128
        } else {
            // §3.1: ρ² / cwnd
            2 * self.rho_8 * self.rho_8 / u64::from(window.packets.max(1))
        }
    }
}

impl WindowBased for Hybla {
    fn on_start(&mut self, window: &mut Window, _now: Nanos, srtt: Nanos) {
        if srtt > 0 {
            self.note_rtt(srtt);
            // §3.2: ρ times the initial window of the reference connection.
            window.packets = (self.rho_8 / 8) as u32;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.note_rtt(ack.srtt);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        if ack.recovery != Recovery::Open || self.rho_8 == 0 {
            // Linux: like Reno during recovery.
            window.grow_as_reno(ack.delivered);
            return;
        }
        let slow_start = window.in_slow_start();
        let increment = self.increment(window);
        self.fraction += increment;
        let mut grown = u64::from(window.packets) + self.fraction / 128;
        self.fraction %= 128;
        if slow_start {
            grown = grown.min(u64::from(window.threshold));
        }
        if increment == 0 {
            // The window is too large for 1/128 per ACK: a packet per round trip.
            window.counted += 1;
            if window.counted >= window.packets {
                window.counted = 0;
                grown += 1;
            }
        }
        // Linux clamps the window, because 2^ρ may overflow it.
        window.packets = grown.min(65_535) as u32;
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        window.reduce(window.packets / 2, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, RTT, Windowed, ack_of_one, round_of_acks};

    #[test]
    fn at_four_times_the_reference_round_trip_it_adds_sixteen_packets_a_round() {
        // §3.1: ρ² = (100 ms / 25 ms)² packets a round trip.
        let mut hybla = Windowed::new(Hybla::new());
        hybla.window.packets = 800;
        hybla.on_congestion(Congestion::Loss, 0);
        round_of_acks(&mut hybla, RTT);
        // Each ACK's growth is rounded down to 128ths of a packet, as in Linux.
        assert!(hybla.window().abs_diff(416) <= 2, "{}", hybla.window());
    }

    #[test]
    fn in_slow_start_an_acknowledgement_adds_two_to_the_rho_less_one() {
        let mut hybla = Windowed::new(Hybla::new());
        hybla.on_start(0, RTT);
        assert_eq!(hybla.window(), 4);
        hybla.on_ack(&ack_of_one(RTT));
        assert_eq!(hybla.window(), 4 + 15);
    }
}
