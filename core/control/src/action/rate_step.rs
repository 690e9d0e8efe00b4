//! Aurora's action: changes the sending rate by at most 2.5 % per interval.

use super::{Command, MAX_CWND_PACKETS, MIN_CWND_PACKETS};
use crate::Report;

/// Published scale: an action of 1 changes the rate by 2.5 %.
const DELTA_SCALE: f64 = 0.025;

/// Bounds of the rate in bytes/s: the simulator's 40 packets of 1,500 bytes/s (0.5 Mbit/s in the released
/// client), and the client's 300 Mbit/s.
const MIN_RATE: f64 = 40.0 * 1_500.0;
const MAX_RATE: f64 = 300e6 / 8.0;

/// Window in RTTs of the rate, as in PCC's kernel module, so that pacing decides.
const WINDOW_RTTS: f64 = 2.0;

/// The start ends when the mean RTT exceeds the smallest by this factor …
const QUEUEING: f64 = 1.25;
/// … or at this share of lost bytes, which is above the random loss of every training path.
const LOSING: f64 = 0.1;

/// The rate of a flow.
///
/// Published: `rate · (1 + 0.025 a)` for a ≥ 0, else `rate / (1 - 0.025 a)`, with unbounded a and a starting
/// rate of 0.3 to 1.5 of the link's, which a real sender does not know.
///
/// Our choices: a is in [-1, 1]. Until the first sign of congestion the rate doubles every round trip, with any action.
/// Then it continues at the best delivery rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RateStep {
    /// Payload bytes per second; 0 before the first RTT sample.
    bytes_per_s: f64,
    /// Whether the start is over.
    has_started: bool,
}

impl RateStep {
    pub(super) fn observe(&mut self, report: &Report) {
        if self.has_started || self.bytes_per_s == 0.0 {
            return;
        }
        let queueing = f64::from(report.avg_rtt_us) > QUEUEING * f64::from(report.min_rtt_us);
        let answered = (report.delivered_bytes + report.lost_bytes) as f64;
        if queueing || report.lost_bytes as f64 > LOSING * answered {
            self.has_started = true;
            // Deliveries now were sent an RTT ago at half the rate. The best delivery rate was the path's.
            if report.max_throughput > 0 {
                self.bytes_per_s = self.bytes_per_s.min(report.max_throughput as f64);
            }
        }
    }

    pub(super) fn act(&mut self, action: f32, report: &Report) -> Command {
        if report.srtt_us == 0 {
            return Command { cwnd_packets: report.cwnd, pacing_bytes_per_s: 0 };
        }
        let srtt_s = f64::from(report.srtt_us) / 1e6;
        let mss = f64::from(report.mss.max(1));
        if self.bytes_per_s == 0.0 {
            self.bytes_per_s = f64::from(report.cwnd) * mss / srtt_s;
        } else if self.has_started {
            self.bytes_per_s = stepped(self.bytes_per_s, action);
        } else {
            self.bytes_per_s *= libm::exp2(report.interval_ns as f64 / 1e9 / srtt_s);
        }
        self.bytes_per_s = self.bytes_per_s.clamp(MIN_RATE, MAX_RATE);
        let window = (WINDOW_RTTS * self.bytes_per_s * srtt_s / mss).ceil();
        Command {
            cwnd_packets: window.clamp(f64::from(MIN_CWND_PACKETS), f64::from(MAX_CWND_PACKETS)) as u32,
            pacing_bytes_per_s: self.bytes_per_s as u64,
        }
    }
}

/// Aurora (Jay et al., 2019), equation 1: x_t = x_{t-1} (1 + α a_t) for a_t ≥ 0, else x_{t-1} / (1 - α a_t).
fn stepped(rate: f64, action: f32) -> f64 {
    let delta = DELTA_SCALE * super::bounded(action);
    if delta >= 0.0 { rate * (1.0 + delta) } else { rate / (1.0 - delta) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ms, full packets of 1,000 bytes.
    fn report() -> Report {
        Report {
            interval_ns: 50_000_000,
            delivered_bytes: 10_000,
            avg_rtt_us: 100_000,
            min_rtt_us: 100_000,
            srtt_us: 100_000,
            cwnd: 10,
            mss: 1_000,
            ..Report::default()
        }
    }

    fn started(bytes_per_s: f64) -> RateStep {
        RateStep { bytes_per_s, has_started: true }
    }

    #[test]
    fn an_action_moves_the_rate_by_a_fortieth_at_the_most() {
        assert!((stepped(1e6, 1.0) - 1.025e6).abs() < 1e-3);
        assert!((stepped(1.025e6, -1.0) - 1e6).abs() < 1e-3);
        assert_eq!(stepped(1e6, 0.0), 1e6);
        assert_eq!(stepped(1e6, 50.0), stepped(1e6, 1.0));
        assert!((stepped(1e6, 0.4) - 1.01e6).abs() < 1e-3);
    }

    #[test]
    fn actions_of_mean_zero_leave_the_rate_where_it_was() {
        let rate = [1.0, -1.0, 0.3, -0.3].iter().fold(1e6, |rate, action| stepped(rate, *action));
        assert!((rate - 1e6).abs() < 1e-3);
    }

    #[test]
    fn the_window_is_two_round_trips_of_the_rate() {
        let command = started(1e6).act(0.0, &report());
        assert_eq!(command, Command { cwnd_packets: 200, pacing_bytes_per_s: 1_000_000 });
    }

    #[test]
    fn the_rate_stays_within_what_was_deployed() {
        assert_eq!(started(1.0).act(-1.0, &report()).pacing_bytes_per_s, 60_000);
        assert_eq!(started(1e12).act(1.0, &report()).pacing_bytes_per_s, 37_500_000);
    }

    #[test]
    fn the_start_doubles_every_round_trip_until_a_queue_forms() {
        let mut rate = RateStep::default();
        assert_eq!(rate.act(-1.0, &report()).pacing_bytes_per_s, 100_000);
        for _ in 0..4 {
            rate.observe(&report());
            rate.act(-1.0, &report());
        }
        assert!((rate.bytes_per_s - 400_000.0).abs() < 1e-3, "two round trips in four intervals");
        rate.observe(&Report { avg_rtt_us: 130_000, max_throughput: 300_000, ..report() });
        assert_eq!(rate.act(0.0, &report()).pacing_bytes_per_s, 300_000);
    }

    #[test]
    fn a_few_random_losses_do_not_end_the_start() {
        let losing = |lost_bytes| {
            let mut rate = RateStep { bytes_per_s: 1e5, has_started: false };
            rate.observe(&Report { lost_bytes, ..report() });
            rate.has_started
        };
        assert!(!losing(1_000));
        assert!(losing(2_000));
    }

    #[test]
    fn before_the_first_rtt_sample_nothing_is_commanded() {
        let silent = Report { srtt_us: 0, ..report() };
        let command = RateStep::default().act(1.0, &silent);
        assert_eq!(command, Command { cwnd_packets: 10, pacing_bytes_per_s: 0 });
    }
}
