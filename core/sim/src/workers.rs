//! Threads for the steps of a batch, which do not survive a fork of the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use leo_link::Stop;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Run `work` on the threads of `pool`, and call `stop` on this thread whenever one of them asks.
///
/// Python handles signals on its main thread only, so a worker that called `stop` itself would never see one. Workers
/// go on meanwhile, and stop when they next ask.
pub fn attended<T: Send>(pool: &ThreadPool, stop: Stop<'_>, work: impl FnOnce(Stop<'_>) -> T + Send) -> T {
    let stopped = AtomicBool::new(false);
    let (ask, questions) = sync_channel(1);
    let mut result = None;
    pool.in_place_scope(|scope| {
        let (result, stopped) = (&mut result, &stopped);
        scope.spawn(move |_| {
            let asking = || {
                // While a question waits for its answer, another one adds nothing.
                let _ = ask.try_send(());
                stopped.load(Ordering::Relaxed)
            };
            *result = Some(work(&asking));
        });
        // The channel closes when the work ends.
        for () in questions {
            if stop() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    });
    result.expect("the work has ended")
}

/// Threads that start when a process first needs them.
///
/// A fork copies the memory of a process, but only the thread that forks: work for the parent's threads would
/// wait forever. So a child starts new threads, and so does a clone.
pub struct Workers {
    threads: usize,
    started: Option<Started>,
}

struct Started {
    process: u32,
    pool: Option<ThreadPool>,
}

impl Workers {
    /// `threads` is their number; 0 means one per core.
    pub const fn new(threads: usize) -> Self {
        Self { threads, started: None }
    }

    /// Return the threads; `None` if there is only the caller's.
    ///
    /// # Panics
    /// When the system cannot start threads.
    pub fn pool(&mut self) -> Option<&ThreadPool> {
        if self.threads == 1 {
            return None;
        }
        let process = std::process::id();
        if self.started.as_ref().is_none_or(|started| started.process != process) {
            let pool = ThreadPoolBuilder::new().num_threads(self.threads).build();
            self.started = Some(Started { process, pool: Some(pool.expect("threads can be started")) });
        }
        self.started.as_ref()?.pool.as_ref()
    }
}

impl Clone for Workers {
    fn clone(&self) -> Self {
        Self::new(self.threads)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Ending the parent's threads takes locks that one of them may have held during the fork.
            std::mem::forget(self.pool.take());
        }
    }
}
