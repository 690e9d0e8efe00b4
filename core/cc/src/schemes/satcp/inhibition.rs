//! SaTCP's flag: set from an early report until the latest time that its handover can cause losses.

use std::sync::Arc;

use crate::{Context, Handover, MILLISECOND, Nanos};

/// Section V-C: TCP_RTO_MIN + 0.1 s.
const MARGIN: Nanos = 200 * MILLISECOND + 100 * MILLISECOND;

/// The announced handovers, and the first that is not over.
#[derive(Clone, Debug)]
pub struct Inhibition {
    handovers: Arc<[Handover]>,
    next: usize,
    /// T_err: lead of a report before the predicted handover.
    early: Nanos,
}

impl Inhibition {
    pub fn new(context: &Context, early_ms: u64) -> Self {
        Self { handovers: context.handovers.clone(), next: 0, early: early_ms * MILLISECOND }
    }

    const fn reported_at(&self, handover: Handover) -> Nanos {
        handover.expected_at.saturating_sub(self.early)
    }

    /// Return when the last report until `now` came.
    pub fn last_report(&self, now: Nanos) -> Option<Nanos> {
        let reports = self.handovers.partition_point(|&handover| self.reported_at(handover) <= now);
        Some(self.reported_at(self.handovers[..reports].last().copied()?))
    }

    /// Return whether the flag is set at `now`, which must not decrease.
    pub fn holds(&mut self, now: Nanos) -> bool {
        // Section V-C: the inhibition lasts 2 T_err + TCP_RTO_MIN + 0.1 s.
        let freeze = 2 * self.early + MARGIN;
        let over = |handover: &Handover| now >= self.reported_at(*handover) + freeze;
        self.next += self.handovers[self.next..].iter().take_while(|handover| over(handover)).count();
        self.handovers.get(self.next).is_some_and(|&handover| now >= self.reported_at(handover))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the times in ms at which the flag changes around handovers expected at 10, 10.5 and 30 s.
    fn changes(early_ms: u64) -> Vec<u64> {
        let handovers = [10_000, 10_500, 30_000].map(|ms| Handover { expected_at: ms * MILLISECOND });
        let context = Context { handovers: handovers.into(), ..Context::default() };
        let mut inhibition = Inhibition::new(&context, early_ms);
        (1..40_000)
            .scan(false, |before, ms| {
                let holds = inhibition.holds(ms * MILLISECOND);
                let changed = holds != *before;
                *before = holds;
                Some(changed.then_some(ms))
            })
            .flatten()
            .collect()
    }

    #[test]
    fn a_report_holds_from_an_error_before_the_handover_for_one_and_a_half_seconds() {
        assert_eq!(changes(600), [9_400, 11_400, 29_400, 30_900]);
    }

    #[test]
    fn each_report_is_known_from_its_time_until_the_next_even_within_one_freeze() {
        let handovers = [100, 10_000, 10_500].map(|ms| Handover { expected_at: ms * MILLISECOND });
        let inhibition = Inhibition::new(&Context { handovers: handovers.into(), ..Context::default() }, 600);
        let at = |ms: u64| inhibition.last_report(ms * MILLISECOND).map(|at| at / MILLISECOND);
        // The first was due before the run began.
        assert_eq!(
            [0, 9_399, 9_400, 9_899, 9_900, 90_000].map(at),
            [0, 0, 9_400, 9_400, 9_900, 9_900].map(Some)
        );
        assert_eq!(Inhibition::new(&Context::default(), 600).last_report(90_000), None);
    }

    #[test]
    fn the_freezes_of_table_one_are_those_of_its_report_adjustments() {
        // "0.3s 0s", "0.9s -0.3s", "1.3s -0.5s", "2.3s -1.0s"
        for (early, freeze) in [(0, 300), (300, 900), (500, 1_300), (1_000, 2_300)] {
            let changed_at = changes(early);
            assert_eq!(changed_at[changed_at.len() - 2..], [30_000 - early, 30_000 - early + freeze]);
        }
    }
}
