//! Detection of steps of the base RTT from RTT samples alone.

use crate::{MILLISECOND, Nanos, SECOND};

/// A slot lasts an RTT and at least this. So a probe of BBR or a burst of the link leaves a low sample in it.
const MIN_SLOT: Nanos = 50 * MILLISECOND;
/// A rise is compared with the slots of this time before it. A short time limits how much a slow queue widens the band.
const RISE_WINDOW: Nanos = SECOND;
/// A fall is compared with this longer time, so that a queue that empties (CUBIC's after a loss) is rarely a step.
const FALL_WINDOW: Nanos = 5 * SECOND;
/// Fewer slots before a step show no band, however long they last.
const MIN_SLOTS: usize = 6;
/// Slots that must agree on the new level.
const CONFIRMING: usize = 2;
/// Smallest steps. Satellites move the base RTT by less than 1 ms in [`FALL_WINDOW`].
const MIN_RISE: Nanos = 3 * MILLISECOND;
const MIN_FALL: Nanos = 2 * MILLISECOND;
/// `FALL_WINDOW / MIN_SLOT` slots, the confirming ones, and one that is partly within.
const CAPACITY: usize = 128;

/// The samples between two times: the smallest stands for the slot, because queueing only adds (as BBR's min RTT filter,
/// draft-ietf-ccwg-bbr, section 5.5.6).
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    began: Nanos,
    /// Its first RTT: how long it lasts.
    first: Nanos,
    min: Nanos,
}

/// Detects steps of a path's base RTT without a hint from the path, by our rule.
///
/// Two slots after a step must agree. Either
/// - both are above the band of the preceding second, by 3 ms and by the band's width, and nearly equal (a growing queue is
///   not); or
/// - both are below all slots of the preceding five seconds, by 2 ms.
///
/// Each step resets the detector, which then needs six slots before it can detect the next.
#[derive(Clone, Debug)]
pub struct BaseRttSteps {
    /// A ring; slot `n` is at `n % CAPACITY`.
    slots: [Slot; CAPACITY],
    /// Complete slots since the last step.
    complete: usize,
    open: Option<Slot>,
}

impl Default for BaseRttSteps {
    fn default() -> Self {
        Self { slots: [Slot::default(); CAPACITY], complete: 0, open: None }
    }
}

impl BaseRttSteps {
    /// Process an RTT sample; return whether it completes the evidence of a step. Times must not decrease.
    pub fn update(&mut self, now: Nanos, rtt: Nanos) -> bool {
        let new_slot = Slot { began: now, first: rtt, min: rtt };
        let Some(open) = &mut self.open else {
            self.open = Some(new_slot);
            return false;
        };
        if now.saturating_sub(open.began) < open.first.max(MIN_SLOT) {
            open.min = open.min.min(rtt);
            return false;
        }
        self.slots[self.complete % CAPACITY] = std::mem::replace(open, new_slot);
        self.complete += 1;
        let stepped = self.stepped();
        if stepped {
            self.complete = 0;
        }
        stepped
    }

