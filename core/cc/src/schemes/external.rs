//! A window and a pacing rate set from outside: a learned agent as one more scheme.

use crate::parts::window::Windowed;
use crate::schemes::cubic::Cubic;
use crate::{Ack, Congestion, CongestionControl, INITIAL_WINDOW, Nanos, SEGMENT_BYTES};

const NANOS_PER_S: u64 = 1_000_000_000;

/// Linux's tcp_pacing_ss_ratio and tcp_pacing_ca_ratio, in percent of the window per smoothed RTT.
const PACING_PERCENT: (u64, u64) = (200, 120);

/// Executes commands. Losses and timeouts do not move the window, unless [`over_cubic`](Self::over_cubic) lets CUBIC move
/// it between commands. The agent's reports contain them.
#[derive(Clone, Debug)]
pub struct External {
    window: u32,
    pacing_rate: Option<u64>,
    single_packets: bool,
    beneath: Option<Box<Beneath>>,
    /// Whether CUBIC stays beneath after a command.
    is_over_cubic: bool,
    is_commanded: bool,
}

/// The scheme beneath the agent.
#[derive(Clone, Debug)]
struct Beneath {
    cubic: Windowed<Cubic>,
    srtt: Nanos,
}

impl External {
    /// Start with the initial window, unpaced.
    pub const fn new() -> Self {
        Self {
            window: INITIAL_WINDOW,
            pacing_rate: None,
            single_packets: false,
            beneath: None,
            is_over_cubic: false,
            is_commanded: false,
        }
    }

    /// Run CUBIC beneath: commands set the window that CUBIC continues from, and the pacing rate follows the window.
    ///
    /// Orca (Abbasloo et al., SIGCOMM 2020): the TCP beneath reacts to every ACK, the agent every monitor interval.
    #[must_use]
    pub fn over_cubic(mut self) -> Self {
        self.beneath = Some(Box::new(Beneath { cubic: Cubic::new(true).into(), srtt: 0 }));
        self.is_over_cubic = true;
        self
    }

    /// Pace packets one by one, for agents that set a rate instead of a window.
    #[must_use]
    pub const fn pacing_single_packets(mut self) -> Self {
        self.single_packets = true;
        self
    }

    /// Set the window (at least one packet) and the rate in payload bytes per second (0: unpaced).
    pub fn command(&mut self, window: u32, pacing_rate: u64) {
        let window = window.max(1);
        self.is_commanded = true;
        match &mut self.beneath {
            Some(beneath) if self.is_over_cubic => beneath.cubic.window.packets = window,
            _ => {
                self.beneath = None;
                self.window = window;
                self.pacing_rate = (pacing_rate > 0).then_some(pacing_rate);
            }
        }
    }

    /// Let CUBIC move the window until the next command, as leo-bridge's program does without commands. CUBIC continues
    /// from the commanded window, or in slow start if there was no command.
    pub fn fall_back(&mut self, now: Nanos, srtt: Nanos) {
        if self.beneath.is_some() {
            return;
        }
        let mut cubic = Windowed::new(Cubic::new(true));
        cubic.window.packets = self.window;
        if self.is_commanded {
            cubic.window.threshold = self.window.max(2);
        }
        cubic.on_start(now, srtt);
        self.beneath = Some(Box::new(Beneath { cubic, srtt }));
    }
}

impl Beneath {
    #[inline(never)]
    fn pacing_rate(&self) -> Option<u64> {
        if self.srtt == 0 {
            return None;
        }
        let window = self.cubic.window();
        let percent =
            if window < self.cubic.slow_start_threshold() / 2 { PACING_PERCENT.0 } else { PACING_PERCENT.1 };
        let (bytes, time) = (u64::from(window) * u64::from(SEGMENT_BYTES) * percent, 100 * self.srtt);
        // The wide division is ten times slower and is only needed for windows above 90 MB.
        Some(match bytes.checked_mul(NANOS_PER_S) {
            Some(bytes) => bytes / time,
            None => (u128::from(bytes) * u128::from(NANOS_PER_S) / u128::from(time)) as u64,
        })
    }
}

impl Default for External {
    fn default() -> Self {
        Self::new()
    }
}

/// Forward methods to the scheme beneath, if there is one.
macro_rules! beneath {
    ($($method:ident($($name:ident: $type:ty),*)),*) => {
        $(fn $method(&mut self, $($name: $type),*) {
            if let Some(beneath) = &mut self.beneath {
                beneath.cubic.$method($($name),*);
            }
        })*
    };
}

