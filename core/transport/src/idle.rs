//! Reductions of a window that the application does not use (RFC 5681 §4.1, RFC 7661), by Linux's defaults.

use leo_cc::INITIAL_WINDOW;

use crate::Nanos;

/// Halve the window per timeout of silence, down to the initial one (RFC 2861, Linux's tcp_cwnd_restart,
/// default of net.ipv4.tcp_slow_start_after_idle). RFC 5681 §4.1: "a TCP sender SHOULD set cwnd to no more
/// than RW before beginning transmission if the TCP has not sent data in an interval exceeding the
/// retransmission timeout", with RW the initial window.
pub fn restart_window(window: u32, silence: Nanos, timeout: Nanos) -> u32 {
    let halvings = silence / timeout.max(1);
    window
        .checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX))
        .unwrap_or(0)
        .max(window.min(INITIAL_WINDOW))
}

/// The time for which the window has been unfilled without an ACK (Linux's snd_cwnd_used and snd_cwnd_stamp).
#[derive(Clone, Debug, Default)]
pub struct Starvation {
    since: Nanos,
    used: u32,
}

impl Starvation {
    /// Note that the window limited the sender, not the application.
    pub fn end(&mut self, now: Nanos) {
        *self = Self { since: now, used: 0 };
    }

    /// Note an ACK that may grow the window, whether or not it does (snd_cwnd_stamp in tcp_cong_avoid).
    pub fn renew(&mut self, now: Nanos) {
        self.since = now;
    }

    /// Note an unfilled window with `packets_out` out. After a timeout of this, return their maximum.
    pub fn note(&mut self, now: Nanos, packets_out: u32, timeout: Nanos) -> Option<u32> {
        self.used = self.used.max(packets_out);
        if now - self.since < timeout {
            return None;
        }
        let used = self.used;
        self.end(now);
        Some(used)
    }
}

/// Reduce the window half way to `used`, or to the initial window (Linux's tcp_cwnd_application_limited).
pub fn validated_window(window: u32, used: u32) -> u32 {
    let used = used.max(INITIAL_WINDOW);
    if used < window { (window + used) / 2 } else { window }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_halves_for_each_timeout_of_silence_down_to_the_initial_one() {
        let after = |silence| restart_window(100, silence, 250);
        assert_eq!([0, 249, 250, 500, 750, 1_000, 100_000].map(after), [100, 100, 50, 25, 12, 10, 10]);
        assert_eq!(restart_window(4, 10_000, 250), 4, "what is below the initial window stays");
    }

    #[test]
    fn a_window_that_is_not_filled_goes_half_way_down_to_what_was_used() {
        assert_eq!(validated_window(100, 40), 70);
        assert_eq!(validated_window(100, 3), 55);
        assert_eq!(validated_window(8, 3), 8);
        let mut starvation = Starvation::default();
        starvation.end(1_000);
        assert_eq!(starvation.note(1_100, 30, 250), None);
        assert_eq!(starvation.note(1_200, 40, 250), None);
        assert_eq!(starvation.note(1_250, 20, 250), Some(40));
        assert_eq!(starvation.note(1_300, 20, 250), None);
        starvation.renew(1_400);
        assert_eq!(starvation.note(1_600, 20, 250), None);
        assert_eq!(starvation.note(1_650, 20, 250), Some(20));
    }
}
