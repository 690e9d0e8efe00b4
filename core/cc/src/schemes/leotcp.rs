//! LeoTCP (Valentine and Parisis, "LeoTCP: Low-Latency and High-Throughput Data Transport for LEO Satellite Networks", 2025):
//! the window follows only the telemetry of the switches' queues.

mod bottleneck;

use bottleneck::{Bottleneck, FlowRtt, PathMonitor};

use crate::{Ack, Congestion, CongestionControl, Header, Hop, NANOS_PER_S, Nanos, SEGMENT_BYTES};

/// Section III-C: "This target is chosen to ensure high link utilisation while keeping buffer occupancy low."
const TARGET: f64 = 0.95;
/// Equation 3: the additive increase is 5 % of the flow's share; in the initial phase 95 %.
const INCREASE: f64 = 1.0 - TARGET;
const INITIAL_INCREASE: f64 = TARGET;
/// "The flow then sends a small number of packets into the network": five in the authors' model.
const INITIAL_PACKETS: f64 = 5.0;
/// A full packet on the wire, as switches count it.
const PACKET_BYTES: f64 = 1500.0;
/// "To reduce noise and improve stability, the base RTT is smoothed using an EWMA": with the weight of TCP's SRTT.
const BASE_RTT_WEIGHT: f64 = 0.125;
const WINDOW_MAX: f64 = 1e9;

/// Section III-C, "Initial Phase".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No telemetry yet.
    #[default]
    Silent,
    /// "waits for an avgRTT", until this time, so that switches count this flow.
    Waiting(Nanos),
    /// Takes the fair share at once, until this time.
    Jumping(Nanos),
    Steady,
}

/// A part of the design to leave out (section IV-E).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ablation {
    /// "The baseline protocol uses each flow's sampled per-ACK RTT directly in its utilisation computation".
    AverageRtt,
    /// The window grows by 5 % of the flow's share from the first telemetry on.
    InitialPhase,
}

/// Keeps the most utilised link of its path at 95 %.
#[derive(Clone, Debug, Default)]
pub struct LeoTcp {
    /// In packets.
    window: f64,
    /// refCwnd: the base of adjustments, updated every smoothed RTT.
    reference: f64,
    reference_until: Nanos,
    phase: Phase,
    has_initial_phase: bool,
    path: PathMonitor,
    /// EWMA of the bottleneck's utilisation.
    utilisation: Option<f64>,
    /// Telemetry of the packet being acknowledged.
    met: Option<Bottleneck>,
    /// In ns; 0 if unknown.
    base_rtt: f64,
    srtt: Nanos,
    /// Window over RTT, cached because it is read several times per packet; `None` before the first RTT.
    pacing_rate: Option<u64>,
    /// The last per-ACK RTT, if it replaces the switches' average RTT in the utilisation.
    own_rtt: Option<Nanos>,
}

impl LeoTcp {
    pub fn new() -> Self {
        Self {
            window: INITIAL_PACKETS,
            reference: INITIAL_PACKETS,
            has_initial_phase: true,
            ..Self::default()
        }
    }

    /// Leave out a part of the design.
    pub fn without(part: Ablation) -> Self {
        match part {
            Ablation::AverageRtt => Self { own_rtt: Some(0), ..Self::new() },
            Ablation::InitialPhase => Self { has_initial_phase: false, ..Self::new() },
        }
    }

    /// "Subtracting this from the instantaneous per-ACK RTT provides an approximation of the base RTT"
    fn update_base_rtt(&mut self, rtt: Nanos, met: &Bottleneck) {
        let sample = rtt as f64 - met.waited;
        // The waiting time exceeds the RTT if a queue's rate changed during the measurement.
        let sample = if sample > 0.0 { sample } else { rtt as f64 };
        if self.base_rtt > 0.0 && !met.path_changed {
            self.base_rtt += BASE_RTT_WEIGHT * (sample - self.base_rtt);
        } else {
            self.base_rtt = sample;
        }
    }

