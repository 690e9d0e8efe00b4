//! Time as Linux's older schemes count it: in ticks of its clock (jiffies).
//!
//! A tick is longer than much of what they measure with it: 20.2 ms are six of 4 ms. Who computes without ticks grows
//! H-TCP at a fifth of Linux's pace where RTTs are short, and gives Westwood a sixth less to come down to.

use crate::Nanos;

/// Ticks in a second, as distributions build their kernels (CONFIG_HZ).
pub const HZ: u64 = 250;
const TICK: Nanos = 1_000_000_000 / HZ;

/// The clock's ticks at a time.
pub const fn at(time: Nanos) -> u64 {
    time / TICK
}

/// A duration in ticks, of which it fills the last at least in part (Linux's usecs_to_jiffies).
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
