//! The sequences of links that packets cross, in one table for all flows: it is looked up for each packet at each link.

use std::collections::BTreeMap;

/// There and back.
type Way = [Box<[u32]>; 2];

/// Where in the table the links of a direction are.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: u32,
    len: u32,
}

/// Every path that some flow takes at some time, once.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    stretches: Vec<[Stretch; 2]>,
    links: Vec<u32>,
    known: BTreeMap<Way, u32>,
}

impl Paths {
    /// The number of the path whose data crosses the links `there` and whose acknowledgements cross the links `back`.
    pub fn number(&mut self, there: Box<[u32]>, back: Box<[u32]>) -> u32 {
        let Self { stretches, links, known } = self;
        *known.entry([there, back]).or_insert_with_key(|way| {
            stretches.push([0, 1].map(|direction| {
                let (start, way) = (links.len() as u32, &way[direction]);
                links.extend_from_slice(way);
                Stretch { start, len: way.len() as u32 }
            }));
            stretches.len() as u32 - 1
        })
    }

    /// The first link on the way there, or `back`.
    #[inline]
    pub fn first(&self, path: u32, back: bool) -> u32 {
        self.links[self.stretches[path as usize][usize::from(back)].start as usize]
    }

    /// The link that comes after `hop` others on the way there, or `back`; `None` at the end.
    #[inline]
    pub fn link(&self, path: u32, back: bool, hop: u8) -> Option<u32> {
        let Stretch { start, len } = self.stretches[path as usize][usize::from(back)];
        (u32::from(hop) < len).then(|| self.links[start as usize + usize::from(hop)])
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
                    let led: Vec<u32> = (0..).map_while(|hop| paths.link(number, direction, hop)).collect();
                    assert_eq!(led, links, "path {number}");
                    assert_eq!(paths.first(number, direction), links[0], "path {number}");
                }
            }
        }
    }
}
