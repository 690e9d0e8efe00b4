//! The centralised critic's view of a path and all its flows: Astraea's 12 numbers.

use crate::report::ratio;
use crate::{FlowState, World};

/// Length of the global state.
pub const GLOBAL_DIM: usize = 12;

/// Write the global state of `world` and its active `flows`.
///
/// | # | number |
/// |---|--------|
/// | 0, 1, 2 | sum, minimum and maximum of the flows' mean throughput / 50 MB/s |
/// | 3 | mean RTT of the flows / 500 ms |
/// | 4, 5, 6 | minimum, maximum and mean window / 1,000 packets |
/// | 7 | mean bytes lost per second / 1 MB/s |
/// | 8 | number of flows / 10 |
/// | 9 | one-way propagation (half of the round trip's) / 500 ms |
/// | 10 | buffer in multiples of capacity × round-trip propagation / 10 |
/// | 11 | capacity / 500 Mbit/s |
///
/// Without flows the first eight are 0. Without an RTT sample in the interval, a flow's smoothed RTT counts.
/// Source: the released Python client; entry 10 is buffer / BDP as in its sibling Spine. Panics if `out` is
/// not [`GLOBAL_DIM`] long.
pub fn write_global_state<'a>(world: &World, flows: impl Iterator<Item = &'a FlowState>, out: &mut [f32]) {
    let (mut n, mut sum, mut min, mut max) = (0.0, 0.0, f64::INFINITY, 0.0f64);
    let (mut rtt_us, mut loss) = (0.0, 0.0);
    let (mut cwnd_sum, mut cwnd_min, mut cwnd_max) = (0.0, f64::INFINITY, 0.0f64);
    for flow in flows {
        let throughput = flow.report.avg_throughput as f64;
        let cwnd = f64::from(flow.report.cwnd);
        n += 1.0;
        sum += throughput;
        min = min.min(throughput);
        max = max.max(throughput);
        rtt_us += f64::from(flow.report.latency_us());
        loss += flow.report.loss_rate_bytes_per_s();
        cwnd_sum += cwnd;
        cwnd_min = cwnd_min.min(cwnd);
        cwnd_max = cwnd_max.max(cwnd);
    }
    if n == 0.0 {
        (min, cwnd_min) = (0.0, 0.0);
    }
    let state = [
        sum / 5e7,
        min / 5e7,
        max / 5e7,
        ratio(rtt_us, n) / 5e5,
        cwnd_min / 1e3,
        cwnd_max / 1e3,
        ratio(cwnd_sum, n) / 1e3,
        ratio(loss, n) / 1e6,
        n / 10.0,
        world.base_delay_ns() / 1e6 / 500.0,
        world.buffer_bdp() / 10.0,
        world.capacity_bytes_per_s * 8.0 / 1e6 / 500.0,
    ];
    out.copy_from_slice(&state.map(|number: f64| number as f32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;

    #[test]
    fn the_twelve_numbers_are_those_of_the_definition() {
        let world = World { capacity_bytes_per_s: 12.5e6, base_rtt_ns: 30_000_000, buffer_bytes: 750_000 };
        let flows = [(8_000_000, 40_000, 300, 3_000), (4_000_000, 60_000, 100, 0)].map(
            |(avg_throughput, avg_rtt_us, cwnd, lost_bytes)| {
                let mut flow = FlowState::new(0);
                let interval_ns = 30_000_000;
                flow.observe(&Report {
                    interval_ns,
                    avg_throughput,
                    avg_rtt_us,
                    cwnd,
                    lost_bytes,
                    ..Report::default()
                });
                flow
            },
        );
        let mut out = [f32::NAN; GLOBAL_DIM];
        write_global_state(&world, flows.iter(), &mut out);
        let expected = [0.24, 0.08, 0.16, 0.1, 0.1, 0.3, 0.2, 0.05, 0.2, 0.03, 0.2, 0.2];
        for (i, (got, want)) in out.into_iter().zip(expected).enumerate() {
            assert!((got - want).abs() < 1e-6, "number {i}: {got} is not {want}");
        }
    }

    #[test]
    fn an_empty_path_is_all_zero_but_for_the_path_itself() {
        let world = World { capacity_bytes_per_s: 12.5e6, base_rtt_ns: 30_000_000, buffer_bytes: 375_000 };
        let mut out = [f32::NAN; GLOBAL_DIM];
        write_global_state(&world, [].iter(), &mut out);
        assert_eq!(out[..9], [0.0; 9]);
        assert_eq!(out[9..], [0.03, 0.1, 0.2]);
    }
}
