//! Sage's observation: 69 signals, mostly means and extremes over three sliding windows.
//!
//! Source: Sage (Yen et al., SIGCOMM 2023), table 1, and its released server (`sage.cc`). The server sends 77
//! columns; the released configuration (`obs_cols`) keeps 69. `studies/sage/README.md` maps entries to columns.
//!
//! Where our report differs from the released kernel's TCP_INFO, we use the nearest value:
//! - *delivery rate*: the mean of the interval's samples, not the latest; without a sample the last one.
//! - *congestion state*: backends do not report it. 3 (recovery) if the interval marked a packet lost or
//!   leaves retransmissions out, else 0 (open).
//! - *lost packets*: those newly marked lost, not those marked at the interval's end.
//! - *acknowledged bytes*: delivered bytes, including SACKed ones.

use super::Bounds;
use super::sliding::{BOUND, Extremes, Signal};
use crate::rate_window::RateWindow;
use crate::report::ratio;
use crate::{Report, rate_window};

/// Length of an observation.
pub const OBSERVATION_DIM: usize = 69;

/// Version of the definition: a policy only runs on the version it was trained with.
pub const SPEC_VERSION: u32 = 1;

/// Samples in the three windows of a signal (`SHORT_WIN`, `MID_WIN`, `LONG_WIN`): 0.1, 2 and 10 s.
pub const WINDOWS: [u32; 3] = [10, 200, 1_000];

/// Samples for the largest delivery rate (`dr_w`).
const MAX_RATE_WINDOW: u32 = 200;

/// Samples for the largest sending rate (`WIN_SIZE * 10`).
const MAX_SENDING_WINDOW: u32 = 5_000;

/// Unit of rates: 100 Mbit/s (`BW_NORM_FACTOR`).
const RATE_UNIT_BYTES_PER_S: f64 = 12.5e6;
const RATE_UNIT_MBPS: f64 = 100.0;

/// Linux's `TCP_CA_Recovery`.
const RECOVERY: f64 = 3.0;

/// First entry of the smoothed signals: RTT, delivery rate, RTT ratio, RTT variation, inflight, lost.
const SMOOTHED_AT: usize = 4;
const SIGNALS: usize = 6;

/// The observation of one flow: zeros before the first delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    values: [f32; OBSERVATION_DIM],
    signals: [Signal<3>; SIGNALS],
    rates: RateWindow,
    delivery_mbps: Extremes,
    sending_bytes_per_s: Extremes,
    previous_mbps: f64,
    previous_max_mbps: f64,
    delivery_rate: u64,
    cwnd: u32,
    /// Base-2 logarithm of the agent's last factor on the window; `None` if another moves the window.
    action: Option<f64>,
    /// Whether the latest interval had a delivery.
    heard: bool,
}

impl Default for Observation {
    fn default() -> Self {
        Self {
            values: [0.0; OBSERVATION_DIM],
            signals: std::array::from_fn(|_| Signal::new(WINDOWS)),
            rates: RateWindow::default(),
            delivery_mbps: Extremes::maxima(MAX_RATE_WINDOW),
            sending_bytes_per_s: Extremes::maxima(MAX_SENDING_WINDOW),
            previous_mbps: 0.0,
            previous_max_mbps: 1.0,
            delivery_rate: 0,
            cwnd: 0,
            action: None,
            heard: false,
        }
    }
}

