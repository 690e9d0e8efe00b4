//! Limits how long the real-time thread stays awake.
//!
//! Linux keeps 50 ms of every second for ordinary processes (sched(7), sched_rt_runtime_us: "950,000"). It
//! stops a real-time thread that hardly sleeps for that long, and then no packet leaves. Waiting awake for
//! closely spaced packets would cause this, so the thread may do so only if it sleeps half of the time.

use leo_link::Nanos;

/// With this much sleep owed, the thread does not wait awake.
const MIN_OWED: Nanos = 20_000;

/// Upper bound of the sleep owed, so that the distant past does not count.
const MAX_OWED: Nanos = 200_000;

/// Keeps account of the sleep that the thread owes.
#[derive(Debug, Default)]
pub struct SleepDebt {
    owed: Nanos,
    since: Nanos,
}

impl SleepDebt {
    #[inline]
    pub fn was_awake(&mut self, now: Nanos) {
        self.owed = (self.owed + (now - self.since)).min(MAX_OWED);
        self.since = now;
    }

    /// Record sleep until `now`. It cannot be saved up: other processes may not have needed it.
    #[inline]
    pub fn was_asleep(&mut self, now: Nanos) {
        self.owed = self.owed.saturating_sub(now - self.since);
        self.since = now;
    }

    /// Return whether it has slept too little to wait awake.
    pub const fn is_owed(&self) -> bool {
        self.owed >= MIN_OWED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Nanos = 1_000;

    /// Return how many of 1,000 waits must be asleep, given this much time awake and asleep before each.
    fn owed(awake: Nanos, asleep: Nanos) -> usize {
        let (mut debt, mut now) = (SleepDebt::default(), 0);
        let count = |_: &usize| {
            now += awake;
            debt.was_awake(now);
            let owed = debt.is_owed();
            now += asleep;
            debt.was_asleep(now);
            owed
        };
        (0..1_000).filter(count).count()
    }

    #[test]
    fn a_thread_that_sleeps_half_of_the_time_may_always_wait_awake() {
        assert_eq!(owed(19 * US, 19 * US), 0);
        assert_eq!(owed(2 * US, 3 * US), 0);
    }

    #[test]
    fn a_thread_that_hardly_sleeps_may_not_after_a_moment() {
        assert!(owed(12 * US, 6 * US) > 980);
    }

    #[test]
    fn a_long_time_awake_is_repaid_by_a_short_sleep() {
        let mut debt = SleepDebt::default();
        debt.was_awake(1_000_000 * US);
        assert!(debt.is_owed());
        debt.was_asleep(1_000_000 * US + MAX_OWED);
        assert!(!debt.is_owed());
    }
}
