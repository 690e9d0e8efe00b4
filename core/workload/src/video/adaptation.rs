//! The choice of the next chunk's bitrate.

use serde::{Deserialize, Serialize};

use super::VideoSpec;
use crate::{NANOS_PER_S, Nanos};

/// Chunks that a throughput prediction averages (Yin et al. §6.1).
const PAST_CHUNKS: usize = 5;
/// Chunks that model-predictive control looks ahead (Yin et al. §6.1).
const HORIZON: u32 = 5;
/// BOLA's γp (Spiteri et al. §V).
const BOLA_GP: f64 = 5.0;

/// A rule for the next chunk's bitrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adaptation {
    /// BBA-0: a linear map from buffer to bitrate, with hysteresis (Huang et al., "A Buffer-Based Approach to Rate
    /// Adaptation", SIGCOMM 2014, algorithm 1).
    Bba,
    /// BOLA-BASIC: maximises utility and smoothness by Lyapunov optimisation of the buffer (Spiteri et al., INFOCOM 2016).
    Bola,
    /// The highest bitrate below the predicted throughput (Yin et al. §6.1).
    Rate,
    /// Model-predictive control: the best QoE over the next chunks at the predicted throughput (Yin et al., "A
    /// Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP", SIGCOMM 2015).
    Mpc,
    /// The same with the prediction reduced by its largest recent error (Yin et al. §4.3: RobustMPC).
    RobustMpc,
}

/// The throughputs of the last chunks, and the errors of their predictions.
#[derive(Clone, Debug, Default)]
pub struct Throughput {
    /// Mbit/s and relative error of prediction, of the latest chunk first.
    chunks: [(f64, f64); PAST_CHUNKS],
    count: usize,
}

impl Throughput {
    pub fn record(&mut self, mbps: f64) {
        let error = self.predicted().map_or(0.0, |predicted| (predicted - mbps).abs() / mbps);
        self.chunks.rotate_right(1);
        self.chunks[0] = (mbps, error);
        self.count = (self.count + 1).min(PAST_CHUNKS);
    }

    /// Return the harmonic mean of the last chunks; `None` before the first.
    pub fn predicted(&self) -> Option<f64> {
        let inverses: f64 = self.chunks[..self.count].iter().map(|(mbps, _)| 1.0 / mbps).sum();
        (self.count > 0).then(|| self.count as f64 / inverses)
    }

    /// Return the prediction less its largest recent error.
    fn cautious(&self) -> Option<f64> {
        let worst = self.chunks[..self.count].iter().map(|&(_, error)| error).fold(0.0, f64::max);
        self.predicted().map(|mbps| mbps / (1.0 + worst))
    }
}

/// Return the index of the next chunk's bitrate; `last` is that of the chunk before.
pub fn choose(spec: &VideoSpec, buffer: Nanos, last: Option<usize>, throughput: &Throughput) -> usize {
    let rates = &spec.bitrates_mbps;
    let buffer_s = buffer as f64 / NANOS_PER_S;
    match spec.adaptation {
        Adaptation::Bba => bba(spec, buffer_s, last.unwrap_or(0)),
        Adaptation::Bola => bola(spec, buffer_s),
        Adaptation::Rate => {
            throughput.predicted().map_or(0, |mbps| rates.iter().rposition(|&rate| rate <= mbps).unwrap_or(0))
        }
        Adaptation::Mpc => predictive(spec, buffer_s, last, throughput.predicted()),
        Adaptation::RobustMpc => predictive(spec, buffer_s, last, throughput.cautious()),
    }
}

fn bba(spec: &VideoSpec, buffer_s: f64, last: usize) -> usize {
    let (rates, top) = (&spec.bitrates_mbps, spec.bitrates_mbps.len() - 1);
    let [reservoir_s, cushion_s] = [spec.reservoir, spec.cushion].map(|time| time as f64 / NANOS_PER_S);
    if buffer_s <= reservoir_s {
        return 0;
    }
    if buffer_s >= reservoir_s + cushion_s {
        return top;
    }
    let mapped = rates[0] + (rates[top] - rates[0]) * (buffer_s - reservoir_s) / cushion_s;
    if mapped >= rates[(last + 1).min(top)] {
        rates.iter().rposition(|&rate| rate < mapped).unwrap_or(0)
    } else if mapped <= rates[last.saturating_sub(1)] {
        rates.iter().position(|&rate| rate > mapped).unwrap_or(top)
    } else {
        last
    }
}

fn bola(spec: &VideoSpec, buffer_s: f64) -> usize {
    let rates = &spec.bitrates_mbps;
    let chunk_s = spec.chunk as f64 / NANOS_PER_S;
    let utility = |rate: f64| libm::log(rate / rates[0]);
    let most_chunks = spec.buffer as f64 / spec.chunk as f64;
    let weight = (most_chunks - 1.0) / (utility(rates[rates.len() - 1]) + BOLA_GP);
    let value = |rate: f64| (weight * (utility(rate) + BOLA_GP) - buffer_s / chunk_s) / rate;
    best(rates.iter().map(|&rate| value(rate)))
}

fn predictive(spec: &VideoSpec, buffer_s: f64, last: Option<usize>, mbps: Option<f64>) -> usize {
    let (Some(last), Some(mbps)) = (last, mbps) else { return 0 };
    best((0..spec.bitrates_mbps.len()).map(|level| best_qoe(spec, level, last, buffer_s, mbps, HORIZON)))
}

/// Return the best QoE of `chunks` chunks of which the first has the bitrate `level` (Yin et al. eq. 5, without the start).
fn best_qoe(spec: &VideoSpec, level: usize, last: usize, buffer_s: f64, mbps: f64, chunks: u32) -> f64 {
    let [chunk_s, most_s] = [spec.chunk, spec.buffer].map(|time| time as f64 / NANOS_PER_S);
    let (rate, before) = (spec.bitrates_mbps[level], spec.bitrates_mbps[last]);
    let download_s = rate * chunk_s / mbps;
    let stall_s = (download_s - buffer_s).max(0.0);
    let buffer_s = ((buffer_s - download_s).max(0.0) + chunk_s).min(most_s);
    let qoe = rate - (rate - before).abs() - spec.stall_penalty_mbps() * stall_s;
    if chunks == 1 {
        return qoe;
    }
    let rest = (0..spec.bitrates_mbps.len())
        .map(|next| best_qoe(spec, next, level, buffer_s, mbps, chunks - 1))
        .fold(f64::NEG_INFINITY, f64::max);
    qoe + rest
}

/// Return the index of the first of the largest values.
fn best(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}
