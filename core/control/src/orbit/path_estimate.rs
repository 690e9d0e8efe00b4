//! A path as a host estimates it without network support: an aged base RTT, the queueing delay, and delivery rates.

use crate::Report;

/// Intervals in memory: enough for sums over two seconds of 10 ms intervals.
const HISTORY_INTERVALS: usize = 256;

/// Share of the base RTT by which the estimate grows per second while no sample confirms it. Drains confirm it
/// every cycle. Satellites move more slowly.
const AGEING_PER_S: f64 = 0.01;

/// The same for means of several intervals, whose minimum falls with time as they scatter, and for the floor, which
/// must not follow a queue.
const SCATTERED_AGEING_PER_S: f64 = 0.035;
const FLOOR_AGEING_PER_S: f64 = 0.001;

/// Deviations of a scattered mean that are tolerated: its minimum is randomly low, and bursts are randomly late.
const SCATTER_DEVIATIONS: f64 = 16.0;

/// A queue longer than this for a whole period makes a path crowded. Both are in s.
const CROWDED_QUEUE_S: f64 = 1e-3;
const CROWDED_PERIOD_S: f64 = 2.0;

/// Lengths of the windows over which RTTs are averaged, in intervals. A rougher RTT selects a longer window.
const WINDOW_INTERVALS: [usize; 5] = [1, 2, 4, 8, 16];

/// Largest roughness of an averaged RTT, in s. Smooth links stay below, so their window is an interval.
const MAX_ROUGHNESS_S: f64 = 3e-4;

/// Intervals whose RTTs indicate how single samples scatter.
const SCATTER_INTERVALS: usize = 16;

/// Median of the absolute value of a normal variable with a deviation of 1.
const NORMAL_MEDIAN: f64 = 0.6745;

/// Fastest growth of a queue, in s/s. A larger overload ends before its first ACK arrives.
const MAX_QUEUE_GROWTH: f64 = 0.6;

/// A shorter wait of the first packets does not show, because hosts are not punctual, in s.
const LEAST_BURST_WAIT_S: f64 = 5e-5;

/// Time constant with which the peak rate decays, in s.
const PEAK_DECAY_S: f64 = 100.0;

/// Intervals in a point of `PathEstimate::response`, and its most points: 40 ms and two seconds of 10 ms intervals.
const RESPONSE_BIN_INTERVALS: usize = 4;
const MAX_RESPONSE_BINS: usize = 50;

/// How often, and over which time, an RTT counts as steady, in s; its largest range, in s and as a share of the RTT.
const STEADY_CHECK_S: f64 = 0.5;
const STEADY_S: f64 = 2.0;
const STEADY_RANGE_S: f64 = 5e-4;
const STEADY_RTT_SHARE: f64 = 0.01;

/// Standard deviation of the sending rate over its mean above which a queue would vary, too.
const VARIED_RATE: f64 = 0.04;

/// How deliveries follow what was sent an RTT earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Response {
    /// Slope of the least-squares line of the delivery rate over the sending rate: 0 alone, 1 as a small part.
    pub slope: f64,
    /// Correlation of the two.
    pub correlation: f64,
    /// Standard deviation of the sending rate over its mean.
    pub variation: f64,
}

/// Measurements of an interval. Amounts are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Interval {
    dt_s: f64,
    delivered: f64,
    lost: f64,
    sent: f64,
    /// The sending rate during the interval, in bytes/s.
    rate: f64,
    /// Mean RTT and number of its samples.
    rtt_s: f64,
    samples: f64,
}

