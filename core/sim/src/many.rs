//! Runs many simulations in parallel.

use rayon::prelude::*;

use crate::run_log::RunLog;
use crate::simulation::Simulation;

/// Run simulations to their end on `threads` threads (0 means one per core); return the logs in the same
/// order.
///
/// # Panics
/// When the system cannot start threads.
#[must_use]
pub fn run_many(simulations: Vec<Simulation>, threads: usize) -> Vec<RunLog> {
    let run = |mut simulation: Simulation| {
        simulation.run();
        simulation.run_log()
    };
    if threads == 1 || simulations.len() == 1 {
        return simulations.into_iter().map(run).collect();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    // Runs differ in length, so hand them out one by one.
    pool.install(|| simulations.into_par_iter().with_max_len(1).map(run).collect())
}
