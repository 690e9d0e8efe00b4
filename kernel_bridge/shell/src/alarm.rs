//! When to wake up so as to be there when a packet is due.
//!
//! A sleep ends some microseconds late, on each machine by another time. The alarm learns by how much nearly all of its
//! sleeps are late at most, and ends them so much earlier; whoever wakes up too early looks at the clock until it is time,
//! which is short.

use leo_link::{NEVER, Nanos};

/// Nineteen of twenty sleeps shall end too early: then the lead moves down by one step nineteen times as often as it moves
/// up by nineteen.
const STEP: Nanos = 100;
const UP_STEPS: Nanos = 19;
/// Half of all sleeps end later than usual, half sooner.
const USUAL_STEP: Nanos = 500;

/// Plans sleeps.
#[derive(Debug)]
pub struct Alarm {
    /// By how much sleeps end earlier than needed.
    lead: Nanos,
    /// At most this.
    bound: Nanos,
    /// Whether the last sleep was to end early.
    leads: bool,
    /// When the last sleep was to end.
    until: Nanos,
    /// How much later sleeps end than they were to, in the middle.
    usual: Nanos,
}

impl Alarm {
    /// An alarm that never looks at the clock for longer than `bound` without sleeping.
    pub const fn new(bound: Nanos) -> Self {
        Self { lead: 0, bound, leads: true, until: NEVER, usual: 0 }
    }

    /// How long to sleep at `now` when something is due at `due`; for ever if nothing is. Where it is near, not at all,
    /// unless sleep is `welcome`: then until it is due, and a little more.
    #[inline]
    pub fn sleep(&mut self, due: Nanos, now: Nanos, welcome: bool) -> Option<Nanos> {
        self.leads = !welcome;
        let lead = if welcome { 0 } else { self.lead };
        let sleep = (due != NEVER).then(|| due.saturating_sub(now).saturating_sub(lead));
        self.until = sleep.map_or(NEVER, |sleep| now + sleep);
        sleep
    }

    /// How long it usually takes to wake up, in ns: how long ago that has happened which ended a sleep.
    #[must_use]
    pub const fn latency(&self) -> Nanos {
        self.usual
    }

    /// A sleep for something due at `due` has ended at `now` by itself.
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

    /// Sleep `times`, each time waking up later than asked by what `latency` says; returns the lead in the end.
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
        // Evenly between 20 and 40 µs: one of twenty is above 39.
        let lead = learn(&mut alarm, 20_000, |time| 20 * US + time * 7_919 % (20 * US));
        assert!((36 * US..=42 * US).contains(&lead), "{lead}");
        // The machine becomes quick: soon no sleep ends early for longer than a moment.
        assert!(learn(&mut alarm, 1_000, |_| 2 * US) <= 4 * US);
    }

    #[test]
    fn half_of_all_sleeps_are_late_by_more_than_usual() {
        let mut alarm = Alarm::new(150 * US);
        // Late by 20 to 120 µs, evenly.
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