/// The estimate of one flow's path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathEstimate {
    history: [Interval; HISTORY_INTERVALS],
    newest: usize,
    /// Mean RTT over each window.
    means_s: [f64; WINDOW_INTERVALS.len()],
    /// Aged minimum of each window's means.
    bases_s: [f64; WINDOW_INTERVALS.len()],
    /// Index of the window in use.
    window: usize,
    /// Time since the first sample, in s.
    sampled_s: f64,
    /// Distance of an interval's mean RTT from the middle of its neighbours', in s. A slope is smooth.
    roughness_s: f64,
    /// Now, in s since the run's start.
    pub time_s: f64,
    /// Length of the last interval, in s.
    pub dt_s: f64,
    /// Mean RTT of the window in use, in s; 0 before the first sample.
    pub rtt_s: f64,
    /// RTT without queueing, in s; 0 before the first sample.
    pub base_s: f64,
    /// The smallest mean RTT of the path, which hardly ages. If other flows maintain a queue, `base_s` ages towards it.
    floor_s: f64,
    /// The least mean RTT of this period and of the previous period, and this period's start.
    least_s: [f64; 2],
    period_start_s: f64,
    /// Time at which an interval's mean RTT last rose faster than a queue grows, in s.
    pub jumped_s: f64,
    /// Spread of the RTT between intervals, in s.
    pub noise_s: f64,
    /// RTT growth within the last interval, in s/s.
    pub slope: f64,
    /// Mean of the delivery-rate samples of the last interval with one, in bytes/s.
    pub delivery: f64,
    /// Time without a delivery, in s.
    pub silent_s: f64,
    /// Bytes in flight.
    pub inflight: f64,
    /// Payload of a packet, in bytes.
    pub mss: f64,
    /// Whether the last interval had an RTT sample.
    pub has_rtt: bool,
    /// Whether the base RTT does not age, because another flow hides it.
    pub holds_base: bool,
    /// The bottleneck's rate as the first packets' spacing shows it, in bytes/s; 0 before, and with a single ACK.
    pub burst_rate: f64,
    /// Decaying maximum of the delivery rate, in bytes/s. It holds while the queue is never empty.
    pub peak_rate: f64,
    /// Time of the next check for a steady RTT, in s.
    next_steady_check_s: f64,
}

impl Default for PathEstimate {
    fn default() -> Self {
        Self {
            history: [Interval::default(); HISTORY_INTERVALS],
            newest: 0,
            means_s: [0.0; WINDOW_INTERVALS.len()],
            bases_s: [0.0; WINDOW_INTERVALS.len()],
            window: 0,
            sampled_s: 0.0,
            roughness_s: 0.0,
            time_s: 0.0,
            dt_s: 0.0,
            rtt_s: 0.0,
            base_s: 0.0,
            floor_s: 0.0,
            jumped_s: f64::MIN,
            least_s: [0.0; 2],
            period_start_s: 0.0,
            noise_s: 0.0,
            slope: 0.0,
            delivery: 0.0,
            silent_s: 0.0,
            inflight: 0.0,
            mss: 1_448.0,
            has_rtt: false,
            holds_base: false,
            burst_rate: 0.0,
            peak_rate: 0.0,
            next_steady_check_s: 0.0,
        }
    }
}

impl PathEstimate {
    /// Add the report of an interval.
    pub fn observe(&mut self, report: &Report) {
        self.dt_s = report.interval_ns as f64 / 1e9;
        self.time_s = report.time_ns as f64 / 1e9;
        self.mss = f64::from(report.mss.max(1));
        self.inflight = f64::from(report.packets_out) * self.mss;
        self.newest = (self.newest + 1) % HISTORY_INTERVALS;
        self.history[self.newest] = Interval {
            dt_s: self.dt_s,
            delivered: report.delivered_bytes as f64,
            lost: report.lost_bytes as f64,
            sent: report.sent_bytes as f64,
            rate: report.pacing_rate as f64,
            rtt_s: f64::from(report.avg_rtt_us) / 1e6,
            samples: f64::from(report.rtt_samples.max(1)),
        };
        self.silent_s = if report.delivered_bytes > 0 { 0.0 } else { self.silent_s + self.dt_s };
        if report.avg_throughput > 0 {
            self.delivery = report.avg_throughput as f64;
        }
        self.has_rtt = report.avg_rtt_us > 0;
        self.slope = if report.rtt_slope.is_finite() { report.rtt_slope } else { 0.0 };
        if self.has_rtt && self.sampled_s == 0.0 && report.rtt_samples > 1 {
            self.burst_rate = burst_rate(report);
        }
        self.sampled_s += if self.has_rtt || self.sampled_s > 0.0 { self.dt_s } else { 0.0 };
        if self.has_rtt {
            self.update_rtt();
        }
        self.detect_empty_queue();
        let decay = if self.is_crowded() { 0.0 } else { self.dt_s / PEAK_DECAY_S };
        self.peak_rate = (self.peak_rate * (1.0 - decay)).max(self.delivered_over(0.2));
    }

