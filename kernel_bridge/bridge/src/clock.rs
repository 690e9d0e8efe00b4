//! The clock that the kernel's TCP uses.

use nix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, in µs: what `tcp_mstamp` counts.
pub fn monotonic_us() -> u64 {
    // Fails only for clocks that do not exist.
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |now| now.tv_sec() as u64 * 1_000_000 + now.tv_nsec() as u64 / 1_000)
}
