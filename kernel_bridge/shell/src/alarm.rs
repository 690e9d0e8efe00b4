//! Plans sleeps so that the shell is awake when a packet is due.
//!
//! Sleeps end some microseconds late, depending on the machine. The alarm learns a bound that 19 of 20 sleeps
//! keep and ends sleeps that much earlier. After an early wake-up the shell polls the clock briefly.

use leo_link::{NEVER, Nanos};

/// In balance, the lead moves down by one step 19 times as often as up by 19: 19 of 20 sleeps end early.
const STEP: Nanos = 100;
const UP_STEPS: Nanos = 19;
/// Step of the median lateness: half of all sleeps end later, half sooner.
const USUAL_STEP: Nanos = 500;

#[derive(Debug)]
pub struct Alarm {
    /// How much earlier than needed sleeps end.
    lead: Nanos,
    /// Upper bound of `lead`.
    bound: Nanos,
    /// Whether the last sleep used the lead.
    leads: bool,
    /// Planned end of the last sleep.
    until: Nanos,
    /// Median lateness of sleeps.
    usual: Nanos,
}

impl Alarm {
    /// Create an alarm that lets the shell poll the clock for at most `bound` without sleeping.
    pub const fn new(bound: Nanos) -> Self {
        Self { lead: 0, bound, leads: true, until: NEVER, usual: 0 }
    }

    /// Return how long to sleep at `now` until `due`; `None` (forever) if nothing is due. The lead shortens
    /// the sleep, possibly to 0, unless sleep is `welcome`.
    #[inline]
    pub fn sleep(&mut self, due: Nanos, now: Nanos, welcome: bool) -> Option<Nanos> {
        self.leads = !welcome;
        let lead = if welcome { 0 } else { self.lead };
        let sleep = (due != NEVER).then(|| due.saturating_sub(now).saturating_sub(lead));
        self.until = sleep.map_or(NEVER, |sleep| now + sleep);
        sleep
    }

    /// Return the usual wake-up latency in ns: how long ago the event happened that ended a sleep.
    pub const fn latency(&self) -> Nanos {
        self.usual
    }

    /// Learn from a sleep for `due` that timed out at `now`.
    #[inline]
    pub fn woke(&mut self, due: Nanos, now: Nanos) {
        let late = now.saturating_sub(self.until);
        self.usual =
            if late > self.usual { self.usual + USUAL_STEP } else { self.usual.saturating_sub(USUAL_STEP) };
        if !self.leads {
            return;
        }
        self.lead = if now > due {
            (self.lead + UP_STEPS * STEP).min(self.bound)
        } else {
            self.lead.saturating_sub(STEP)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Nanos = 1_000;

    /// Sleep `times` times, each time waking up late by `latency`; return the final lead.
    fn learn(alarm: &mut Alarm, times: u64, latency: impl Fn(u64) -> Nanos) -> Nanos {
        for time in 0..times {
            let (now, due) = (time * 1_000 * US, (time + 1) * 1_000 * US);
            let sleep = alarm.sleep(due, now, false).unwrap();
            alarm.woke(due, now + sleep + latency(time));
        }
        alarm.lead
    }

    #[test]
    fn the_lead_becomes_what_nineteen_of_twenty_sleeps_are_late_at_most() {
        let mut alarm = Alarm::new(50 * US);
        // Uniform between 20 and 40 µs: one of twenty is above 39.
        let lead = learn(&mut alarm, 20_000, |time| 20 * US + time * 7_919 % (20 * US));
        assert!((36 * US..=42 * US).contains(&lead), "{lead}");
        // The machine becomes fast, and the lead soon shrinks.
        assert!(learn(&mut alarm, 1_000, |_| 2 * US) <= 4 * US);
    }

    #[test]
    fn half_of_all_sleeps_are_late_by_more_than_usual() {
        let mut alarm = Alarm::new(150 * US);
        // Uniform between 20 and 120 µs.
        learn(&mut alarm, 20_000, |time| 20 * US + time * 7_919 % (100 * US));
        assert!((65 * US..=75 * US).contains(&alarm.latency()), "{}", alarm.latency());
    }

    #[test]
    fn the_lead_has_a_bound_however_slow_the_machine_is() {
        assert_eq!(learn(&mut Alarm::new(50 * US), 10_000, |_| 900 * US), 50 * US);
        assert_eq!(learn(&mut Alarm::new(0), 10_000, |_| 900 * US), 0);
    }

    #[test]
    fn what_is_near_is_waited_for_awake_and_nothing_for_ever() {
        let mut alarm = Alarm { lead: 30 * US, ..Alarm::new(50 * US) };
        assert_eq!(alarm.sleep(100 * US, 20 * US, false), Some(50 * US));
        assert_eq!(alarm.sleep(100 * US, 70 * US, false), Some(0));
        assert_eq!(alarm.sleep(100 * US, 101 * US, false), Some(0));
        assert_eq!(alarm.sleep(NEVER, 0, false), None);
    }

    #[test]
    fn where_sleep_is_welcome_it_ends_when_something_is_due_and_teaches_nothing() {
        let mut alarm = Alarm { lead: 30 * US, ..Alarm::new(50 * US) };
        assert_eq!(alarm.sleep(100 * US, 70 * US, true), Some(30 * US));
        alarm.woke(100 * US, 120 * US);
        assert_eq!(alarm.lead, 30 * US);
    }
}