impl CongestionControl for External {
    beneath! {
        on_restart(now: Nanos, idle: Nanos), on_congestion(kind: Congestion, now: Nanos),
        on_unused_window(window: u32, threshold: u32), on_undo(now: Nanos), on_recovered(now: Nanos)
    }

    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        if let Some(beneath) = &mut self.beneath {
            beneath.srtt = srtt;
            beneath.cubic.on_start(now, srtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(beneath) = &mut self.beneath {
            beneath.srtt = ack.srtt;
            beneath.cubic.on_ack(ack);
        }
    }

    /// A commanded window ignores ACKs.
    #[inline]
    fn needs_only_progress(&self) -> bool {
        self.beneath.is_none()
    }

    fn window(&self) -> u32 {
        self.beneath.as_ref().map_or(self.window, |beneath| beneath.cubic.window())
    }

    fn slow_start_threshold(&self) -> u32 {
        self.beneath.as_ref().map_or(self.window, |beneath| beneath.cubic.slow_start_threshold())
    }

    #[inline]
    fn pacing_rate(&self) -> Option<u64> {
        match &self.beneath {
            Some(beneath) => beneath.pacing_rate(),
            None => self.pacing_rate,
        }
    }

    fn paces_single_packets(&self) -> bool {
        self.single_packets
    }

    fn wants_rate_reduction(&self) -> bool {
        self.beneath.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RTT, ack_of_one};

    #[test]
    fn the_rate_of_what_lies_beneath_is_the_window_over_the_rtt_however_large_both_are() {
        for (window, srtt) in
            [(1, 1), (7, 33_333_333), (63_600, 20_000_000), (63_700, 7), (u32::MAX, 500_000_001)]
        {
            let mut cubic = Windowed::new(Cubic::new(true));
            cubic.window.packets = window;
            let beneath = Beneath { cubic, srtt };
            let window = beneath.cubic.window();
            let percent: u128 = if window < beneath.cubic.slow_start_threshold() / 2 { 200 } else { 120 };
            let bytes = u128::from(window) * u128::from(SEGMENT_BYTES);
            let expected = bytes * 1_000_000_000 * percent / 100 / u128::from(srtt);
            assert_eq!(beneath.pacing_rate(), Some(expected as u64), "{window} packets, {srtt} ns");
        }
    }

    #[test]
    fn without_a_scheme_beneath_only_commands_move_the_window() {
        let mut external = External::new();
        external.command(77, 5_000);
        external.on_ack(&ack_of_one(RTT));
        external.on_congestion(Congestion::Timeout, RTT);
        assert_eq!((external.window(), external.pacing_rate()), (77, Some(5_000)));
        external.command(0, 0);
        assert_eq!((external.window(), external.pacing_rate()), (1, None));
    }

    #[test]
    fn over_cubic_slow_start_grows_and_a_loss_takes_three_tenths_of_what_a_command_set() {
        let mut external = External::new().over_cubic();
        external.on_ack(&ack_of_one(RTT));
        assert_eq!(external.window(), INITIAL_WINDOW + 1);
        external.command(1_000, 0);
        assert_eq!(external.window(), 1_000);
        external.on_congestion(Congestion::Loss, 2 * RTT);
        // RFC 9438 §4.6: "β_cubic SHOULD be set to 0.7".
        assert_eq!((external.window(), external.slow_start_threshold()), (700, 700));
        assert!(external.wants_rate_reduction());
    }

    #[test]
    fn in_the_fallback_cubic_goes_on_from_the_commanded_window_until_the_next_command() {
        let mut external = External::new();
        external.command(100, 5_000);
        external.fall_back(RTT, RTT);
        assert_eq!((external.window(), external.slow_start_threshold()), (100, 100));
        // 120 % of a window an RTT of 100 ms.
        assert_eq!(external.pacing_rate(), Some(12 * 100 * 1_448));
        external.on_congestion(Congestion::Loss, 2 * RTT);
        external.fall_back(3 * RTT, RTT);
        assert_eq!(external.window(), 70);
        external.command(55, 0);
        external.on_congestion(Congestion::Loss, 4 * RTT);
        assert_eq!((external.window(), external.pacing_rate()), (55, None));
    }

    #[test]
    fn a_fallback_before_the_first_command_is_in_slow_start() {
        let mut external = External::new();
        external.fall_back(RTT, RTT);
        external.on_ack(&ack_of_one(RTT));
        assert_eq!(external.window(), INITIAL_WINDOW + 1);
    }

    #[test]
    fn over_cubic_the_pacing_rate_follows_the_window() {
        let mut external = External::new().over_cubic();
        assert_eq!(external.pacing_rate(), None);
        external.on_ack(&ack_of_one(RTT));
        // Slow start: 200 % of 11 packets of 1,448 B in 100 ms.
        assert_eq!(external.pacing_rate(), Some(2 * 11 * 14_480));
        external.command(1_000, 0);
        external.on_congestion(Congestion::Loss, RTT);
        assert_eq!(external.pacing_rate(), Some(7 * 12 * 144_800));
    }
}
