//! Time in ticks of the kernel's clock (jiffies), as Linux's older schemes count it.
//!
//! The rounding matters: 20.2 ms are six ticks of 4 ms. Without ticks H-TCP grows at a fifth of Linux's pace on short
//! RTTs, and Westwood backs off to a sixth less.

use crate::Nanos;

/// Ticks per second in distributions' kernels (CONFIG_HZ).
pub const HZ: u64 = 250;
const TICK: Nanos = 1_000_000_000 / HZ;

/// Return the tick at a time, rounded down.
pub const fn at(time: Nanos) -> u64 {
    time / TICK
}

/// Return a duration in ticks, rounded up (Linux's usecs_to_jiffies).
pub const fn of(duration: Nanos) -> u64 {
    duration.div_ceil(TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_and_times_down() {
        assert_eq!([of(0), of(4_000_000), of(20_200_000)], [0, 1, 6]);
        assert_eq!([at(3_999_999), at(20_200_000)], [0, 5]);
    }
}
