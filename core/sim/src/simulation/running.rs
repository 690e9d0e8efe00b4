//! Runs a simulation to a time, interval by interval, unless its caller stops it.

use leo_link::{Interrupted, NEVER, Nanos, STRIDE, Stop};

use super::Simulation;
use crate::constellation::Course;
use crate::control_loop;

impl Simulation {
    /// Run to the end.
    ///
    /// # Errors
    /// `stop` returned true. The simulation stands between two events, and goes on from there when it is run again; this
    /// holds for each method that takes a `stop`.
    pub fn run(&mut self, stop: Stop<'_>) -> Result<(), Interrupted> {
        while !self.is_finished() {
            self.run_interval(stop)?;
        }
        Ok(())
    }

    /// Run to the end of the monitor interval or of the run, and let policies act.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn run_interval(&mut self, stop: Stop<'_>) -> Result<(), Interrupted> {
        let until = self.next_tick.min(self.end);
        self.run_own_intervals(until.saturating_sub(1), stop)?;
        self.run_until(until, stop)?;
        self.next_tick = until + self.interval;
        control_loop::steer_by_policies(self);
        Ok(())
    }

    /// Run to `until`, or to the end. The result does not depend on how a run is divided.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn advance(&mut self, until: Nanos, stop: Stop<'_>) -> Result<(), Interrupted> {
        let until = until.min(self.end);
        while self.now < until {
            if self.next_tick <= until || until == self.end {
                self.run_interval(stop)?;
            } else {
                self.run_own_intervals(until, stop)?;
                self.run_until(until, stop)?;
            }
        }
        Ok(())
    }

    /// Run the intervals up to `until` of policies with their own intervals.
    fn run_own_intervals(&mut self, until: Nanos, stop: Stop<'_>) -> Result<(), Interrupted> {
        while let Some(due) = self.next_own_interval().filter(|due| *due <= until) {
            self.run_until(due, stop)?;
            control_loop::steer_by_policies(self);
        }
        Ok(())
    }

    fn next_own_interval(&self) -> Option<Nanos> {
        control_loop::next_own_interval(&self.flows, &self.steered)
    }

    fn run_until(&mut self, until: Nanos, stop: Stop<'_>) -> Result<(), Interrupted> {
        // A row has a cell for each flow and link, and each policy acts at the end of an interval.
        let row_units = 1 + (self.flows.len() + self.links.len()) as u32 / 16 + 8 * self.steered.len() as u32;
        loop {
            self.spend(row_units, stop)?;
            self.follow_course();
            let due = self.course.as_ref().map_or(NEVER, Course::due);
            let boundary = self.recorder.next_row().min(until).min(due);
            self.run_segment(boundary, stop)?;
            self.now = boundary;
            if boundary == self.recorder.next_row() {
                self.recorder.record(
                    boundary,
                    (&self.flows, &self.paths),
                    &mut self.links,
                    &self.logged_links,
                );
            }
            if boundary == until {
                return Ok(());
            }
        }
    }

    /// Count `units` of work, and call `stop` if enough has been done since the last call.
    pub(super) fn spend(&mut self, units: u32, stop: Stop<'_>) -> Result<(), Interrupted> {
        self.units_left = self.units_left.saturating_sub(units);
        if self.units_left > 0 {
            return Ok(());
        }
        self.units_left = STRIDE;
        if stop() { Err(Interrupted) } else { Ok(()) }
    }
}
