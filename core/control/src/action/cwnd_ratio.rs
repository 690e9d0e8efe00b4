//! Actions that multiply CUBIC's window (Orca) or the agent's own window by 4^a.

use super::{MAX_CWND_PACKETS, MIN_CWND_PACKETS};

/// The released server multiplies the window by 1.1 per interval until slow start is over.
const SLOW_START_PERCENT: u64 = 110;

/// Return Orca's new window: `⌊⌊100 · 4^a⌋ · cwnd / 100⌋`, at least 4 packets. Source: Orca (Abbasloo et al.,
/// SIGCOMM 2020), equation 1, `cwnd = 4^α · cwnd` with α in [-1, 1]. The released agent sends the factor as a
/// truncated percentage, and the released server multiplies integers.
pub(super) fn of_cubic(action: f32, cwnd_packets: u32) -> u32 {
    let percent = (libm::pow(4.0, super::bounded(action)) * 100.0) as u64;
    scaled(percent, cwnd_packets)
}

/// Return Orca's window in CUBIC's first slow start, when it does not ask the policy.
pub(super) fn in_slow_start(cwnd_packets: u32) -> u32 {
    scaled(SLOW_START_PERCENT, cwnd_packets)
}

fn scaled(percent: u64, cwnd_packets: u32) -> u32 {
    let packets = percent * u64::from(cwnd_packets) / 100;
    packets.clamp(u64::from(MIN_CWND_PACKETS), u64::from(MAX_CWND_PACKETS)) as u32
}

/// A window that only the agent changes, by `4^a` per action, with its fraction of a packet. Sage (Yen et
/// al., SIGCOMM 2023) multiplies by `2^a` with a in [-2, 2], in thousandths: the same range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OwnWindow {
    /// In packets; the flow gets this rounded up.
    exact: f64,
}

impl OwnWindow {
    pub(super) fn act(&mut self, action: f32, cwnd_packets: u32) -> u32 {
        // First action, or something else has changed the window.
        if self.exact.ceil() as u32 != cwnd_packets {
            self.exact = f64::from(cwnd_packets);
        }
        self.exact = (self.exact * libm::exp2(log2_ratio(action)))
            .clamp(f64::from(MIN_CWND_PACKETS), f64::from(MAX_CWND_PACKETS));
        self.exact.ceil() as u32
    }
}

/// Return the base-2 logarithm of the action's factor on the window.
pub(super) fn log2_ratio(action: f32) -> f64 {
    libm::round(2_000.0 * super::bounded(action)) / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orca_multiplies_by_whole_percentages_of_4_to_the_action() {
        assert_eq!(of_cubic(0.0, 417), 417);
        assert_eq!(of_cubic(1.0, 100), 400);
        assert_eq!(of_cubic(-1.0, 100), 25);
        assert_eq!(of_cubic(0.5, 33), 66);
        // 4^0.1 = 1.1487 is 114 %, and 114 % of 99 packets are 112.86.
        assert_eq!(of_cubic(0.1, 99), 112);
        assert_eq!(of_cubic(-0.001, 1_000), 990); // 0.9986 is 99 %
    }

    #[test]
    fn orcas_window_has_at_least_4_packets() {
        assert_eq!(of_cubic(-1.0, 8), MIN_CWND_PACKETS);
        assert_eq!(of_cubic(1.0, MAX_CWND_PACKETS), MAX_CWND_PACKETS);
        assert_eq!(of_cubic(f32::NAN, 50), 50);
    }

    #[test]
    fn in_slow_start_the_window_grows_by_a_tenth() {
        assert_eq!(in_slow_start(100), 110);
        assert_eq!(in_slow_start(19), 20);
    }

    #[test]
    fn an_action_is_rounded_to_thousandths_of_an_octave() {
        assert_eq!(log2_ratio(1.0), 2.0);
        assert_eq!(log2_ratio(-0.25), -0.5);
        assert_eq!(log2_ratio(0.000_6), 0.001);
        assert_eq!(log2_ratio(0.000_2), 0.0);
    }

    #[test]
    fn small_actions_on_a_window_of_ones_own_add_up() {
        let mut window = OwnWindow::default();
        let mut cwnd = 10;
        for _ in 0..60 {
            cwnd = window.act(-0.01, cwnd);
        }
        // 10 · 4^-0.6 is 4.4. Rounding up at every step would stay at 10.
        assert_eq!(cwnd, 5);
        assert_eq!(window.act(1.0, 20), 80, "another window is taken as it is");
    }
}
