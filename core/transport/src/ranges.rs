//! Sets of sequence numbers as sorted, disjoint, non-adjacent ranges.

/// A set of half-open ranges. Small in practice: one range a hole.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The end of the highest range; 0 when empty.
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.1)
    }

    /// The range that holds `value`.
    pub fn find(&self, value: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|range| range.1 <= value);
        self.ranges.get(index).copied().filter(|range| range.0 <= value)
    }

    /// Add `start..end`; call `new` with each part that was not in before.
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // Ranges first..last overlap or touch the new one.
        let first = self.ranges.partition_point(|range| range.1 < start);
        let last = first + self.ranges[first..].partition_point(|range| range.0 <= end);
        let mut from = start;
        for &(low, high) in &self.ranges[first..last] {
            if from < low {
                new(from, low.min(end));
            }
            from = from.max(high);
        }
        if from < end {
            new(from, end);
        }
        if first == last {
            self.ranges.insert(first, (start, end));
        } else {
            self.ranges[first] = (start.min(self.ranges[first].0), end.max(self.ranges[last - 1].1));
            self.ranges.drain(first + 1..last);
        }
    }

    /// Take out everything below `value`.
    pub fn remove_below(&mut self, value: u64) {
        let gone = self.ranges.partition_point(|range| range.1 <= value);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(value);
        }
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
                prop_assert!(ranges.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert_eq!(ranges.find(start).is_some(), set.contains(&start));
            }
        }
    }
}
