//! The event queue: winner trees with one pending time per source of events.
//!
//! Links are FIFO, so each needs one entry, however many packets it carries. Almost every event changes a
//! link's time and few change a flow's. A separate tree for links makes updates cost O(log links) with many
//! flows.

use leo_link::{NEVER, Nanos};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Link(usize),
    Flow(usize),
}

/// Pending times. On ties, links come before flows and lower indices before higher ones.
#[derive(Clone, Debug)]
pub struct EventQueue {
    links: Tree,
    flows: Tree,
}

impl EventQueue {
    pub fn new(links: usize, flows: usize) -> Self {
        Self { links: Tree::new(links), flows: Tree::new(flows) }
    }

    /// Return the earliest pending time and its source; the time is `NEVER` when nothing is pending.
    #[inline]
    pub fn first(&self) -> (Nanos, Source) {
        let ((link_time, link), (flow_time, flow)) = (self.links.first(), self.flows.first());
        if flow_time < link_time { (flow_time, Source::Flow(flow)) } else { (link_time, Source::Link(link)) }
    }

    pub fn set_link(&mut self, link: usize, time: Nanos) {
        self.links.set(link, time);
    }

    pub fn set_flow(&mut self, flow: usize, time: Nanos) {
        self.flows.set(flow, time);
    }

    /// Set a flow's pending time if `time` is earlier. A later time can wait until the earlier event runs.
    #[inline]
    pub fn set_flow_earlier(&mut self, flow: usize, time: Nanos) {
        if time < self.flows.times[flow] {
            self.flows.set(flow, time);
        }
    }
}

/// Pending times by source. On ties, the lower index comes first.
#[derive(Clone, Debug)]
struct Tree {
    /// Pending time of each source, padded to a power of two.
    times: Box<[Nanos]>,
    /// `winners[1]` is the source with the earliest time; node i has the children 2i and 2i + 1.
    winners: Box<[u32]>,
    /// The source with the earliest time, and that time: every event reads them.
    first: (Nanos, usize),
}

impl Tree {
    fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            let child = 2 * node;
            winners[node] = if child >= leaves { (child - leaves) as u32 } else { winners[child] };
        }
        Self { times: vec![NEVER; leaves].into(), winners: winners.into(), first: (NEVER, 0) }
    }

    #[inline]
    const fn first(&self) -> (Nanos, usize) {
        self.first
    }

    #[inline(always)]
    fn set(&mut self, source: usize, time: Nanos) {
        if let [first, second] = &mut *self.times {
            *(if source == 0 { &mut *first } else { &mut *second }) = time;
            self.first = if *second < *first { (*second, 1) } else { (*first, 0) };
            return;
        }
        self.set_among_many(source, time);
    }

    #[inline(never)]
    fn set_among_many(&mut self, source: usize, time: Nanos) {
        self.times[source] = time;
        let leaves = self.times.len();
        let mut winner = self.earlier(source, source ^ 1);
        let mut node = (source + leaves) >> 1;
        loop {
            // If another source won here before and still wins, the nodes above stay as they are.
            let settled = winner != source && self.winners[node] as usize == winner;
            self.winners[node] = winner as u32;
            if settled {
                return;
            }
            if node == 1 {
                self.first = (self.times[winner], winner);
                return;
            }
            winner = self.earlier(winner, self.winners[node ^ 1] as usize);
            node >>= 1;
        }
    }

    /// Return the source with the earlier time. Branch-free, because the branch would be unpredictable.
    #[inline]
    fn earlier(&self, first: usize, second: usize) -> usize {
        let (low, high) = (first.min(second), first.max(second));
        let takes_high = usize::from(self.times[high] < self.times[low]).wrapping_neg();
        low ^ ((low ^ high) & takes_high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_of_equals_links_and_then_the_lowest(
            (links, flows) in (1_usize..9, 1_usize..70),
            updates in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0_u64..20), 1..200),
        ) {
            let mut queue = EventQueue::new(links, flows);
            let (mut link_times, mut flow_times) = (vec![NEVER; links], vec![NEVER; flows]);
            for (is_link, index, time) in updates {
                if is_link {
                    let link = index.index(links);
                    queue.set_link(link, time);
                    link_times[link] = time;
                } else {
                    let flow = index.index(flows);
                    queue.set_flow(flow, time);
                    flow_times[flow] = time;
                    queue.set_flow_earlier(flow, time + 1);
                }
                let link = link_times.iter().copied().zip(0..).min().expect("there is a link");
                let flow = flow_times.iter().copied().zip(0..).min().expect("there is a flow");
                let expected =
                    if flow.0 < link.0 { (flow.0, Source::Flow(flow.1)) } else { (link.0, Source::Link(link.1)) };
                prop_assert_eq!(queue.first(), expected);
            }
        }
    }
}
