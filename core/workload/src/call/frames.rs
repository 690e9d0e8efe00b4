//! The frames of a call as its receiver shows them, and its freezes.

use std::collections::VecDeque;

use crate::Nanos;

/// Frames whose durations make up the average (W3C, "Identifiers for WebRTC's Statistics API", freezeCount).
const AVERAGED: usize = 30;
/// Frames to be shown before a freeze can be told from the frame rate, as in libwebrtc.
const LEAST_SHOWN: usize = 5;
/// A frame that stays this much longer than the average is a freeze, and at least three times as long (same source).
const FREEZE: Nanos = 150_000_000;

/// The frames on their way, and those shown. A frame is shown once all of its packets have arrived, unless a later one is.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// Number and missing packets of frames that are later than the last one shown.
    expected: VecDeque<(u64, u32)>,
    last_shown: Option<Nanos>,
    /// The last durations.
    durations: VecDeque<Nanos>,
    duration_sum: Nanos,
    freezes: u64,
    frozen: Nanos,
}

impl Frames {
    /// Note that frame `number` of `packets` packets leaves.
    pub fn expect(&mut self, number: u64, packets: u32) {
        self.expected.push_back((number, packets));
    }

    /// A packet of frame `number` has arrived.
    pub fn on_packet(&mut self, now: Nanos, number: u64) {
        let Some(place) = self.expected.front().and_then(|(first, _)| number.checked_sub(*first)) else {
            return;
        };
        let Some((_, missing)) = self.expected.get_mut(place as usize) else { return };
        *missing -= 1;
        if *missing == 0 {
            self.expected.drain(..=place as usize);
            self.show(now);
        }
    }

    /// Return number and total length of the freezes until `now`.
    pub fn freezes(&self, now: Nanos) -> (u64, Nanos) {
        let lasting = self.last_shown.map_or(0, |shown| now - shown);
        let freezes = self.is_freeze(lasting);
        (self.freezes + u64::from(freezes), self.frozen + if freezes { lasting } else { 0 })
    }

    fn show(&mut self, now: Nanos) {
        if let Some(shown) = self.last_shown {
            let duration = now - shown;
            if self.is_freeze(duration) {
                self.freezes += 1;
                self.frozen += duration;
            }
            self.durations.push_back(duration);
            self.duration_sum += duration;
            if self.durations.len() > AVERAGED {
                self.duration_sum -= self.durations.pop_front().unwrap_or(0);
            }
        }
        self.last_shown = Some(now);
    }

    fn is_freeze(&self, duration: Nanos) -> bool {
        if self.durations.len() < LEAST_SHOWN {
            return false;
        }
        let average = self.duration_sum / self.durations.len() as Nanos;
        duration >= (3 * average).max(average + FREEZE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Show frames of one packet every 40 ms but for those that are lost.
    fn shown(lost: std::ops::Range<u64>) -> Frames {
        let mut frames = Frames::default();
        for number in 1..=50 {
            frames.expect(number, 1);
            if !lost.contains(&number) {
                frames.on_packet(number * 40 * MS, number);
            }
        }
        frames
    }

    #[test]
    fn a_frame_that_stays_150_ms_longer_than_the_average_is_a_freeze() {
        // Four lost frames: the frame before stays for 200 ms, and the average is 40 ms.
        assert_eq!(shown(20..24).freezes(2_000 * MS), (1, 200 * MS));
        assert_eq!(shown(20..23).freezes(2_000 * MS), (0, 0), "160 ms are not 190");
        assert_eq!(shown(51..51).freezes(2_190 * MS), (1, 190 * MS), "the last frame stays");
        assert_eq!(shown(2..6).freezes(2_000 * MS), (0, 0), "no frame rate is known");
    }

    #[test]
    fn a_frame_is_shown_when_it_is_complete_and_never_after_a_later_one() {
        let mut frames = Frames::default();
        for number in 1..=3 {
            frames.expect(number, 2);
        }
        for number in [1, 2, 2] {
            frames.on_packet(10 * MS, number);
        }
        assert_eq!(frames.last_shown, Some(10 * MS));
        frames.on_packet(20 * MS, 1);
        assert_eq!((frames.last_shown, frames.expected.len()), (Some(10 * MS), 1));
    }
}
