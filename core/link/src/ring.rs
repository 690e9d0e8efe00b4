//! A queue of numbered items whose length in memory is a power of two: a place is a mask away.

/// Places at first.
const INITIAL_CAPACITY: usize = 16;

/// A queue that numbers its items from 0 on.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    first: u64,
    end: u64,
}

impl<T: Copy> Ring<T> {
    /// Create an empty queue. The first item allocates memory.
    pub fn new() -> Self {
        Self { slots: Box::default(), first: 0, end: 0 }
    }

    /// The number of the first item: the items removed so far.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The number of the next item.
    pub const fn end(&self) -> u64 {
        self.end
    }

    pub const fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Return the item with this number, if it is in the queue.
    #[inline(always)]
    pub fn get(&self, number: u64) -> Option<&T> {
        if number == self.end {
            return None;
        }
        debug_assert!(self.first <= number && number < self.end);
        self.slots.get(number as usize & self.slots.len().wrapping_sub(1))
    }

    /// Return the first item.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.get(self.first)
    }

    /// Remove the first item and return it where it was, with the item behind it.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(&T, Option<&T>)> {
        let (first, second) = (self.first, self.first + 1);
        if first == self.end {
            return None;
        }
        self.first = second;
        let slots = &self.slots[..];
        let mask = slots.len().wrapping_sub(1);
        let behind = if second == self.end { None } else { slots.get(second as usize & mask) };
        Some((slots.get(first as usize & mask)?, behind))
    }

    /// Append an item.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        self.extend(1, item, |_| item);
    }

    /// Append `count` items. `sample` is any item.
    #[inline(always)]
    pub fn extend(&mut self, count: u32, sample: T, mut item: impl FnMut(u32) -> T) {
        while (self.end - self.first) as usize + count as usize > self.slots.len() {
            self.grow(sample);
        }
        let slots = &mut self.slots[..];
        let mask = slots.len().wrapping_sub(1);
        for place in 0..count {
            if let Some(slot) = slots.get_mut((self.end + u64::from(place)) as usize & mask) {
                *slot = item(place);
            }
        }
        self.end += u64::from(count);
    }

    /// Double the memory; `sample` fills it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, sample: T) {
        let mut slots = vec![sample; (2 * self.slots.len()).max(INITIAL_CAPACITY)].into_boxed_slice();
        let (old, new) = (self.slots.len().wrapping_sub(1), slots.len() - 1);
        for number in self.first..self.end {
            slots[number as usize & new] = self.slots[number as usize & old];
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_deque_with_numbers(operations in prop::collection::vec((any::<bool>(), 0_u32..40), 1..100)) {
            let (mut ring, mut deque) = (Ring::new(), VecDeque::new());
            let (mut pushed, mut popped) = (0, 0);
            for (appends, count) in operations {
                if appends {
                    ring.extend(count, u64::MAX, |place| pushed + u64::from(place));
                    deque.extend(pushed..pushed + u64::from(count));
                    pushed += u64::from(count);
                } else {
                    for _ in 0..count {
                        let item = deque.pop_front();
                        let (first, second) = ring.pop().map_or((None, None), |(first, second)| (Some(*first), second.copied()));
                        prop_assert_eq!((first, second), (item, deque.front().copied()));
                        popped += u64::from(item.is_some());
                    }
                }
                prop_assert_eq!((ring.first(), ring.end(), ring.is_empty()), (popped, pushed, deque.is_empty()));
                let items: Vec<u64> = (popped..pushed).filter_map(|number| ring.get(number).copied()).collect();
                prop_assert!(items.iter().eq(&deque));
                prop_assert_eq!((ring.front(), ring.get(pushed)), (deque.front(), None));
            }
        }
    }
}
