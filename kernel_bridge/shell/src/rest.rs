//! What a real-time thread leaves to the others.
//!
//! One that is awake nearly all the time is stopped: Linux leaves 50 ms of every second to ordinary processes
//! (sched(7), sched_rt_runtime_us: "950,000"), and for so long no packet leaves. When packets follow one another closely,
//! waiting awake for each would come to that. So it is a luxury of those who sleep as long as they are awake.

use leo_link::Nanos;

/// Owed so much, it does not wait awake.
const LEAST: Nanos = 20_000;

/// What was long ago does not count: it never owes more.
const MOST: Nanos = 200_000;

/// Keeps account of sleep.
#[derive(Debug, Default)]
pub struct Rest {
    owed: Nanos,
    since: Nanos,
}

impl Rest {
    /// It was awake until `now`.
    #[inline]
    pub fn was_awake(&mut self, now: Nanos) {
        self.owed = (self.owed + (now - self.since)).min(MOST);
        self.since = now;
    }

    /// It was asleep until `now`. Sleep is not saved up: others may not have needed it.
    #[inline]
    pub fn was_asleep(&mut self, now: Nanos) {
        self.owed = self.owed.saturating_sub(now - self.since);
        self.since = now;
    }

    /// Whether it has slept too little to wait awake.
    #[inline]
    pub const fn is_owed(&self) -> bool {
        self.owed >= LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Nanos = 1_000;

    /// How many of 1,000 waits were not to be awake, where each follows so much work and so much sleep.
    fn owed(awake: Nanos, asleep: Nanos) -> usize {
        let (mut rest, mut now) = (Rest::default(), 0);
        let count = |_: &usize| {
            now += awake;
            rest.was_awake(now);
            let owed = rest.is_owed();
            now += asleep;
            rest.was_asleep(now);
            owed
        };
        (0..1_000).filter(count).count()
    }

    #[test]
    fn whoever_sleeps_half_of_the_time_may_always_wait_awake() {
        assert_eq!(owed(19 * US, 19 * US), 0);
        assert_eq!(owed(2 * US, 3 * US), 0);
    }

    #[test]
    fn whoever_hardly_sleeps_may_not_after_a_moment() {
        assert!(owed(12 * US, 6 * US) > 980);
    }

    #[test]
    fn a_long_time_awake_is_made_good_by_a_short_one_asleep() {
        let mut rest = Rest::default();
        rest.was_awake(1_000_000 * US);
        assert!(rest.is_owed());
        rest.was_asleep(1_000_000 * US + MOST);
        assert!(!rest.is_owed());
    }
}
