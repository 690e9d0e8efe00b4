//! A flow's usage of its window: an unused window must not grow (RFC 7661; Linux's tcp_cwnd_validate).

/// Maximum usage of the window in the last round trip.
#[derive(Clone, Debug, Default)]
pub struct WindowUsage {
    limited: bool,
    max_packets_out: u32,
    /// The round trip ends when this packet is acknowledged.
    until: u64,
}

impl WindowUsage {
    /// Note that sending stopped with `packets_out` out. `limited`: the window stopped it.
    #[inline]
    pub fn note(&mut self, limited: bool, packets_out: u32, una: u64, next: u64) {
        let fuller = !self.limited && packets_out > self.max_packets_out;
        if limited || fuller || una >= self.until {
            *self = Self { limited, max_packets_out: packets_out, until: next };
        }
    }

    /// Whether the window limits the flow. In slow start a half-used window may grow. `window` returns the window and whether
    /// the flow is in slow start.
    #[inline]
    pub fn is_limited(&self, window: impl FnOnce() -> (u32, bool)) -> bool {
        self.limited || {
            let (window, slow_start) = window();
            slow_start && window < 2 * self.max_packets_out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_slow_start_a_window_half_used_may_grow() {
        for (used, limited) in [(4, false), (5, false), (6, true)] {
            let mut usage = WindowUsage::default();
            usage.note(false, used, 0, u64::from(used));
            assert_eq!(usage.is_limited(|| (10, true)), limited, "{used} of 10 packets");
            assert!(!usage.is_limited(|| (10, false)));
        }
    }
}
