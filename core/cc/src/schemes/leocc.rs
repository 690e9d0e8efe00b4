//! LeoCC (Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics", SIGCOMM 2025; the
//! authors' release for replayed paths, SpaceNetLab/LeoCC): BBR that learns the path anew when it is reconfigured.

mod kalman;

use kalman::Kalman;

use crate::context::next_reconfiguration;
use crate::schemes::bbr::{Bbr, Mode, WINDOW_MIN};
use crate::{Ack, Congestion, CongestionControl, Context, MILLISECOND, Nanos};

/// The authors' release, as everything here: it makes ready this long before a reconfiguration.
const AHEAD: Nanos = 100 * MILLISECOND;
/// Above the min RTT by this the queue is taken to be one; less is the path's own fluctuation (`min_rtt_fluctuation`).
const FLUCTUATION: Nanos = 10 * MILLISECOND;
/// An RTT this far below the estimate shows the new path while the old one's end is still being probed (`delta_thresh`).
const SHORTER: Nanos = 45 * MILLISECOND;
/// Life of a min RTT that no reconfiguration ends; BBR's is half of it.
const MIN_RTT_LIFE: Nanos = 20_000 * MILLISECOND;
/// Bandwidth-delay products in flight while the min RTT is probed for; BBR's are four packets.
const PROBE_RTT_GAIN: f64 = 0.5;
/// How it probes for bandwidth without and with a queue. The release keeps one of the two for all of a host's flows.
const PROBE_GAIN: f64 = 1.25;
const QUEUED_PROBE_GAIN: f64 = 1.05;

/// BBR whose model begins anew with each reconfiguration and forgets a bandwidth that has gone when a queue shows it.
///
/// Reconfigurations come on the grid that the path announces. On a path that announces none, what remains of it is the
/// model between them: bandwidth by a Kalman filter while there is a queue, and a min RTT that lives for 20 s.
#[derive(Clone, Debug)]
pub struct LeoCc {
    bbr: Bbr,
    /// First reconfiguration and period.
    grid: Option<(Nanos, Nanos)>,
    /// A reconfiguration is imminent, or its path is not known yet.
    reconfiguring: bool,
    /// What the new path was seen to carry before its search began, in packets a second.
    new_bandwidth: f64,
    /// The last sample and the round's largest.
    sample: f64,
    round_bandwidth: f64,
    /// In packets a second, a measurement each round of cruising.
    bandwidth: Kalman,
    /// In ns, a measurement each acknowledgement.
    rtt: Kalman,
    probe_gain: f64,
}

impl LeoCc {
    pub fn new(context: &Context) -> Self {
        Self {
            bbr: Bbr::without_policer(context),
            grid: context.reconfiguration,
            reconfiguring: false,
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

    /// Before a reconfiguration the queue is emptied, so that the first RTTs after it are those of the path.
    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = self.bbr.take_rtt(ack, MIN_RTT_LIFE);
        if (expired || self.reconfiguring) && !self.bbr.restarting && self.bbr.mode == Mode::ProbeBw {
            self.bbr.enter_probe_rtt();
        }
        let enough = self.bbr.probes_rtt_enough(ack, self.probe_rtt_window());
        // The release leaves without a sample, and with a meaningless min RTT; the next acknowledgement brings one.
        if let Some(rtt) = ack.rtt
            && enough
        {
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

    /// Packets a second. The maximum of the last rounds finds the capacity, and misses that it has gone: the queue shows.
    fn believed_bandwidth(&mut self, ack: &Ack) -> f64 {
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
        self.reconfiguring |= self
            .grid
            .is_some_and(|grid| next_reconfiguration(grid, ack.now) <= ack.now.saturating_add(AHEAD));
        self.update_model(ack);
        self.update_min_rtt(ack);
        self.bbr.update_gains();
        if self.bbr.mode == Mode::ProbeBw && self.bbr.phase == 0 {
            self.bbr.pacing_gain = self.probe_gain;
        }
        let bandwidth = self.believed_bandwidth(ack);
        let probe_rtt_window = self.probe_rtt_window();
        self.bbr.set_pacing_rate(ack, bandwidth);
        self.bbr.set_window(ack, bandwidth, probe_rtt_window);
    }

    forward! {
        bbr: on_start(now: Nanos, srtt: Nanos), on_congestion(kind: Congestion, now: Nanos),
        on_timeout(in_flight: u32), on_undo(now: Nanos);
        holds_back -> bool, window -> u32, pacing_rate -> Option<u64>, paces_single_packets -> bool,
        wants_rate_reduction -> bool
    }
}

#[cfg(test)]
mod tests;
