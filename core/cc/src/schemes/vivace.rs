//! PCC Vivace (Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018): tries a rate per monitor
//! interval and follows the gradient of a utility of rate, loss and RTT gradient.
//!
//! The three public implementations differ in much more than constants; each is a [`Controller`].

mod ascent;
mod controller;
mod kernel;
mod line_fit;
mod monitor_interval;
mod nsdi;
mod proteus;
mod rtt_trend;
mod utility;

pub use controller::{Controller, Rtts};
pub use kernel::Kernel;
pub use monitor_interval::{Completion, Measurement, Plan};
pub use nsdi::Nsdi2018;
pub use proteus::Proteus;

use monitor_interval::MonitorIntervals;

use crate::{
    Ack, AtSending, Congestion, CongestionControl, Context, INITIAL_WINDOW, NANOS_PER_S, Nanos, Recovery,
    SEGMENT_BYTES,
};

/// The window is twice the rate times the smoothed RTT, as in PCC-Kernel; PCC-Uspace has none. It only stops a sender
/// without ACKs.
const WINDOW_GAIN: f64 = 2.0;
const WINDOW_MIN: f64 = 4.0;
const WINDOW_MAX: f64 = 1e9;

/// Measures monitor intervals by the ACKs and paces at the rate of its controller.
#[derive(Clone, Debug)]
pub struct Vivace {
    controller: Controller,
    intervals: MonitorIntervals,
    rtts: Rtts,
    window: u32,
    timed_out: bool,
}

impl Vivace {
    /// The branch NSDI-2018 of PCC-Uspace.
    pub fn nsdi_2018(context: &Context) -> Self {
        Self::new(Controller::Nsdi2018(Nsdi2018::new(context.seed)))
    }

    /// PCC-Uspace's main branch.
    pub fn proteus(context: &Context) -> Self {
        Self::new(Controller::Proteus(Proteus::new(context.seed)))
    }

    /// PCC-Kernel.
    pub fn kernel(context: &Context) -> Self {
        Self::new(Controller::Kernel(Kernel::new(context.seed)))
    }

    fn new(controller: Controller) -> Self {
        let intervals = MonitorIntervals::new(controller.completion());
        Self { controller, intervals, rtts: Rtts::default(), window: INITIAL_WINDOW, timed_out: false }
    }

    /// Begin the next interval if there is room.
    fn begin_interval(&mut self, now: Nanos) {
        if self.intervals.has_room() {
            let plan = self.controller.plan(self.intervals.next_id(), self.rtts);
            self.intervals.begin(now, plan);
        }
    }

    /// Pass complete intervals to the controller; return whether another must begin.
    fn learn(&mut self) -> bool {
        let mut again = false;
        while let Some(measured) = self.intervals.take_complete() {
            if measured.mean_rtt > 0.0 {
                self.rtts.interval = (measured.mean_rtt * NANOS_PER_S) as Nanos;
            }
            again |= self.controller.learn(&measured);
        }
        again
    }

    fn update_window(&mut self) {
        if self.rtts.smoothed > 0 {
            let rtt = self.rtts.smoothed as f64 / NANOS_PER_S;
            let packets = WINDOW_GAIN * self.controller.rate() * rtt / f64::from(SEGMENT_BYTES);
            self.window = packets.clamp(WINDOW_MIN, WINDOW_MAX) as u32;
        }
    }
}

impl CongestionControl for Vivace {
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        self.rtts.smoothed = srtt;
        self.begin_interval(now);
        self.update_window();
    }

    fn on_ack(&mut self, ack: &Ack) {
        let mut again = false;
        if let Some(rtt) = ack.rtt {
            if self.rtts.min == 0 {
                again |= self.controller.on_first_rtt(rtt);
                self.rtts.min = rtt;
            }
            self.rtts.min = self.rtts.min.min(rtt).max(1);
        }
        self.rtts.smoothed = ack.srtt;
        self.intervals.on_ack(ack);
        again |= self.learn();
        if self.timed_out && ack.recovery != Recovery::Loss {
            self.timed_out = false;
            again |= self.controller.on_repaired();
        }
        if again || self.intervals.due() <= ack.now {
            self.begin_interval(ack.now);
        }
        self.update_window();
    }

    fn on_packet_lost(&mut self, _now: Nanos, packet: &AtSending) {
        self.intervals.on_packet_lost(packet.sent_at);
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        // A loss counts in the interval in which the packet was sent.
        if kind.is_timeout() && !self.timed_out {
            self.timed_out = true;
            if self.controller.on_timeout() {
                self.begin_interval(now);
                self.update_window();
            }
        }
    }

    fn on_timer(&mut self, now: Nanos) {
        if self.intervals.due() <= now {
            self.begin_interval(now);
            self.update_window();
        }
    }

    fn next_timer(&self) -> Nanos {
        self.intervals.due()
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some((self.controller.rate() as u64).max(1))
    }

    /// PCC-Uspace paces packet by packet, PCC-Kernel like the kernel.
    fn paces_single_packets(&self) -> bool {
        !self.controller.is_in_kernel()
    }

    fn wants_rate_reduction(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