    fn update_rtt(&mut self) {
        self.update_roughness();
        let before_s = self.means_s[0];
        if before_s > 0.0 && self.interval(0).rtt_s > before_s + MAX_QUEUE_GROWTH * self.dt_s {
            self.jumped_s = self.time_s;
        }
        let needed_intervals = (self.roughness_s / MAX_ROUGHNESS_S) * (self.roughness_s / MAX_ROUGHNESS_S);
        let length = WINDOW_INTERVALS[self.window] as f64;
        if self.window + 1 < WINDOW_INTERVALS.len() && needed_intervals > 1.5 * length {
            self.window += 1;
        } else if needed_intervals < 0.4 * length {
            self.window = self.window.saturating_sub(1);
        }
        let (mut back, mut sum, mut samples) = (0, 0.0, 0.0);
        for (window, &length) in WINDOW_INTERVALS.iter().enumerate() {
            while back < length {
                let interval = self.interval(back);
                if interval.rtt_s > 0.0 {
                    sum += interval.rtt_s * interval.samples;
                    samples += interval.samples;
                }
                back += 1;
            }
            let (mean, base) = (sum / samples, &mut self.bases_s[window]);
            let ageing_per_s = match window {
                _ if self.holds_base => 0.0,
                0 => AGEING_PER_S,
                _ => SCATTERED_AGEING_PER_S,
            };
            self.means_s[window] = mean;
            // A window that is not full yet has no minimum: a few bursts may all be early.
            let is_full = self.sampled_s > 0.5 * self.dt_s * length as f64 || length == 1;
            *base = if *base == 0.0 || mean <= *base || !is_full {
                mean
            } else {
                mean.min(*base * (1.0 + ageing_per_s * self.dt_s))
            };
        }
        let rtt_s = self.means_s[self.window];
        if before_s > 0.0 {
            let step = (self.means_s[0] - before_s).abs().min(3.0 * self.noise_s + 2e-4);
            self.noise_s += 0.05 * (step - self.noise_s);
        }
        self.rtt_s = rtt_s;
        self.base_s = self.bases_s[self.window];
        self.least_s[0] = self.least_s[0].min(rtt_s);
        if self.time_s > self.period_start_s + (10.0 * self.base_s).max(CROWDED_PERIOD_S) {
            self.period_start_s = self.time_s;
            self.least_s = [rtt_s, self.least_s[0]];
        }
        self.floor_s = if self.floor_s == 0.0 {
            rtt_s
        } else {
            rtt_s.min(self.floor_s * (1.0 + FLOOR_AGEING_PER_S * self.dt_s))
        };
    }

    /// Use the RTT as the base RTT if it stayed while the sending rate varied: then there is no queue.
    fn detect_empty_queue(&mut self) {
        if !self.has_rtt || self.time_s < self.next_steady_check_s {
            return;
        }
        self.next_steady_check_s = self.time_s + STEADY_CHECK_S;
        if self.queue_s() < STEADY_RTT_SHARE * self.base_s {
            return;
        }
        let (least_s, most_s) = self.queue_range_s(STEADY_S);
        if most_s - least_s < (STEADY_RTT_SHARE * self.rtt_s).max(STEADY_RANGE_S)
            && self.response().variation > VARIED_RATE
        {
            self.rebase();
        }
    }

    fn update_roughness(&mut self) {
        let [next, middle, first] = [0, 1, 2].map(|back| self.interval(back).rtt_s);
        if first > 0.0 && middle > 0.0 {
            let bend = (middle - 0.5 * (first + next)).abs().min(3.0 * self.roughness_s + 2e-4);
            self.roughness_s += 0.05 * (bend - self.roughness_s);
        }
    }