impl Observation {
    /// Add a report. A silent interval counts with the next delivery: its time, its bytes sent and lost.
    pub fn push(&mut self, report: &Report) {
        self.heard = self.rates.push(report);
        if !self.heard {
            return;
        }
        if report.avg_throughput > 0 {
            self.delivery_rate = report.avg_throughput;
        }
        let rates = &self.rates;
        let (srtt_us, min_rtt_us) = (f64::from(report.srtt_us), f64::from(report.min_rtt_us));
        let delivered_mbps = rates.delivered_mbps();
        self.delivery_mbps.push(delivered_mbps as f32);
        self.sending_bytes_per_s.push(rates.last_sent_bytes_per_s() as f32);
        let max_mbps = f64::from(self.delivery_mbps.of_last(MAX_RATE_WINDOW));
        let max_sending = f64::from(self.sending_bytes_per_s.of_last(MAX_SENDING_WINDOW));
        let window_bits = f64::from(report.cwnd) * f64::from(report.mss) * 8.0;
        let mss = u64::from(report.mss.max(1));

        let rtt = srtt_us / 1e5;
        let variation = f64::from(report.rttvar_us) / 1e3;
        let delivery_rate = self.delivery_rate as f64 / RATE_UNIT_BYTES_PER_S;
        let rtt_ratio = ratio(min_rtt_us, srtt_us);
        let inflight = f64::from(report.packets_out) / 1e3;
        let lost = (rates.last_lost_bytes() / mss) as f64 / 1e2;
        let recovering = report.retrans_out > 0 || rates.last_lost_bytes() > 0;

        let out = &mut self.values;
        let mut put = |index: usize, value: f64| out[index] = bounded(value);
        put(0, rtt);
        put(1, variation);
        put(2, delivery_rate);
        put(3, if recovering { RECOVERY } else { 0.0 });
        put(58, ratio(rates.last_interval_us() as f64, min_rtt_us));
        put(59, rtt_ratio);
        put(60, rates.lost_mbps() / RATE_UNIT_MBPS);
        put(61, ratio(rates.last_delivered_bytes_per_s(), max_sending));
        put(62, over_previous(delivered_mbps, self.previous_mbps));
        // Mbit/s times µs gives bits.
        put(63, max_mbps * min_rtt_us / window_bits.max(1.0));
        put(64, delivered_mbps / RATE_UNIT_MBPS);
        put(65, rates.out_share_of_sent());
        put(66, over_previous(max_mbps, self.previous_max_mbps));
        put(67, max_mbps / RATE_UNIT_MBPS);
        put(68, self.action.take().unwrap_or_else(|| log2_ratio(report.cwnd, self.cwnd)));

        let smoothed = [rtt, delivery_rate, rtt_ratio, variation, inflight, lost];
        let places = self.values[SMOOTHED_AT..].chunks_exact_mut(3 * WINDOWS.len());
        for ((signal, sample), out) in self.signals.iter_mut().zip(smoothed).zip(places) {
            signal.push(bounded(sample));
            for (window, out) in out.chunks_exact_mut(3).enumerate() {
                out.copy_from_slice(&signal.statistics(window));
            }
        }
        (self.previous_mbps, self.previous_max_mbps) = (delivered_mbps, max_mbps);
        self.cwnd = report.cwnd;
    }

    /// Note that the agent multiplied the window by 2^`log2_ratio`: the last entry of the next observation.
    pub fn acted(&mut self, log2_ratio: f64) {
        self.action = Some(thousandths(log2_ratio));
    }

    /// Whether the policy acts now: as in the released server, only after an interval with a delivery.
    pub const fn is_due(&self) -> bool {
        self.heard
    }

    /// The observation.
    pub const fn values(&self) -> &[f32; OBSERVATION_DIM] {
        &self.values
    }
}

/// Bounds of each signal: those that the released environment declares, or tighter ones.
pub fn bounds() -> [Bounds; OBSERVATION_DIM] {
    let mut bounds = [(0.0, f64::from(BOUND)); OBSERVATION_DIM];
    bounds[3].1 = RECOVERY;
    // The logarithm of a ratio of two windows of 32 bits.
    bounds[68] = (-32.0, 32.0);
    bounds
}

/// Clamp to the bounds that the released environment declares.
fn bounded(value: f64) -> f32 {
    value.clamp(-f64::from(BOUND), f64::from(BOUND)) as f32
}

fn over_previous(now: f64, before: f64) -> f64 {
    if before > 0.0 { now / before } else { now }
}

/// Return the base-2 logarithm of the windows' ratio in thousandths; 0 without a previous window.
fn log2_ratio(now: u32, before: u32) -> f64 {
    if now == 0 || before == 0 {
        return 0.0;
    }
    thousandths(libm::log2(f64::from(now) / f64::from(before)))
}

/// Round to thousandths, like actions.
fn thousandths(value: f64) -> f64 {
    libm::round(value * 1e3) / 1e3
}

const _: () =
    assert!(SMOOTHED_AT + SIGNALS * 3 * WINDOWS.len() == 58 && rate_window::RATE_WINDOW_INTERVALS == 100);

#[cfg(test)]
mod tests;
