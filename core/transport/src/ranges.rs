//! Sets of sequence numbers as sorted, disjoint, non-adjacent ranges.

use std::collections::VecDeque;

/// A search checks this many of the last ranges one by one, then uses binary search.
const NEAR: usize = 4;

/// A set of ascending half-open ranges. A deque suffices: packets extend the last range or close a hole near
/// the front, so few entries move, even when heavy loss leaves a hole every few packets.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Return the end of the highest range; 0 when empty.
    pub fn end(&self) -> u64 {
        self.ranges.back().map_or(0, |&(_, end)| end)
    }

    /// Return the range that contains `value`.
    pub fn find(&self, value: u64) -> Option<(u64, u64)> {
        let (start, end) = *self.ranges.get(self.first_that_ends_at(value + 1))?;
        (start <= value).then_some((start, end))
    }

    /// Add `start..end` and call `new` with each missing part. Returns the range that now contains it.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) -> (u64, u64) {
        if start >= end {
            return (start, end);
        }
        let first = self.first_that_ends_at(start);
        let mut from = start;
        let mut touched = first;
        while let Some(&(low, high)) = self.ranges.get(touched).filter(|range| range.0 <= end) {
            if from < low {
                new(from, low);
            }
            from = high;
            touched += 1;
        }
        if from < end {
            new(from, end);
        }
        if touched == first {
            self.ranges.insert(first, (start, end));
            return (start, end);
        }
        // Merge all ranges that it touches.
        let (low, high) = &mut self.ranges[first];
        (*low, *high) = (start.min(*low), end.max(from));
        let range = (*low, *high);
        if touched > first + 1 {
            self.ranges.drain(first + 1..touched);
        }
        range
    }

    pub fn remove_below(&mut self, value: u64) {
        while let Some((start, end)) = self.ranges.front_mut().filter(|range| range.0 < value) {
            if *end > value {
                *start = value;
                return;
            }
            self.ranges.pop_front();
        }
    }

    /// Return the index of the first range that ends at `value` or later.
    #[inline]
    fn first_that_ends_at(&self, value: u64) -> usize {
        match self.ranges.back() {
            None => 0,
            Some(&(_, end)) if end < value => self.ranges.len(),
            Some(&(start, _)) if start < value => self.ranges.len() - 1,
            Some(_) => self.first_before_the_last_that_ends_at(value),
        }
    }

    /// Search the last ranges first: most reports concern them, however many ranges there are.
    fn first_before_the_last_that_ends_at(&self, value: u64) -> usize {
        let last = self.ranges.len() - 1;
        for place in (last.saturating_sub(NEAR)..last).rev() {
            if self.ranges[place].1 < value {
                return place + 1;
            }
        }
        self.ranges.partition_point(|&(_, end)| end < value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_set_of_numbers(operations in prop::collection::vec((0u64..60, 0u64..10, any::<bool>()), 1..60)) {
            let mut ranges = RangeSet::default();
            let mut set = BTreeSet::new();
            for (start, length, insert) in operations {
                if insert {
                    let mut new = Vec::new();
                    ranges.insert(start, start + length, |low, high| new.extend(low..high));
                    let expected: Vec<u64> = (start..start + length).filter(|&value| set.insert(value)).collect();
                    prop_assert_eq!(new, expected);
                } else {
                    ranges.remove_below(start);
                    set.retain(|&value| value >= start);
                }
                let content: Vec<u64> = ranges.ranges.iter().flat_map(|&(low, high)| low..high).collect();
                prop_assert_eq!(content, set.iter().copied().collect::<Vec<_>>());
                let mut pairs = ranges.ranges.iter().zip(ranges.ranges.iter().skip(1));
                prop_assert!(pairs.all(|((_, high), (low, _))| high < low));
                prop_assert!(ranges.ranges.iter().all(|(low, high)| low < high));
                prop_assert_eq!(ranges.find(start).is_some(), set.contains(&start));
            }
        }
    }
}
