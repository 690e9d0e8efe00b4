//! Runs many simulations in parallel.

use leo_link::{Interrupted, Stop};
use rayon::prelude::*;

use crate::run_log::RunLog;
use crate::simulation::Simulation;
use crate::workers::attended;

/// Run simulations to their end on `threads` threads (0 means one per core); return the logs in the same
/// order.
///
/// # Errors
/// `stop` returned true.
///
/// # Panics
/// When the system cannot start threads.
pub fn run_many(
    simulations: Vec<Simulation>,
    threads: usize,
    stop: Stop<'_>,
) -> Result<Vec<RunLog>, Interrupted> {
    let run = |mut simulation: Simulation, stop: Stop<'_>| {
        simulation.run(stop)?;
        Ok(simulation.run_log())
    };
    if threads == 1 || simulations.len() == 1 {
        return simulations.into_iter().map(|simulation| run(simulation, stop)).collect();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    // Runs differ in length, so hand them out one by one.
    attended(&pool, stop, |stop| {
        simulations.into_par_iter().with_max_len(1).map(|simulation| run(simulation, stop)).collect()
    })
}