    /// Return the share of the fair share to grow by, if the window may be adjusted.
    fn advance_phase(&mut self, now: Nanos, average_rtt: Nanos) -> Option<f64> {
        match self.phase {
            Phase::Silent if !self.has_initial_phase => {
                self.phase = Phase::Steady;
                self.reference_until = now.saturating_add(self.srtt);
                Some(INCREASE)
            }
            Phase::Silent => {
                self.phase = Phase::Waiting(now.saturating_add(average_rtt));
                None
            }
            Phase::Waiting(until) if now < until => None,
            Phase::Waiting(_) => {
                self.phase = Phase::Jumping(now.saturating_add(self.srtt));
                self.reference = self.window;
                self.reference_until = now.saturating_add(self.srtt);
                Some(INITIAL_INCREASE)
            }
            Phase::Jumping(until) if now < until => Some(INITIAL_INCREASE),
            Phase::Jumping(_) => {
                self.phase = Phase::Steady;
                self.reference = self.window;
                self.reference_until = now.saturating_add(self.srtt);
                Some(INCREASE)
            }
            Phase::Steady => Some(INCREASE),
        }
    }

    /// Equations 3 and 4.
    fn adjust(&mut self, now: Nanos, rtt: Nanos, part: f64, met: &Bottleneck, window_limited: bool) {
        let Some(utilisation) = self.utilisation else { return };
        let share = met.rate / PACKET_BYTES * (rtt as f64 / NANOS_PER_S) / f64::from(met.flows.max(1));
        let increase = share * part;
        let target = if utilisation >= TARGET {
            self.reference / (utilisation / TARGET) + increase
        } else if window_limited {
            self.reference + increase
        } else {
            // At low utilisation only window-limited flows grow.
            self.window
        };
        self.window = target.clamp(1.0, WINDOW_MAX);
        if now >= self.reference_until {
            self.reference = self.window;
            self.reference_until = now.saturating_add(self.srtt);
        }
    }

    /// Process the telemetry of an acknowledged packet.
    fn take_in(&mut self, ack: &Ack, met: Bottleneck) {
        let rtt = ack.rtt.unwrap_or(ack.srtt);
        if let Some(rtt) = ack.rtt {
            self.update_base_rtt(rtt, &met);
            self.own_rtt = self.own_rtt.map(|_| rtt);
        }
        if let Some(sample) = met.utilisation {
            let old = self.utilisation.unwrap_or(sample);
            self.utilisation = Some(old + met.weight * (sample - old));
        }
        let average_rtt = if met.average_rtt > 0 { met.average_rtt } else { ack.srtt };
        if let Some(part) = self.advance_phase(ack.now, average_rtt) {
            self.adjust(ack.now, rtt, part, &met, ack.window_limited);
        }
    }

    /// "The pacing rate is computed as cwnd / RTT"; unpaced before the first RTT.
    fn pace(&mut self) {
        self.pacing_rate = (self.srtt > 0).then(|| {
            let rate = self.window * f64::from(SEGMENT_BYTES) / (self.srtt as f64 / NANOS_PER_S);
            (rate as u64).max(1)
        });
    }
}

impl CongestionControl for LeoTcp {
    fn on_start(&mut self, _now: Nanos, srtt: Nanos) {
        self.srtt = srtt;
        self.base_rtt = srtt as f64;
        self.pace();
    }

    fn on_telemetry(&mut self, now: Nanos, hops: &[Hop]) {
        let own = if self.base_rtt > 0.0 { self.base_rtt as Nanos } else { self.srtt };
        let rtt = match self.own_rtt {
            // The sample of this ACK comes later; the previous one is less than a millisecond older.
            Some(sample) => FlowRtt::InsteadOfAverage(if sample > 0 { sample } else { own }),
            None => FlowRtt::UntilAverage(own),
        };
        self.met = self.path.observe(now, hops, rtt, self.srtt);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        if let Some(met) = self.met.take() {
            self.take_in(ack, met);
        }
        self.pace();
    }

    fn header(&self) -> Option<Header> {
        Some(Header { base_rtt: self.base_rtt as Nanos, window: self.window() })
    }

    /// "LeoTCP adjusts its window solely based on INT telemetry"
    fn on_congestion(&mut self, _kind: Congestion, _now: Nanos) {}

    fn window(&self) -> u32 {
        self.window as u32
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }

    /// "Modern NICs support hardware-based pacing, enabling precise interpacket spacing"
    fn paces_single_packets(&self) -> bool {
        true
    }

    fn wants_rate_reduction(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
