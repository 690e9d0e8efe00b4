//! Compute the report of a monitor interval from the kernel's counters at both of its ends.

use leo_control::Report;

use crate::slot::Flow;

/// Report on a flow from `before`, read at `begin_us`, to `after`, read at `end_us` (both `CLOCK_MONOTONIC`).
///
/// The kernel's counters wrap, so differences are taken modulo their width. The report's time starts at
/// `origin_us`. `max_throughput` is the connection's running maximum, which this interval may raise.
pub fn report(
    before: &Flow,
    after: &Flow,
    (begin_us, end_us): (u64, u64),
    origin_us: u64,
    max_throughput: &mut u64,
) -> Report {
    let bytes = |to: u32, from: u32| u64::from(to.wrapping_sub(from)) * u64::from(after.mss);
    let mean = |sum: u64, count: u64| sum.checked_div(count).unwrap_or(0);
    let rtt_samples = after.rtt_samples.wrapping_sub(before.rtt_samples);
    let avg_rtt_us = mean(after.rtt_sum_us.wrapping_sub(before.rtt_sum_us), rtt_samples);
    let rate_samples = after.rate_samples.wrapping_sub(before.rate_samples);
    let avg_throughput = mean(after.rate_sum.wrapping_sub(before.rate_sum), rate_samples);
    *max_throughput = avg_throughput.max(*max_throughput);
    Report {
        time_ns: end_us.saturating_sub(origin_us) * 1_000,
        interval_ns: end_us.saturating_sub(begin_us) * 1_000,
        delivered_bytes: bytes(after.delivered, before.delivered),
        sent_bytes: bytes(after.sent, before.sent),
        lost_bytes: bytes(after.lost, before.lost),
        avg_throughput,
        avg_rtt_us: u32::try_from(avg_rtt_us).unwrap_or(u32::MAX),
        rtt_samples: u32::try_from(rtt_samples).unwrap_or(u32::MAX),
        // "None yet" is all ones in the kernel and 0 in a report.
        min_rtt_us: if after.min_rtt_us == u32::MAX { 0 } else { after.min_rtt_us },
        srtt_us: after.srtt_us_8 / 8,
        rttvar_us: after.mdev_us_4 / 4,
        cwnd: after.cwnd,
        packets_out: after.packets_out,
        retrans_out: after.retrans_out,
        mss: after.mss,
        pacing_rate: if after.pacing_rate == u64::MAX { 0 } else { after.pacing_rate },
        max_throughput: *max_throughput,
        ssthresh: after.ssthresh,
        rtt_slope: rtt_slope(before, after),
    }
}

/// Slope of the least-squares line through the interval's RTT samples, in s/s; 0 without a line.
///
/// The connection's sums wrap and so does this arithmetic. The result is still right, because spread and
/// covariance do not depend on the origin of time and fit into 64 bits.
fn rtt_slope(before: &Flow, after: &Flow) -> f64 {
    let samples = after.rtt_samples.wrapping_sub(before.rtt_samples);
    let time = after.time_sum_us.wrapping_sub(before.time_sum_us);
    let rtt = after.rtt_sum_us.wrapping_sub(before.rtt_sum_us);
    let square = after.time_square_sum.wrapping_sub(before.time_square_sum);
    let product = after.time_rtt_sum.wrapping_sub(before.time_rtt_sum);
    let spread = samples.wrapping_mul(square).wrapping_sub(time.wrapping_mul(time)) as i64;
    let covariance = samples.wrapping_mul(product).wrapping_sub(time.wrapping_mul(rtt)) as i64;
    if spread > 0 { covariance as f64 / spread as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_differences_and_sums_become_means() {
        let before = Flow {
            rtt_sum_us: 1_000,
            rtt_samples: 1,
            rate_sum: 7,
            rate_samples: 1,
            delivered: 5,
            ..Flow::default()
        };
        let after = Flow {
            rtt_sum_us: 1_000 + 3 * 40_000,
            rtt_samples: 4,
            rate_sum: 7 + 2 * 1_000_000,
            rate_samples: 3,
            delivered: 25,
            sent: 30,
            lost: 2,
            srtt_us_8: 8 * 41_000,
            mdev_us_4: 4 * 500,
            min_rtt_us: 39_000,
            cwnd: 20,
            packets_out: 19,
            retrans_out: 1,
            mss: 1_448,
            pacing_rate: 2_000_000,
            ..Flow::default()
        };
        let mut max_throughput = 900_000;
        let report = report(&before, &after, (1_000_000, 1_030_000), 500_000, &mut max_throughput);
        let expected = Report {
            time_ns: 530_000_000,
            interval_ns: 30_000_000,
            delivered_bytes: 20 * 1_448,
            sent_bytes: 30 * 1_448,
            lost_bytes: 2 * 1_448,
            avg_throughput: 1_000_000,
            avg_rtt_us: 40_000,
            rtt_samples: 3,
            min_rtt_us: 39_000,
            srtt_us: 41_000,
            rttvar_us: 500,
            cwnd: 20,
            packets_out: 19,
            retrans_out: 1,
            mss: 1_448,
            pacing_rate: 2_000_000,
            max_throughput: 1_000_000,
            ssthresh: 0,
            rtt_slope: 0.0,
        };
        assert_eq!(report, expected);
        assert_eq!(max_throughput, 1_000_000);
    }

    #[test]
    fn the_slope_is_right_even_where_sums_wrap() {
        let mut before = Flow { time_square_sum: u64::MAX - 5, time_rtt_sum: u64::MAX, ..Flow::default() };
        before.rtt_sum_us = 99;
        let mut after = before;
        // Hours after the start, the RTT grows by 300 µs every 10 ms.
        for i in 0..20 {
            let (time, rtt) = (9_000_000_000_u64 + i * 10_000, 50_000 + i * 300);
            after.rtt_samples += 1;
            after.rtt_sum_us += rtt;
            after.time_sum_us += time;
            after.time_square_sum = after.time_square_sum.wrapping_add(time.wrapping_mul(time));
            after.time_rtt_sum = after.time_rtt_sum.wrapping_add(time.wrapping_mul(rtt));
        }
        assert!((rtt_slope(&before, &after) - 0.03).abs() < 1e-12);
        assert_eq!(rtt_slope(&before, &before), 0.0);
    }

    #[test]
    fn a_counter_that_wraps_loses_nothing() {
        let before = Flow {
            delivered: u32::MAX - 1,
            rtt_sum_us: u64::MAX - 9,
            rtt_samples: u64::MAX,
            ..Flow::default()
        };
        let after = Flow { delivered: 3, rtt_sum_us: 20, rtt_samples: 1, mss: 100, ..Flow::default() };
        let report = report(&before, &after, (0, 1), 0, &mut 0);
        assert_eq!((report.delivered_bytes, report.avg_rtt_us, report.rtt_samples), (500, 15, 2));
    }

    #[test]
    fn before_the_first_sample_a_report_says_0_where_the_kernel_says_all_ones() {
        let flow = Flow { min_rtt_us: u32::MAX, pacing_rate: u64::MAX, ..Flow::default() };
        let report = report(&flow, &flow, (0, 1), 0, &mut 0);
        assert_eq!((report.min_rtt_us, report.pacing_rate, report.avg_rtt_us), (0, 0, 0));
    }
}
