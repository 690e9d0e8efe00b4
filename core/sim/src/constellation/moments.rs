//! The links of a constellation over time, known ahead: a snapshot for each routing interval.

use std::sync::Arc;

use leo_link::{NEVER, Nanos};

use super::forwarding::{GroundLink, Snapshot};
use crate::simulation::Simulation;

/// Snapshots, an interval apart.
#[derive(Clone, Debug)]
pub struct Moments {
    interval: Nanos,
    lasers: usize,
    /// Of each moment in turn.
    laser_km: Vec<f64>,
    ground: Vec<GroundLink>,
    /// Where each moment's ground links end.
    ends: Vec<usize>,
}

impl Moments {
    /// Create from the lengths of `lasers` lasers in each moment, the ground links of all moments, and where each moment's end.
    ///
    /// # Panics
    /// The interval is 0, there is no moment, or the lengths do not fit.
    pub fn new(
        interval: Nanos,
        lasers: usize,
        laser_km: Vec<f64>,
        ground: Vec<GroundLink>,
        ends: Vec<usize>,
    ) -> Self {
        assert!(interval > 0 && !ends.is_empty(), "there is time between moments");
        assert_eq!(laser_km.len(), lasers * ends.len(), "each laser has a length in each moment");
        assert_eq!(ends.last(), Some(&ground.len()), "each ground link is of a moment");
        Self { interval, lasers, laser_km, ground, ends }
    }

    /// Return the number of moments.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Return the number of lasers.
    pub const fn lasers(&self) -> usize {
        self.lasers
    }

    /// Return the time between two moments.
    pub const fn interval(&self) -> Nanos {
        self.interval
    }

    /// Return one more than the largest station and the largest satellite of the ground links.
    pub fn nodes(&self) -> [u32; 2] {
        let most =
            |node: fn(&GroundLink) -> u32| self.ground.iter().map(node).max().map_or(0, |most| most + 1);
        [most(|link| link.station), most(|link| link.satellite)]
    }

    /// Return the links of moment `index`.
    pub fn snapshot(&self, index: usize) -> Snapshot<'_> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Snapshot {
            laser_km: &self.laser_km[index * self.lasers..(index + 1) * self.lasers],
            ground: &self.ground[start..self.ends[index]],
        }
    }
}

/// The moments that a simulation goes through.
#[derive(Clone, Debug)]
pub struct Course {
    moments: Arc<Moments>,
    /// Index of the next moment.
    next: usize,
    /// When it is due.
    due: Nanos,
}

impl Course {
    /// Return when the next moment is due.
    pub const fn due(&self) -> Nanos {
        self.due
    }
}

impl Simulation {
    /// Let a constellation [`follow`](Self::follow) `moments` by itself, from moment `first` on.
    ///
    /// # Panics
    /// The moments end before the simulation.
    pub fn follow_all(&mut self, moments: Arc<Moments>, first: usize) {
        let needed = self.end().div_ceil(moments.interval) as usize;
        assert!(first + needed <= moments.count(), "the moments last as long as the simulation");
        self.course = Some(Course { moments, next: first, due: 0 });
    }

    /// Follow the next moment, if it is due.
    pub(crate) fn follow_course(&mut self) {
        let Some(course) = &mut self.course else { return };
        if course.due > self.now {
            return;
        }
        let (moments, index) = (course.moments.clone(), course.next);
        course.next += 1;
        course.due = if course.next < moments.count() { course.due + moments.interval } else { NEVER };
        self.follow(&moments.snapshot(index));
    }
}
