//! No input makes a scheme panic, overflow or close its window.

use leo_cc::{
    Ack, AtSending, Congestion, CongestionControl, Context, EcnMode, Handover, Hop, MAX_HOPS, NAMES, Nanos,
    RateSample, Recovery, Saved, Scheme,
};

const MS: Nanos = 1_000_000;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A random ACK that no path would send. Only time and counters never decrease.
fn ack(random: &mut Random, previous: &Ack) -> Ack {
    let acked = random.pick(&[0, 1, 2, 7, 5_000]);
    let delivered = acked.max(random.pick(&[0, 1, 300]));
    let lost = random.pick(&[0, 0, 0, 1, 400]);
    let una = previous.una + u64::from(acked);
    let total_delivered = previous.total_delivered + u64::from(delivered);
    let total_lost = previous.total_lost + u64::from(lost);
    let now = previous.now + random.pick(&[0, 1, MS / 10, MS, 50 * MS, 600_000 * MS]);
    let sent = AtSending {
        delivered: random.below(total_delivered + 1),
        lost: random.below(total_lost + 1),
        in_flight: random.pick(&[0, 1, 20, 100_000]),
        sent_at: random.below(now + 1),
        app_limited: random.below(4) == 0,
    };
    let rate = RateSample {
        delivered: random.pick(&[0, 1, 90_000]),
        interval: random.pick(&[0, 1, MS, 90_000 * MS]),
        app_limited: random.below(2) == 0,
    };
    let rtt = random.pick(&[1, 1_000, 9 * MS, 80 * MS, 81 * MS, 70_000 * MS]);
    Ack {
        now,
        acked,
        delivered,
        marked: random.pick(&[0, 0, 1, 300]),
        lost,
        una,
        next: previous.next.max(una + random.pick(&[0, 1, 500])),
        rtt: random.pick(&[None, Some(rtt)]),
        echo: random.pick(&[0, 1, now, u64::MAX]),
        left_ms: random.pick(&[0, 1, (now / MS) as u32, u32::MAX]),
        min_rtt: random.pick(&[0, 1, 9 * MS, u64::MAX]),
        srtt: random.pick(&[0, 1, 80 * MS, 70_000 * MS]),
        prior_in_flight: random.pick(&[0, 1, 20, 100_000]),
        in_flight: random.pick(&[0, 1, 20, 100_000]),
        total_delivered,
        total_lost,
        total_sent: previous.total_sent + random.pick(&[0, 1, 40]),
        rate: random.pick(&[None, Some(rate)]),
        newest: random.pick(&[None, Some(sent)]),
        paced_until: random.pick(&[0, now, now + MS, u64::MAX]),
        window_limited: random.below(4) > 0,
        may_grow: random.below(4) > 0,
        recovery: random.pick(&[Recovery::Open, Recovery::Open, Recovery::Recovery, Recovery::Loss]),
        sacked: random.below(4) as u32,
        was_repairing: random.below(4) == 0,
        was_disordered: random.below(4) == 0,
    }
}

/// Random telemetry that no switch would send.
fn hop(random: &mut Random, now: Nanos) -> Hop {
    Hop {
        link: random.pick(&[0, 0, 0, 1, u32::MAX]),
        flows: random.pick(&[0, 1, u32::MAX]),
        queue_found: random.pick(&[0, 1_500, u32::MAX]),
        queue_left: random.pick(&[0, 1_500, u32::MAX]),
        departed_at: random.pick(&[0, now / 2, now, u64::MAX]),
        sent_bytes: random.pick(&[0, now / 100, u64::MAX]),
        rate: random.pick(&[0, 1, 12_500_000, u64::MAX]),
        average_rtt: random.pick(&[0, 1, 50 * MS, u64::MAX]),
    }
}

#[test]
fn no_scheme_breaks_whatever_it_is_told() {
    for name in NAMES {
        for seed in 0..20 {
            let mut random = Random(seed);
            // Every other run adds announcements that make no more sense.
            let handovers = [0, 7, 7, MS, 900_000 * MS].map(|expected_at| Handover { expected_at });
            let reconfiguration = Some(random.pick(&[(0, 1), (u64::MAX, 0), (40 * MS, 15_000 * MS)]));
            let saved = Some(random.pick(&[(0, 0), (40, 1), (700, 50 * MS), (u32::MAX, u64::MAX)]))
                .map(|(window, rtt)| Saved { window, rtt });
            let context = if seed % 2 == 0 {
                Context { seed, ..Context::default() }
            } else {
                Context { seed, handovers: handovers.into(), reconfiguration, saved }
            };
            let mut scheme = Scheme::by_name(name, &context).expect("it is a scheme");
            let mut last = Ack::default();
            scheme.on_ecn_mode(random.pick(&[EcnMode::Off, EcnMode::Classic, EcnMode::Accurate]));
            scheme.on_start(0, random.pick(&[0, 1, 50 * MS]));
            for _ in 0..3_000 {
                match random.below(62) {
                    0 => {
                        let kinds = [
                            Congestion::Loss,
                            Congestion::Ecn,
                            Congestion::Timeout,
                            Congestion::RepeatedTimeout,
                        ];
                        scheme.on_congestion(random.pick(&kinds), last.now);
                    }
                    1 => scheme.on_undo(last.now),
                    2 => scheme.on_recovered(last.now),
                    3 => scheme.on_restart(last.now, random.pick(&[0, MS, 600_000 * MS])),
                    4 => scheme.on_timer(last.now),
                    5 => scheme.on_packet_lost(last.now, &last.newest.unwrap_or_default()),
                    61 => scheme.on_timeout(random.pick(&[0, 1, 100_000, u32::MAX])),
                    60 => scheme.on_unused_window(random.pick(&[0, 1, 10]), random.pick(&[0, 2, u32::MAX])),
                    6..20 => {
                        let hops = [0; MAX_HOPS].map(|_| hop(&mut random, last.now));
                        scheme.on_telemetry(last.now, &hops[..random.pick(&[0, 1, 1, 2, MAX_HOPS])]);
                    }
                    _ => {
                        last = ack(&mut random, &last);
                        scheme.on_ack(&last);
                    }
                }
                assert!(scheme.window() >= 1, "{name}, seed {seed}");
                assert!(scheme.slow_start_threshold() >= 1, "{name}, seed {seed}");
                assert!(scheme.pacing_rate().is_none_or(|rate| rate > 0), "{name}, seed {seed}");
            }
        }
    }
}