    /// Standard deviation of single RTT samples about a smooth curve, in s; 0 before three bends. It is the median of
    /// the last bends, so neither a step nor the beginning of a queue counts.
    pub fn scatter_s(&self) -> f64 {
        let mut bends = [0.0; SCATTER_INTERVALS];
        let mut count = 0;
        let intervals = (0..HISTORY_INTERVALS).map(|back| self.interval(back));
        let mut sampled = intervals.filter(|interval| interval.rtt_s > 0.0);
        let (Some(mut next), Some(mut middle)) = (sampled.next(), sampled.next()) else { return 0.0 };
        for (bend, first) in bends.iter_mut().zip(sampled) {
            let off = (middle.rtt_s - 0.5 * (first.rtt_s + next.rtt_s)).abs();
            *bend = off / libm::sqrt(1.0 / middle.samples + 0.25 / first.samples + 0.25 / next.samples);
            (next, middle) = (middle, first);
            count += 1;
        }
        if count < 3 {
            return 0.0;
        }
        let bends = &mut bends[..count];
        bends.sort_unstable_by(f64::total_cmp);
        bends[count / 2] / NORMAL_MEDIAN
    }

    /// Standard deviation of the slope within the last interval, in s/s, where single samples have one of `scatter_s`.
    pub fn slope_deviation(&self, scatter_s: f64) -> f64 {
        scatter_s * libm::sqrt(12.0 / self.interval(0).samples) / self.dt_s
    }

    /// The interval `back` intervals ago; 0 is the latest.
    fn interval(&self, back: usize) -> &Interval {
        &self.history[(self.newest + HISTORY_INTERVALS - back) % HISTORY_INTERVALS]
    }

    /// The intervals so far, newest first.
    fn latest(&self) -> impl Iterator<Item = &Interval> {
        (0..HISTORY_INTERVALS).map(|back| self.interval(back)).take_while(|interval| interval.dt_s > 0.0)
    }

    /// Length of the window of the mean RTT without its first interval, in s: 0 on a smooth link.
    pub fn window_s(&self) -> f64 {
        (WINDOW_INTERVALS[self.window] - 1) as f64 * self.dt_s
    }

    /// Random variation of the mean RTT, in s.
    pub fn tolerance_s(&self) -> f64 {
        if self.window == 0 {
            return 2.0 * self.noise_s;
        }
        SCATTER_DEVIATIONS * self.roughness_s / libm::sqrt(WINDOW_INTERVALS[self.window] as f64)
    }

    /// Mean RTT of the last interval with a sample, in s; 0 before the first.
    pub fn latest_rtt_s(&self) -> f64 {
        self.means_s[0]
    }

    /// Minimum of the intervals' mean RTTs, aged, in s; 0 before the first sample.
    pub fn latest_base_s(&self) -> f64 {
        self.bases_s[0]
    }

    /// Use the current RTT as the base RTT, because the path has changed.
    pub fn rebase(&mut self) {
        self.bases_s = self.means_s;
        self.base_s = self.rtt_s;
        self.floor_s = self.rtt_s;
        self.least_s = [self.rtt_s; 2];
        self.period_start_s = self.time_s;
    }

    /// Whether the queue was never empty in the last seconds.
    pub fn is_crowded(&self) -> bool {
        self.least_s[0].min(self.least_s[1]) > self.floor_s + CROWDED_QUEUE_S.max(1.5 * self.tolerance_s())
    }

    /// Queueing delay, in s.
    pub fn queue_s(&self) -> f64 {
        (self.rtt_s - self.base_s).max(0.0)
    }

    /// Delivery rate over the last `window_s`, in bytes/s.
    pub fn delivered_over(&self, window_s: f64) -> f64 {
        let (time, delivered, _) = self.sums(window_s);
        crate::report::ratio(delivered, time)
    }

    /// Bytes lost over bytes lost or delivered in the last `window_s`.
    pub fn loss_over(&self, window_s: f64) -> f64 {
        let (_, delivered, lost) = self.sums(window_s);
        crate::report::ratio(lost, delivered + lost)
    }

    /// The sending rate an RTT ago, in bytes/s, which the current ACKs answer.
    pub fn answered_rate(&self) -> f64 {
        let mut time = 0.0;
        for back in 0..HISTORY_INTERVALS {
            let interval = self.interval(back);
            time += interval.dt_s;
            if time >= self.latest_rtt_s() || interval.dt_s == 0.0 {
                return interval.rate;
            }
        }
        self.history[self.newest].rate
    }

