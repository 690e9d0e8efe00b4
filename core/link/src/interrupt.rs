//! Long computations ask their caller whether they should stop.

/// Returns whether the computation should stop. Computations call it every few milliseconds, from any thread.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Lets a computation run to its end.
pub const RUN_ON: Stop<'static> = &|| false;

/// The caller stopped the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Units of work between two calls of `Stop`. A unit is at most about 100 µs of computing, and mostly less than 1 µs.
pub const STRIDE: u32 = 1_024;

/// Counts units of work, and calls `stop` after every [`STRIDE`] of them.
pub struct Watch<'a> {
    stop: Stop<'a>,
    remaining: u32,
}

impl<'a> Watch<'a> {
    /// Count from 0.
    pub const fn new(stop: Stop<'a>) -> Self {
        Self { stop, remaining: STRIDE }
    }

    /// Count one unit of work.
    ///
    /// # Errors
    /// The caller stops the computation.
    #[inline]
    pub fn unit(&mut self) -> Result<(), Interrupted> {
        self.remaining -= 1;
        if self.remaining > 0 { Ok(()) } else { self.call_stop() }
    }

    #[cold]
    fn call_stop(&mut self) -> Result<(), Interrupted> {
        self.remaining = STRIDE;
        if (self.stop)() { Err(Interrupted) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_computation_asks_after_every_stride_and_stops_when_told() {
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) == 2;
        let mut watch = Watch::new(&stop);
        let done = (0..10 * STRIDE).take_while(|_| watch.unit().is_ok()).count();
        assert_eq!(done as u32, 3 * STRIDE - 1);
    }
}
