//! LeoCC (Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics", SIGCOMM 2025; the
//! authors' release for replayed paths, SpaceNetLab/LeoCC): BBR that relearns the path after each reconfiguration.

mod kalman;

use kalman::Kalman;

use crate::context::next_reconfiguration;
use crate::schemes::bbr::{Bbr, Mode, WINDOW_MIN};
use crate::{Ack, BbrModel, Congestion, CongestionControl, Context, MILLISECOND, Nanos};

/// Preparation time before a reconfiguration (from the authors' release, like everything here).
const AHEAD: Nanos = 100 * MILLISECOND;
/// RTTs this far above the min RTT show a queue; less is the path's own fluctuation (`min_rtt_fluctuation`).
const FLUCTUATION: Nanos = 10 * MILLISECOND;
/// An RTT this far below the estimate shows the new path during ProbeRTT (`delta_thresh`).
const SHORTER: Nanos = 45 * MILLISECOND;
/// Lifetime of a min RTT without reconfigurations, twice BBR's.
const MIN_RTT_LIFE: Nanos = 20_000 * MILLISECOND;
/// Bandwidth-delay products in flight during ProbeRTT, where BBR has four packets.
const PROBE_RTT_GAIN: f64 = 0.5;
/// Gains for probing without and with a queue. The release shares one of them among all flows of a host.
const PROBE_GAIN: f64 = 1.25;
const QUEUED_PROBE_GAIN: f64 = 1.05;

/// BBR that resets its model at each announced reconfiguration, and lowers its bandwidth estimate when a queue builds up.
///
/// Without announcements it differs from BBR in two ways: it filters the bandwidth (Kalman) while there is a queue, and its
/// min RTT lasts 20 s.
#[derive(Clone, Debug)]
pub struct LeoCc {
    bbr: Bbr,
    /// First reconfiguration and period.
    grid: Option<(Nanos, Nanos)>,
    /// A reconfiguration is imminent, or the new path is not measured yet.
    reconfiguring: bool,
    /// Time at which `reconfiguring` was last set.
    reconfigured_at: Option<Nanos>,
    /// Bandwidth of the new path seen before Startup, in packets per second.
    new_bandwidth: f64,
    /// The last bandwidth sample, and the largest of the round.
    sample: f64,
    round_bandwidth: f64,
    /// In packets per second; a measurement per round of ProbeBW.
    bandwidth: Kalman,
    /// In ns; a measurement per ACK.
    rtt: Kalman,
    probe_gain: f64,
}

impl LeoCc {
    pub fn new(context: &Context) -> Self {
        Self {
            bbr: Bbr::without_policer(context),
            grid: context.reconfiguration,
            reconfiguring: false,
            reconfigured_at: None,
            new_bandwidth: 0.0,
            sample: 0.0,
            round_bandwidth: 0.0,
            bandwidth: Kalman::new(),
            rtt: Kalman::new(),
            probe_gain: PROBE_GAIN,
        }
    }

    fn update_model(&mut self, ack: &Ack) {
        let before = self.bbr.mode;
        let sample = self.bbr.update_model(ack).unwrap_or(0.0);
        if self.bbr.round_start {
            let ended = std::mem::take(&mut self.round_bandwidth);
            if before == Mode::ProbeBw && ended > 0.0 {
                self.bandwidth.update(ended);
            }
        }
        self.round_bandwidth = self.round_bandwidth.max(sample);
        if before == Mode::ProbeRtt
            && ack.rtt.is_some_and(|rtt| self.rtt.estimate > rtt.saturating_add(SHORTER) as f64)
        {
            self.new_bandwidth = self.sample;
        }
        if sample > 0.0 {
            self.sample = sample;
        }
        if before == Mode::Startup && self.bbr.mode != Mode::Startup {
            self.reconfiguring = false;
            self.new_bandwidth = 0.0;
        }
    }

    /// Empty the queue before a reconfiguration, so that the first RTTs afterwards have no queueing.
    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = self.bbr.take_rtt(ack, MIN_RTT_LIFE);
        if (expired || self.reconfiguring) && !self.bbr.restarting && self.bbr.mode == Mode::ProbeBw {
            self.bbr.enter_probe_rtt();
        }
        let enough = self.bbr.probes_rtt_enough(ack, self.probe_rtt_window());
        // Wait for an RTT sample. The release does not, and then has a meaningless min RTT until the next ACK.
        if let Some(rtt) = ack.rtt.filter(|_| enough) {
            self.bbr.min_rtt = rtt.max(1);
            self.leave_probe_rtt(ack.now);
        }
        if ack.delivered > 0 {
            self.bbr.restarting = false;
        }
    }

    fn leave_probe_rtt(&mut self, now: Nanos) {
        if self.reconfiguring {
            self.bbr.forget_bandwidth(self.new_bandwidth);
        }
        self.bbr.leave_probe_rtt(now);
    }

    fn probe_rtt_window(&self) -> u32 {
        self.bbr.bdp(PROBE_RTT_GAIN).max(WINDOW_MIN)
    }

    /// Return the bandwidth in packets per second: the Kalman estimate while there is a queue, as the maximum of the last
    /// rounds misses decreases. Otherwise that maximum.
    fn estimate_bandwidth(&mut self, ack: &Ack) -> f64 {
        if let Some(rtt) = ack.rtt {
            self.rtt.update(rtt as f64);
        }
        let queued = self.bbr.mode == Mode::ProbeBw
            && !self.reconfiguring
            && self.rtt.estimate >= self.bbr.min_rtt.saturating_add(FLUCTUATION) as f64;
        self.probe_gain = if queued { QUEUED_PROBE_GAIN } else { PROBE_GAIN };
        if queued && self.bandwidth.estimate > 0.0 { self.bandwidth.estimate } else { self.bbr.bandwidth() }
    }
}

impl CongestionControl for LeoCc {
    fn on_restart(&mut self, now: Nanos, idle: Nanos) {
        let before = self.bbr.mode;
        self.bbr.on_restart(now, idle);
        if before == Mode::ProbeRtt && self.bbr.mode != Mode::ProbeRtt && self.reconfiguring {
            self.bbr.forget_bandwidth(self.new_bandwidth);
            self.bbr.mode = Mode::Startup;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let imminent = self
            .grid
            .is_some_and(|grid| next_reconfiguration(grid, ack.now) <= ack.now.saturating_add(AHEAD));
        if imminent && !self.reconfiguring {
            self.reconfiguring = true;
            self.reconfigured_at = Some(ack.now);
        }
        self.update_model(ack);
        self.update_min_rtt(ack);
        self.bbr.update_gains();
        if self.bbr.mode == Mode::ProbeBw && self.bbr.phase == 0 {
            self.bbr.pacing_gain = self.probe_gain;
        }
        let bandwidth = self.estimate_bandwidth(ack);
        let probe_rtt_window = self.probe_rtt_window();
        self.bbr.set_pacing_rate(ack, bandwidth);
        self.bbr.set_window(ack, bandwidth, probe_rtt_window);
    }

    fn path_changed_at(&self, _now: Nanos) -> Option<Nanos> {
        self.reconfigured_at
    }

    forward! {
        bbr: on_start(now: Nanos, srtt: Nanos), on_congestion(kind: Congestion, now: Nanos),
        on_timeout(in_flight: u32), on_undo(now: Nanos);
        holds_back -> bool, window -> u32, pacing_rate -> Option<u64>, paces_single_packets -> bool,
        wants_rate_reduction -> bool, bbr_model -> Option<BbrModel>
    }
}

#[cfg(test)]
mod tests;
