//! Sets of sequence numbers as sorted, disjoint, non-adjacent ranges.

use std::collections::BTreeMap;

/// A set of half-open ranges. A tree, because a long window under heavy loss has a hole every few packets.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    /// Ends by starts.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The end of the highest range; 0 when empty.
    #[inline]
    pub fn end(&self) -> u64 {
        self.ranges.last_key_value().map_or(0, |(_, &end)| end)
    }

    /// The range that holds `value`.
    pub fn find(&self, value: u64) -> Option<(u64, u64)> {
        let (&start, &end) = self.ranges.range(..=value).next_back()?;
        (value < end).then_some((start, end))
    }

    /// Add `start..end`; call `new` with each part that was not in before.
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // The range that begins at or before the new one may hold or touch its start: then it grows.
        let mut before = self.ranges.range_mut(..=start).next_back().filter(|(_, high)| **high >= start);
        let mut from = start;
        if let Some((_, high)) = &mut before {
            if **high >= end {
                return;
            }
            from = **high;
            **high = end;
        } else {
            self.ranges.insert(start, end);
        }
        // Those that begin within it or touch its end go into it.
        while let Some((&low, &high)) = self.ranges.range(start + 1..=end).next() {
            if from < low {
                new(from, low);
            }
            from = high;
            self.ranges.remove(&low);
        }
        if from < end {
            new(from, end);
        } else {
            let grown = self.ranges.range_mut(..=start).next_back();
            *grown.expect("it was put in above").1 = from;
        }
    }

    /// Take out everything below `value`.
    pub fn remove_below(&mut self, value: u64) {
        while let Some(first) = self.ranges.first_entry()
            && *first.key() < value
        {
            let end = first.remove();
            if end > value {
                self.ranges.insert(value, end);
            }
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
                let content: Vec<u64> = ranges.ranges.iter().flat_map(|(&low, &high)| low..high).collect();
                prop_assert_eq!(content, set.iter().copied().collect::<Vec<_>>());
                let disjoint = ranges.ranges.values().zip(ranges.ranges.keys().skip(1)).all(|(high, low)| high < low);
                prop_assert!(disjoint && ranges.ranges.iter().all(|(low, high)| low < high));
                prop_assert_eq!(ranges.find(start).is_some(), set.contains(&start));
            }
        }
    }
}
