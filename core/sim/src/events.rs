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
    /// By link: 0, or 1 and the number of the other thread on which its packets arrive; empty with one thread.
    foreign: Vec<u16>,
    /// The links to other threads that were idle and have packets now.
    woken: Vec<usize>,
}

impl EventQueue {
    pub fn new(links: usize, flows: usize) -> Self {
        Self { links: Tree::new(links), flows: Tree::new(flows), foreign: Vec::new(), woken: Vec::new() }
    }

    /// Return the earliest pending time and its source; the time is `NEVER` when nothing is pending.
    #[inline]
    pub fn first(&self) -> (Nanos, Source) {
        let ((link_time, link), (flow_time, flow)) = (self.links.first(), self.flows.first());
        if flow_time < link_time { (flow_time, Source::Flow(flow)) } else { (link_time, Source::Link(link)) }
    }

    /// Make room for `links` links.
    pub fn grow(&mut self, links: usize) {
        let room = self.links.room();
        if links > room {
            let mut larger = Tree::new(links);
            (0..room).for_each(|link| larger.set(link, self.links.time(link)));
            self.links = larger;
        }
    }

    #[inline(always)]
    pub fn set_link(&mut self, link: usize, time: Nanos) {
        self.links.set(link, time);
    }

    /// Set the pending time of a link that was idle, unless its packets arrive on another thread.
    #[inline(always)]
    pub fn wake_link(&mut self, link: usize, time: Nanos) {
        if self.foreign.get(link).is_none_or(|&thread| thread == 0) {
            self.set_link(link, time);
        } else {
            self.woken.push(link);
        }
    }

    /// Let all packets of `links` links arrive on this thread.
    pub fn own_all(&mut self, links: usize) {
        self.foreign.clear();
        self.foreign.resize(links, 0);
        self.woken.clear();
    }

    /// Let a link's packets arrive on the `thread`-th of the other threads.
    pub fn give_away(&mut self, link: usize, thread: usize) {
        self.set_link(link, NEVER);
        self.foreign[link] = u16::try_from(thread + 1).expect("a run has at most 256 threads");
    }

    /// Remove a link to another thread that was idle and has packets now, and return it with the thread.
    pub fn next_woken(&mut self) -> Option<(usize, usize)> {
        let link = self.woken.pop()?;
        Some((link, usize::from(self.foreign[link]) - 1))
    }

    #[inline(always)]
    pub fn set_flow(&mut self, flow: usize, time: Nanos) {
        self.flows.set(flow, time);
    }

    /// Set a flow's pending time if `time` is earlier. A later time can wait until the earlier event runs.
    #[inline]
    pub fn set_flow_earlier(&mut self, flow: usize, time: Nanos) {
        if time < self.flows.time(flow) {
            self.set_flow(flow, time);
        }
    }
}

/// A pending time and its source in one number, which compares as they do.
type Pending = u128;

const fn pending(time: Nanos, source: usize) -> Pending {
    (time as u128) << 32 | source as u128
}

const fn time_of(pending: Pending) -> Nanos {
    (pending >> 32) as Nanos
}

/// Pending times by source. On ties, the lower index comes first.
#[derive(Clone, Debug)]
struct Tree {
    /// The earliest: every event reads it.
    first: (Nanos, usize),
    /// The times of at most two sources.
    two: [Nanos; 2],
    /// With more, a tree in which group n holds the children of node n, the nodes 4n + 1 to 4n + 4. The last nodes are the
    /// sources, padded to a power of four. Each other node is the earliest of its children.
    groups: Box<[[Pending; 4]]>,
}

impl Tree {
    fn new(sources: usize) -> Self {
        let mut tree = Self { first: (NEVER, 0), two: [NEVER; 2], groups: Box::default() };
        if sources > 2 {
            let mut leaves = 4;
            while leaves < sources {
                leaves *= 4;
            }
            tree.groups = vec![[pending(NEVER, 0); 4]; (leaves - 1) / 3].into();
            (0..sources).rev().for_each(|source| tree.set_among_many(source, NEVER));
        }
        tree
    }

    #[inline(always)]
    const fn first(&self) -> (Nanos, usize) {
        self.first
    }

    /// The number of sources that it has room for.
    fn room(&self) -> usize {
        if self.groups.is_empty() { 2 } else { 3 * self.groups.len() + 1 }
    }

    #[inline]
    fn time(&self, source: usize) -> Nanos {
        let leaf = self.groups.len() + source;
        self.groups
            .get(leaf.wrapping_sub(1) / 4)
            .map_or(self.two[source & 1], |group| time_of(group[(leaf - 1) % 4]))
    }

    #[inline(always)]
    fn set(&mut self, source: usize, time: Nanos) {
        if !self.groups.is_empty() {
            self.set_among_many(source, time);
            return;
        }
        self.two[source & 1] = time;
        self.first = if self.two[1] < self.two[0] { (self.two[1], 1) } else { (self.two[0], 0) };
    }

    #[inline(never)]
    fn set_among_many(&mut self, source: usize, time: Nanos) {
        let mut node = self.groups.len() + source;
        let mut winner = pending(time, source);
        while node > 0 {
            let place = (node - 1) % 4;
            node = (node - 1) / 4;
            let group = &mut self.groups[node];
            // If the winner stays as it was, so do the nodes above.
            if group[place] == winner {
                return;
            }
            group[place] = winner;
            let [first, second, third, fourth] = *group;
            winner = first.min(second).min(third.min(fourth));
        }
        self.first = (time_of(winner), winner as u32 as usize);
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
            let half = updates.len() / 2;
            for (number, (is_link, index, time)) in updates.into_iter().enumerate() {
                if number == half {
                    queue.grow(5 * links);
                }
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