    /// Bytes delivered in the last `window_s` over bytes sent an RTT earlier.
    pub fn answered_share(&self, window_s: f64) -> f64 {
        let (mut time, mut delivered, mut sent) = (0.0, 0.0, 0.0);
        for interval in self.latest() {
            if time < window_s {
                delivered += interval.delivered;
            }
            if time >= self.rtt_s && time < self.rtt_s + window_s {
                sent += interval.sent;
            }
            time += interval.dt_s;
        }
        if sent > 0.0 { delivered / sent } else { 1.0 }
    }

    /// How the delivery rate follows the sending rate of an RTT ago, over the last seconds.
    ///
    /// Alone behind a queue, a flow gets the capacity whatever it sends. Beside others it gets a part in proportion.
    pub fn response(&self) -> Response {
        let delay = libm::round(self.latest_rtt_s() / self.dt_s.max(1e-3)) as usize;
        let bins = HISTORY_INTERVALS.saturating_sub(delay) / RESPONSE_BIN_INTERVALS;
        let (mut count, mut sent_sum, mut delivered_sum) = (0.0, 0.0, 0.0);
        let (mut sent_squares, mut delivered_squares, mut products) = (0.0, 0.0, 0.0);
        for bin in 0..bins.min(MAX_RESPONSE_BINS) {
            let (mut time, mut sent, mut delivered) = (0.0, 0.0, 0.0);
            for back in bin * RESPONSE_BIN_INTERVALS..(bin + 1) * RESPONSE_BIN_INTERVALS {
                let interval = self.interval(back);
                time += interval.dt_s;
                delivered += interval.delivered;
                sent += self.interval(back + delay).sent;
            }
            if time == 0.0 || sent == 0.0 {
                continue;
            }
            let (sent, delivered) = (sent / time, delivered / time);
            count += 1.0;
            sent_sum += sent;
            delivered_sum += delivered;
            sent_squares += sent * sent;
            delivered_squares += delivered * delivered;
            products += sent * delivered;
        }
        if count < 4.0 {
            return Response::default();
        }
        let sent_variance = (sent_squares - sent_sum * sent_sum / count).max(0.0);
        let delivered_variance = (delivered_squares - delivered_sum * delivered_sum / count).max(0.0);
        let covariance = products - sent_sum * delivered_sum / count;
        Response {
            slope: crate::report::ratio(covariance, sent_variance),
            correlation: crate::report::ratio(covariance, libm::sqrt(sent_variance * delivered_variance)),
            variation: crate::report::ratio(libm::sqrt(sent_variance * count), sent_sum),
        }
    }

    /// Smallest and largest queueing delay of the last `window_s` above the floor, in s; zeros without a sample.
    pub fn queue_range_s(&self, window_s: f64) -> (f64, f64) {
        let (mut time, mut least, mut most) = (0.0, f64::MAX, 0.0_f64);
        for interval in self.latest() {
            time += interval.dt_s;
            if time > window_s {
                break;
            }
            if interval.rtt_s > 0.0 {
                least = least.min(interval.rtt_s);
                most = most.max(interval.rtt_s);
            }
        }
        if most == 0.0 {
            return (0.0, 0.0);
        }
        ((least - self.floor_s).max(0.0), (most - self.floor_s).max(0.0))
    }

    fn sums(&self, window_s: f64) -> (f64, f64, f64) {
        let (mut time, mut delivered, mut lost) = (0.0, 0.0, 0.0);
        for interval in self.latest() {
            time += interval.dt_s;
            delivered += interval.delivered;
            lost += interval.lost;
            if time >= window_s {
                break;
            }
        }
        (time, delivered, lost)
    }
}

/// The bottleneck's rate in bytes/s, from the RTTs of packets that were sent at once: each waits for those before.
///
/// The smallest RTT may be that of the first ACK, so only the packets after it count: the rate may be 2/3 of the true one.
fn burst_rate(report: &Report) -> f64 {
    let samples = f64::from(report.rtt_samples);
    let waited = 0.5 * report.delivered_bytes as f64 * (samples - 1.0) / samples;
    let wait_us = f64::from(report.avg_rtt_us.saturating_sub(report.min_rtt_us));
    waited / (wait_us / 1e6).max(LEAST_BURST_WAIT_S)
}

#[cfg(test)]
mod tests;
