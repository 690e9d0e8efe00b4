//! TCP-LP (Kuzmanovic and Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", ToN 14(4), 2006).

use crate::parts::random::Random;
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Context, MILLISECOND, Nanos};

/// Ticks per second of the timestamp clock (Linux's TCP_TS_HZ), the resolution of delays.
const HZ: u32 = 1_000;
/// §III-B: delay above δ = 15 % of its range means congestion.
const THRESHOLD_PERCENT: u32 = 15;
/// §III-C: length of the inference phase in round trips.
const INFERENCE_ROUNDS: u32 = 3;

/// Reno that yields as soon as delay grows, and so uses only spare capacity.
///
/// Computes like Linux's module, in wrapping 32 bits. The one-way delay is the difference of both hosts' timestamps, with
/// an estimate of the remote clock's frequency. Since 4.10 Linux hosts add random offsets to timestamps. Most offsets move
/// the difference out of the smoothed delay's range. TCP-LP then never detects congestion and is Reno. Without offsets
/// (net.ipv4.tcp_timestamps = 2) it follows the paper.
#[derive(Clone, Debug, Default)]
pub struct Lp {
    /// Offset of the remote timestamps.
    offset: u32,
    /// Estimate of the remote clock's frequency; 0 before the first.
    remote_hz: u32,
    /// Remote and echoed timestamp of the last ACK; 0 for none.
    last: (u32, u32),
    /// Smoothed delay, times eight.
    smoothed_8: u32,
    min: u32,
    /// The second largest, and the largest.
    max: u32,
    max_reserve: u32,
    last_drop: u32,
    inference: u32,
    inferring: bool,
}

impl Lp {
    /// A new connection to a host with a random offset.
    pub fn new(context: &Context) -> Self {
        Self::with_offset(Random::new(context.seed).next() as u32)
    }

    /// Make a connection to a host that adds `offset` to its timestamps.
    pub fn with_offset(offset: u32) -> Self {
        Self { offset, min: u32::MAX, ..Self::default() }
    }

    /// Average the frequency of the remote clock, a new sample with weight 1/64. The estimate has no fraction, so it drifts
    /// down.
    fn estimate_frequency(&mut self, remote: u32, echo: u32) {
        let (last_remote, last_echo) = std::mem::replace(&mut self.last, (remote, echo));
        if last_remote == 0 || last_echo == 0 || remote == last_remote || echo == last_echo {
            return;
        }
        let ticks = HZ.wrapping_mul(remote.wrapping_sub(last_remote));
        let sample = i64::from(ticks / echo.wrapping_sub(last_echo));
        let estimate_64 = i64::from(self.remote_hz) << 6;
        let estimate = if estimate_64 > 0 { estimate_64 + sample - (estimate_64 >> 6) } else { sample << 6 };
        self.remote_hz = (estimate >> 6) as u32;
    }

    /// Return the one-way delay plus the clock offset in ms; `None` if it is not positive.
    fn delay(&mut self, remote: u32, echo: u32) -> Option<u32> {
        self.estimate_frequency(remote, echo);
        let in_ms = HZ.checked_div(self.remote_hz)?;
        Some(remote.wrapping_mul(in_ms).wrapping_sub(echo)).filter(|&delay| delay > 0)
    }

    fn measure(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        if delay > self.max {
            // Hold the largest back until the next one, so a single outlier does not stretch the range.
            if delay > self.max_reserve {
                self.max = if self.max_reserve == 0 { delay } else { self.max_reserve };
                self.max_reserve = delay;
            } else {
                self.max = delay;
            }
        }
        let error = delay.wrapping_sub(self.smoothed_8 >> 3);
        self.smoothed_8 = if self.smoothed_8 == 0 { delay << 3 } else { self.smoothed_8.wrapping_add(error) };
    }

    /// §III-B: early congestion when the smoothed delay exceeds d_min + (d_max - d_min) δ.
    fn is_congested(&self) -> bool {
        let margin = THRESHOLD_PERCENT.wrapping_mul(self.max.wrapping_sub(self.min)) / 100;
        self.smoothed_8 >> 3 >= self.min.wrapping_add(margin)
    }
}

impl WindowBased for Lp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let now = (ack.now / MILLISECOND) as u32;
        let echo = (ack.echo / MILLISECOND) as u32;
        if let Some(delay) = self.delay(ack.left_ms.wrapping_add(self.offset), echo) {
            self.measure(delay);
        }
        if now > echo {
            self.inference = INFERENCE_ROUNDS.wrapping_mul(now - echo);
        }
        self.inferring = self.last_drop > 0 && now.wrapping_sub(self.last_drop) < self.inference;
        if self.is_congested() {
            let smoothed = self.smoothed_8 >> 3;
            (self.min, self.max, self.max_reserve) = (smoothed, 2 * smoothed, 2 * smoothed);
            // §III-C: halve first; one packet if congestion persists in the inference phase.
            window.packets = if self.inferring { 1 } else { (window.packets / 2).max(1) };
            self.last_drop = now;
        }
        if ack.may_grow && ack.window_limited && !self.inferring {
            window.grow_as_reno(ack.delivered);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        window.reduce(window.packets / 2, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, Windowed, ack_of_one, avoiding_at};

    /// Feed an ACK with these one-way delays in ms; return the window.
    fn feed(lp: &mut Windowed<Lp>, now_ms: u32, there: u32, back: u32) -> u32 {
        let left_ms = now_ms - back;
        let now = Nanos::from(now_ms) * MILLISECOND;
        let echo = Nanos::from(left_ms - there) * MILLISECOND;
        lp.on_ack(&Ack { left_ms, echo, ..ack_of_one(now) });
        lp.window()
    }

    /// Return the windows from 100 on while the delay is at 80 % of its known range.
    fn windows_under_delay(offset: u32) -> Vec<u32> {
        let mut lp = avoiding_at(100, Lp::with_offset(offset));
        let timestamp = |delay_ms: u32| offset.wrapping_add(delay_ms);
        (lp.scheme.min, lp.scheme.max, lp.scheme.max_reserve) =
            (timestamp(100), timestamp(200), timestamp(200));
        (lp.scheme.smoothed_8, lp.scheme.remote_hz) = (timestamp(100) << 3, HZ);
        (0..60).map(|ack| feed(&mut lp, 1_000 + 10 * ack, 180, 50)).collect()
    }

    #[test]
    fn delay_beyond_15_percent_of_its_range_halves_the_window_and_persisting_delay_takes_it_to_one() {
        let windows = windows_under_delay(0);
        let drops: Vec<(u32, u32)> = windows
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .filter(|(before, after)| after < before)
            .collect();
        assert!(drops[0].1.abs_diff(drops[0].0 / 2) <= 1, "{drops:?}");
        assert_eq!(drops[1].1, 1, "within three round trips of the first: {drops:?}");
        assert!(windows.iter().all(|&window| window >= 1));
    }

    #[test]
    fn with_a_random_offset_of_the_timestamps_it_is_mostly_reno() {
        // The smoothed delay has 29 bits, so it reaches the threshold only with offsets below 2^29, one in eight.
        let context = |seed| Context { seed, ..Context::default() };
        let mut backing_off = 0;
        for seed in 0..200 {
            let offset = Lp::new(&context(seed)).offset;
            backing_off += u32::from(windows_under_delay(offset).is_sorted());
        }
        assert!(backing_off > 150, "{backing_off} of 200 never back off");
    }
}
