//! SaTCP (Cao and Zhang, "SaTCP: Link-Layer Informed TCP Adaptation for Highly Dynamic LEO Satellite Networks", INFOCOM 2023).

mod inhibition;

use inhibition::Inhibition;

use crate::parts::window::Windowed;
use crate::schemes::cubic::Cubic;
use crate::{Ack, Congestion, CongestionControl, Context, Nanos};

/// CUBIC that returns fast from losses around an announced handover. Without announcements it is CUBIC.
#[derive(Clone, Debug)]
pub struct SaTcp {
    cubic: Windowed<Cubic>,
    inhibition: Inhibition,
}

impl SaTcp {
    /// Handovers are reported `early_ms` before they are expected (T_err).
    pub fn new(context: &Context, early_ms: u64) -> Self {
        Self { cubic: Cubic::new(true).into(), inhibition: Inhibition::new(context, early_ms) }
    }

    /// Algorithm 1's satcp_flag.
    fn update(&mut self, now: Nanos) {
        self.cubic.scheme.set_disrupted(self.inhibition.holds(now));
    }
}

impl CongestionControl for SaTcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.update(ack.now);
        self.cubic.on_ack(ack);
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        self.update(now);
        self.cubic.on_congestion(kind, now);
    }

    /// A handover is reported.
    fn path_changed_at(&self, now: Nanos) -> Option<Nanos> {
        self.inhibition.last_report(now)
    }

    forward! {
        cubic: on_restart(now: Nanos, idle: Nanos), on_unused_window(window: u32, threshold: u32),
        on_undo(now: Nanos);
        window -> u32, slow_start_threshold -> u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Handover;
    use crate::SECOND;
    use crate::testing::round_of_acks;

    fn with_handover_at(expected_at: Nanos) -> SaTcp {
        let handovers = [Handover { expected_at }];
        SaTcp::new(&Context { handovers: handovers.into(), ..Context::default() }, 600)
    }

    /// Slow start to 1,000 packets at time 0, before any report.
    fn grow_to_1000(satcp: &mut SaTcp) {
        while satcp.window() < 1000 {
            let acked = 1000 - satcp.window();
            satcp.cubic.on_ack(&crate::Ack { acked, ..crate::testing::ack_of_one(0) });
        }
    }

    /// Return how many round trips of 100 ms the window takes to 950 packets after a loss at 1,000.
    fn rounds_to_return(mut satcp: SaTcp, mut now: Nanos) -> u32 {
        grow_to_1000(&mut satcp);
        satcp.on_congestion(Congestion::Loss, now);
        let mut rounds = 0;
        while satcp.window() < 950 {
            now = round_of_acks(&mut satcp, now);
            rounds += 1;
        }
        rounds
    }

    #[test]
    fn after_a_loss_at_an_announced_handover_the_window_is_back_in_a_ninth_of_the_time() {
        // Algorithm 1: K ← K / 9. K = cbrt(300 / 0.4) = 9.1 s becomes 1.0 s plus rounding.
        let (announced, not) = (with_handover_at(10 * SECOND), with_handover_at(60 * SECOND));
        let (fast, slow) = (rounds_to_return(announced, 10 * SECOND), rounds_to_return(not, 10 * SECOND));
        assert!(fast <= 12, "{fast}");
        assert!(slow >= 35, "{slow}");
    }

    #[test]
    fn a_timeout_at_an_announced_handover_does_not_forget_the_maximum() {
        // Algorithm 1, timeout(): "if satcp_flag then return", before cubic_reset().
        let after_timeout = |expected_at: Nanos| {
            let mut satcp = with_handover_at(expected_at);
            grow_to_1000(&mut satcp);
            let mut now = 10 * SECOND;
            satcp.on_congestion(Congestion::Timeout, now);
            for _ in 0..20 {
                now = round_of_acks(&mut satcp, now);
            }
            satcp.window()
        };
        // Slow start reaches 700 in 10 rounds. Then the window jumps to the old maximum, or grows by 5 % a round.
        let (announced, not) = (after_timeout(10 * SECOND), after_timeout(60 * SECOND));
        assert!((960..=1040).contains(&announced), "{announced}");
        assert!(announced != not, "{not}");
    }
}
