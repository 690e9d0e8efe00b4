//! Time from the run's start, on the machine's monotonic clock.

use std::os::fd::AsFd;

use leo_workload::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::is_terminated;

const NANOS_PER_S: Nanos = 1_000_000_000;
/// Wake-ups later than this count as late, as in traffic.c.
const LATE: Nanos = 5_000_000;

/// The clock, and how late this program was.
#[derive(Debug)]
pub struct Clock {
    origin: Nanos,
    late: Nanos,
}

impl Clock {
    /// Create a clock with this origin on the monotonic clock. Kernel timers are as exact as they can be from now on.
    pub fn new(origin: Nanos) -> Self {
        // SAFETY: PR_SET_TIMERSLACK takes its arguments by value.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
        Self { origin, late: 0 }
    }

    pub fn now(&self) -> Nanos {
        // The clock exists on every Linux, and is never negative.
        let time = clock_gettime(ClockId::CLOCK_MONOTONIC)
            .map_or(0, |time| time.tv_sec() as Nanos * NANOS_PER_S + time.tv_nsec() as Nanos);
        time.saturating_sub(self.origin)
    }

    pub fn sleep_until(&self, time: Nanos) {
        let flags = ClockNanosleepFlags::TIMER_ABSTIME;
        while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &spec(time + self.origin)) == Err(Errno::EINTR)
            && !is_terminated()
        {}
    }

    /// Wait for an event until `time`.
    pub fn wait(&self, waiting: &mut [PollFd<'_>], time: Nanos) -> nix::Result<()> {
        let left = spec(time.saturating_sub(self.now()));
        match ppoll(waiting, Some(left), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Add to the lateness how late it is for what was due at `due`.
    pub fn note_late(&mut self, due: Nanos) {
        let late = self.now().saturating_sub(due);
        if late > LATE {
            self.late += late;
        }
    }

    pub const fn late(&self) -> Nanos {
        self.late
    }
}

/// Return a descriptor to wait for.
pub fn waiting(socket: &impl AsFd, events: nix::poll::PollFlags) -> PollFd<'_> {
    PollFd::new(socket.as_fd(), events)
}

const fn spec(time: Nanos) -> TimeSpec {
    TimeSpec::new((time / NANOS_PER_S) as i64, (time % NANOS_PER_S) as i64)
}
