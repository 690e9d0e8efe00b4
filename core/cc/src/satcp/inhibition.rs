//! When SaTCP's flag is set: from a report that comes early until the latest that its handover may be felt.

use std::sync::Arc;

use crate::{Context, Handover, Nanos};

const MILLISECOND: Nanos = 1_000_000;
/// Section V-B: about 90 % of predictions are within 0.6 s.
const REPORT_ERROR: Nanos = 600 * MILLISECOND;
/// Section V-C: the inhibition lasts 2 T_err + TCP_RTO_MIN + 0.1 s.
const INHIBITION: Nanos = 2 * REPORT_ERROR + 200 * MILLISECOND + 100 * MILLISECOND;

/// The announced handovers and the first that is not over.
#[derive(Clone, Debug)]
pub struct Inhibition {
    handovers: Arc<[Handover]>,
    next: usize,
}

impl Inhibition {
    pub fn new(context: &Context) -> Self {
        Self { handovers: context.handovers.clone(), next: 0 }
    }

    /// Whether a report holds at `now`, which must not go back.
    pub fn holds(&mut self, now: Nanos) -> bool {
        // A report comes T_err before its handover is expected.
        while let Some(handover) = self.handovers.get(self.next)
            && now >= handover.expected_at.saturating_sub(REPORT_ERROR) + INHIBITION
        {
            self.next += 1;
        }
        let next = self.handovers.get(self.next);
        next.is_some_and(|handover| now >= handover.expected_at.saturating_sub(REPORT_ERROR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_holds_from_an_error_before_the_handover_for_one_and_a_half_seconds() {
        let handovers = [10_000, 10_500, 30_000].map(|ms| Handover { expected_at: ms * MILLISECOND });
        let mut inhibition = Inhibition::new(&Context { handovers: handovers.into(), ..Context::default() });
        let changes: Vec<u64> = (1..40_000)
            .scan(false, |before, ms| {
                let holds = inhibition.holds(ms * MILLISECOND);
                let changed = holds != *before;
                *before = holds;
                Some(changed.then_some(ms))
            })
            .flatten()
            .collect();
        assert_eq!(changes, [9_400, 11_400, 29_400, 30_900]);
    }
}
