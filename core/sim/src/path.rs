//! The paths of all flows in one table: every packet looks up its path at every link.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::constellation::Forwarding;
use crate::packet::Head;

/// Flag of a link after which packets cross the last link in the same step (see [`Paths::shorten`]).
const STRAIGHT_ON: u32 = 1 << 31;

/// The next link or links of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// More links follow.
    Link(u32),
    Last(u32),
    /// The last two links, crossed in one step: the first only delays, and only this path uses the second.
    LastTwo(u32, u32),
    /// A transmitter that several links share, and the link behind it.
    Through {
        transmitter: u32,
        link: u32,
        goes_on: bool,
    },
    /// A node without a route to the packet's station.
    Nowhere,
}

impl Next {
    /// Return the link whose transmitter the packet meets first.
    pub const fn link(self) -> Option<u32> {
        match self {
            Self::Link(link) | Self::Last(link) | Self::LastTwo(link, _) => Some(link),
            Self::Through { transmitter, .. } => Some(transmitter),
            Self::Nowhere => None,
        }
    }

    /// Return whether more links follow.
    #[inline(always)]
    pub const fn goes_on(self) -> bool {
        matches!(self, Self::Link(_) | Self::Through { goes_on: true, .. })
    }
}

/// The links of both directions.
type Way = [Box<[u32]>; 2];

/// The range of one direction's links in the table.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u32,
    len: u32,
}

/// The distinct paths of all flows.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    stretches: Vec<[Stretch; 2]>,
    links: Vec<u32>,
    numbers: BTreeMap<Way, u32>,
    /// The tables that packets follow instead, in a network whose routes change.
    forwarding: Option<Arc<Forwarding>>,
    /// Packets that stations and satellites had no route for.
    pub unroutable: [u64; 2],
}

impl Paths {
    /// Return the paths of a network in which packets follow tables.
    pub fn forwarded(forwarding: Forwarding) -> Self {
        Self { forwarding: Some(Arc::new(forwarding)), ..Self::default() }
    }

    /// Return the tables, if packets follow them.
    pub fn forwarding(&self) -> Option<&Forwarding> {
        self.forwarding.as_deref()
    }

    /// Return the tables to share them with another thread.
    pub fn forwarding_shared(&self) -> Option<Arc<Forwarding>> {
        self.forwarding.clone()
    }

    /// Return the tables to change them. Clones of a simulation share them until then.
    pub fn forwarding_mut(&mut self) -> Option<&mut Forwarding> {
        self.forwarding.as_mut().map(Arc::make_mut)
    }

    /// Return the number of the path whose data crosses the links `there` and whose ACKs cross `back`.
    pub fn number(&mut self, there: Box<[u32]>, back: Box<[u32]>) -> u32 {
        let Self { stretches, links, numbers, .. } = self;
        *numbers.entry([there, back]).or_insert_with_key(|way| {
            stretches.push([0, 1].map(|direction| {
                let (start, way) = (links.len() as u32, &way[direction]);
                links.extend_from_slice(way);
                Stretch { start, len: way.len() as u32 }
            }));
            stretches.len() as u32 - 1
        })
    }

    /// Merge the last two links of reverse directions into one step, which saves an event per packet.
    ///
    /// The first link must only delay (`only_delays`). The second must add a constant, positive delay
    /// (`steadily`) and belong to no other path. The order and the times of packets stay the same.
    pub fn shorten(&mut self, only_delays: impl Fn(u32) -> bool, steadily: impl Fn(u32) -> bool) {
        let mut places = BTreeMap::<u32, usize>::new();
        for &link in &self.links {
            *places.entry(link).or_default() += 1;
        }
        for &[_, Stretch { start, len }] in &self.stretches {
            let [.., first, last] = &mut self.links[start as usize..(start + len) as usize] else { continue };
            if places[last] == 1 && only_delays(*first) && steadily(*last) {
                *first |= STRAIGHT_ON;
            }
        }
    }

    /// Return the first step of a packet, or of one that goes `back`.
    #[inline(always)]
    pub fn enter(&self, path: u32, back: bool) -> Option<Next> {
        match &self.forwarding {
            None => self.next(path, back, 0),
            Some(forwarding) => Some(forwarding.enter(path, back)),
        }
    }

    /// Return the step of a packet that has crossed `link` as its link number `hop`; `None` at the end of its path.
    #[inline]
    pub fn onward(&self, head: &Head, hop: u8, link: usize) -> Option<Next> {
        let back = head.kind.goes_back();
        match &self.forwarding {
            None => self.next(head.path, back, hop),
            Some(forwarding) => forwarding.onward(head.path, back, hop, link),
        }
    }

    /// Return the first link of the data direction, and whether more follow.
    #[inline]
    pub fn first(&self, path: u32) -> (usize, bool) {
        let Stretch { start, len } = self.stretches[path as usize][0];
        (self.links[start as usize] as usize, len > 1)
    }

    /// Return the step after `hop` links of the data direction, or of the reverse direction if `back`.
    #[inline]
    pub fn next(&self, path: u32, back: bool, hop: u8) -> Option<Next> {
        let Stretch { start, len } = self.stretches[path as usize][usize::from(back)];
        if u32::from(hop) >= len {
            return None;
        }
        let place = start as usize + usize::from(hop);
        let link = self.links[place];
        Some(if u32::from(hop) + 1 == len {
            Next::Last(link)
        } else if link & STRAIGHT_ON == 0 {
            Next::Link(link)
        } else {
            Next::LastTwo(link & !STRAIGHT_ON, self.links[place + 1])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_have_one_number_and_all_lead_over_their_links() {
        let ways: [(&[u32], &[u32]); 3] = [(&[0, 1], &[3, 2]), (&[1], &[3]), (&[0, 1], &[3])];
        let mut paths = Paths::default();
        for _ in 0..2 {
            for (number, &(there, back)) in (0..).zip(&ways) {
                assert_eq!(paths.number(there.into(), back.into()), number);
                for (direction, links) in [(false, there), (true, back)] {
                    let led: Vec<Next> = (0..).map_while(|hop| paths.next(number, direction, hop)).collect();
                    let expected: Vec<Next> = links
                        .iter()
                        .enumerate()
                        .map(
                            |(place, &link)| {
                                if place + 1 == links.len() { Next::Last(link) } else { Next::Link(link) }
                            },
                        )
                        .collect();
                    assert_eq!(led, expected, "path {number}");
                }
                assert_eq!(paths.first(number), (there[0] as usize, there.len() > 1), "path {number}");
            }
        }
    }

    #[test]
    fn the_last_two_links_back_are_one_step_where_no_other_way_shares_the_last_and_both_only_delay() {
        let mut paths = Paths::default();
        // Last link: own; shared; own, behind a link that does more than delay; own, but not steady.
        for back in [[3, 10], [3, 11], [4, 11], [5, 12], [3, 13]] {
            paths.number([0].into(), [2].into_iter().chain(back).collect());
        }
        paths.shorten(|link| link != 5, |link| link != 13);
        let steps = |path| (0..4).map(|hop| paths.next(path, true, hop)).collect::<Vec<_>>();
        assert_eq!(steps(0)[..2], [Some(Next::Link(2)), Some(Next::LastTwo(3, 10))]);
        for (path, [first, last]) in [(1, [3, 11]), (2, [4, 11]), (3, [5, 12]), (4, [3, 13])] {
            let expected = [Some(Next::Link(2)), Some(Next::Link(first)), Some(Next::Last(last)), None];
            assert_eq!(steps(path), expected);
        }
        assert_eq!(paths.next(0, true, 3), None, "what crossed two links has come to the end");
    }
}
