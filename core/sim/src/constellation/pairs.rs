//! The route between two stations over time: its links, propagation and capacity.

use leo_link::{NEVER, Nanos};

/// A sender's and a receiver's station, and the route between them.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The stations.
    pub ends: [u32; 2],
    /// Number among the pair's several paths.
    pub number: u64,
    /// Rows of the forwarding table that lead there and back.
    pub rows: [u32; 2],
    /// First links of both ways.
    pub first: [u32; 2],
    /// Links of both ways; empty without a route.
    pub routes: [Vec<u32>; 2],
    /// When one of the ways last changed.
    pub changed_at: Nanos,
    /// Changes from one way there to another.
    pub changes: u64,
    /// Propagation both ways; the last value without a route.
    pub base_rtt: Nanos,
    /// Smallest and largest of these, [`NEVER`] and 0 without any.
    pub base_rtts: [Nanos; 2],
    /// Capacities of the way there in bit/s, each with its start.
    capacities: Vec<(Nanos, f64)>,
}

impl Pair {
    pub const fn new(ends: [u32; 2], rows: [usize; 2]) -> Self {
        Self {
            ends,
            number: 0,
            rows: [rows[0] as u32, rows[1] as u32],
            first: [super::trees::NOWHERE; 2],
            routes: [Vec::new(), Vec::new()],
            changed_at: 0,
            changes: 0,
            base_rtt: 0,
            base_rtts: [NEVER, 0],
            capacities: Vec::new(),
        }
    }

    /// Return it as number `number` of several.
    pub fn numbered(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// Take over the links of one way at `now`.
    pub fn follow(&mut self, now: Nanos, way: usize, links: &[u32]) {
        let route = &mut self.routes[way];
        if route == links {
            return;
        }
        if way == 0 && now > 0 {
            self.changes += 1;
        }
        self.changed_at = now;
        route.clear();
        route.extend_from_slice(links);
    }

    /// Note propagation and capacity at `now`, given the capacities of up-links, lasers and down-links.
    pub fn measure(&mut self, now: Nanos, base_rtt: Nanos, [up, laser, down]: [f64; 3]) {
        let [there, back] = &self.routes;
        let capacity = match there.len() {
            0 => 0.0,
            2 => up.min(down),
            _ => up.min(down).min(laser),
        };
        if self.capacities.last().is_none_or(|(_, last)| *last != capacity) {
            self.capacities.push((now, capacity));
        }
        if !there.is_empty() && !back.is_empty() {
            self.base_rtt = base_rtt;
            let [least, most] = self.base_rtts;
            self.base_rtts = [least.min(base_rtt), most.max(base_rtt)];
        }
    }

    /// Return the bits that the way there could carry in `from..to`.
    pub fn capacity_bits(&self, from: Nanos, to: Nanos) -> f64 {
        self.parts(from, to).map(|(capacity, time)| capacity * time as f64 * 1e-9).sum()
    }

    /// Return the time without a route in `from..to`.
    pub fn unreachable(&self, from: Nanos, to: Nanos) -> Nanos {
        self.parts(from, to).filter(|(capacity, _)| *capacity == 0.0).map(|(_, time)| time).sum()
    }

    fn parts(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (f64, Nanos)> {
        let ends = self.capacities.iter().skip(1).map(|&(start, _)| start).chain([NEVER]);
        self.capacities.iter().zip(ends).filter_map(move |(&(start, capacity), end)| {
            let time = end.min(to).saturating_sub(start.max(from));
            (time > 0).then_some((capacity, time))
        })
    }
}