    fn stepped(&self) -> bool {
        let Some(last) = self.complete.checked_sub(CONFIRMING).filter(|&before| before >= MIN_SLOTS) else {
            return false;
        };
        let [early, late] = [last, last + 1].map(|slot| self.slots[slot % CAPACITY]);
        let (low, high) = (early.min.min(late.min), early.min.max(late.min));
        let (mut near, mut far) = ((Nanos::MAX, 0), Nanos::MAX);
        for back in 1..=last.min(CAPACITY - CONFIRMING) {
            let slot = self.slots[(last - back) % CAPACITY];
            let age = early.began - slot.began;
            if age >= FALL_WINDOW && back > MIN_SLOTS {
                break;
            }
            far = far.min(slot.min);
            if age < RISE_WINDOW || back <= MIN_SLOTS {
                near = (near.0.min(slot.min), near.1.max(slot.min));
            }
        }
        let rise = low.saturating_sub(near.1);
        (rise >= MIN_RISE.max(near.1 - near.0) && high - low <= rise / 2)
            || far.saturating_sub(high) >= MIN_FALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::random::Random;

    const MS: Nanos = MILLISECOND;

    /// Return the times in ms of steps in `rtt_us(ms)`, a sample a millisecond, for 20 s.
    fn steps(rtt_us: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut detector = BaseRttSteps::default();
        (0..20_000).filter(|&ms| detector.update(ms * MS, rtt_us(ms) * 1_000)).collect()
    }

    #[test]
    fn each_step_is_seen_when_two_slots_agree_on_it() {
        // Slots last an RTT and at least 50 ms. The one in which the RTT falls has the new minimum already.
        for (after, least, most) in
            [(70_000, 140, 200), (64_000, 128, 188), (57_000, 57, 117), (30_000, 50, 110)]
        {
            let detected = steps(|ms| if ms < 7_013 { 60_000 } else { after });
            assert_eq!(detected.len(), 1, "{after}: {detected:?}");
            let lag = detected[0] - 7_013;
            assert!((least..=most).contains(&lag), "{after}: {lag} ms");
        }
        assert_eq!(steps(|ms| if ms < 7_013 { 60_000 } else { 62_900 }), [], "less than 3 ms up");
        assert_eq!(steps(|ms| if ms < 7_013 { 60_000 } else { 58_100 }), [], "less than 2 ms down");
    }

    #[test]
    fn steps_a_second_apart_are_seen_one_by_one() {
        let detected = steps(|ms| 60_000 + ms / 1_000 % 2 * 10_000);
        assert_eq!(detected.len(), 19, "{detected:?}");
        assert!(
            detected.iter().zip(1..).all(|(at, step)| at / 1_000 == step && at % 1_000 < 250),
            "{detected:?}"
        );
    }

    #[test]
    fn a_satellites_motion_a_growing_queue_and_a_sawtooth_are_no_steps() {
        // 6 km/s away at both ends: 0.08 ms of RTT a second.
        assert_eq!(steps(|ms| 60_000 + ms * 80 / 1_000), []);
        assert_eq!(steps(|ms| 80_000 - ms * 80 / 1_000), []);
        // A queue that grows by 40 ms a second.
        assert_eq!(steps(|ms| 60_000 + 40 * ms), []);
        // It empties within 20 ms, every 3 s, to the same level.
        let sawtooth = |ms: u64| {
            let phase = ms % 3_000;
            if phase < 2_980 { 60_000 + phase * 10 } else { 60_000 + (3_000 - phase) * 1_490 }
        };
        assert_eq!(steps(sawtooth), []);
    }

    #[test]
    fn queueing_above_the_base_hides_no_step_while_each_slot_has_a_packet_without_it() {
        let mut random = Random::new(7);
        let queue: Vec<u64> = (0..20_000).map(|_| (random.unit() * 30_000.0) as u64).collect();
        let detected = steps(|ms| if ms < 9_000 { 50_000 } else { 75_000 } + queue[ms as usize]);
        assert_eq!(detected.len(), 1, "{detected:?}");
        assert!((9_100..9_300).contains(&detected[0]), "{detected:?}");
    }

    /// Apply the documented rule to all past slots.
    fn reference_steps(samples: &[(Nanos, Nanos)]) -> Vec<Nanos> {
        let (mut detected, mut slots, mut open) =
            (Vec::new(), Vec::<Slot>::new(), Vec::<(Nanos, Nanos)>::new());
        for &(now, rtt) in samples {
            let full = open.first().filter(|&&(began, first)| now - began >= first.max(MIN_SLOT));
            if let Some(&(began, first)) = full {
                let min = open.iter().map(|sample| sample.1).min().unwrap();
                slots.push(Slot { began, first, min });
                open.clear();
                let split = slots.split_at_checked(slots.len().wrapping_sub(2));
                if let Some((past, [early, late])) = split.filter(|(past, _)| past.len() >= 6) {
                    let since = |time: Nanos| {
                        let recent =
                            past.iter().filter(|slot| early.began - slot.began < time).count().max(6);
                        past[past.len() - recent..].iter().map(|slot| slot.min).collect::<Vec<_>>()
                    };
                    let (near, far) = (since(SECOND), since(5 * SECOND));
                    let (top, bottom) = (*near.iter().max().unwrap(), *near.iter().min().unwrap());
                    let up = |slot: &Slot| slot.min >= top + (3 * MS).max(top - bottom);
                    let rise = early.min.min(late.min).saturating_sub(top);
                    let level = early.min.abs_diff(late.min) <= rise / 2;
                    let down = |slot: &Slot| slot.min + 2 * MS <= *far.iter().min().unwrap();
                    if (up(early) && up(late) && level) || (down(early) && down(late)) {
                        detected.push(now);
                        slots.clear();
                    }
                }
            }
            open.push((now, rtt));
        }
        detected
    }

    #[test]
    fn a_direct_implementation_of_the_rule_detects_equal_steps_in_random_walks() {
        let mut step_count = 0;
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let (mut now, mut base) = (0, 60.0);
            let samples: Vec<(Nanos, Nanos)> = (0..6_000)
                .map(|_| {
                    now += (random.unit() * if random.unit() < 0.001 { 4e9 } else { 2e7 }) as Nanos;
                    if random.unit() < 0.003 {
                        base = 20.0 + 200.0 * random.unit();
                    }
                    (now, ((base + 8.0 * random.unit()) * 1e6) as Nanos)
                })
                .collect();
            let mut detector = BaseRttSteps::default();
            let detected: Vec<Nanos> = samples
                .iter()
                .filter(|(at, rtt)| detector.update(*at, *rtt))
                .map(|sample| sample.0)
                .collect();
            assert_eq!(detected, reference_steps(&samples), "{seed}");
            step_count += detected.len();
        }
        assert!(step_count > 200, "{step_count}");
    }
}
