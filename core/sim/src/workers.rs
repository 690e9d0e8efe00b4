//! Threads for the steps of a batch, which do not survive a fork of the process.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads that start when a process first needs them.
///
/// A fork copies the memory of a process, but only the thread that forks: work for the parent's threads would
/// wait forever. So a child starts threads of its own. A clone starts its own, too.
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
