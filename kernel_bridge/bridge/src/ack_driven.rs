//! Run a scheme of `core/cc` on a live flow. The scheme gets every ACK at most 1 ms late; its window and rate
//! become a command. This suits only schemes that pace and do not reduce the window during recovery.

use leo_cc::{
    Ack, AtSending, Congestion, CongestionControl, Context, NEVER, Nanos, RateSample, Recovery,
    SEGMENT_BYTES, Scheme,
};

use crate::ack_record::{AckRecord, Kind};
use crate::slot::Flow;

/// Schemes that can run this way.
pub const NAMES: [&str; 4] = ["copa", "vivace", "vivace-kernel", "vivace-proteus"];

const NANOS_PER_US: u64 = 1_000;
// `enum tcp_ca_state` (include/uapi/linux/tcp.h).
const CA_DISORDER: u8 = 1;
const CA_CWR: u8 = 2;
const CA_RECOVERY: u8 = 3;
const CA_LOSS: u8 = 4;

/// Return whether a scheme of [`NAMES`] paces single packets rather than bursts.
pub fn paces_by_one(name: &str) -> bool {
    Scheme::by_name(name, &Context::default()).is_some_and(|scheme| scheme.paces_single_packets())
}

/// One flow's scheme.
#[derive(Clone, Debug)]
pub struct AckDriven {
    scheme: Scheme,
    origin_us: u64,
    mss: u32,
    ca_state: u8,
    // The last record's totals, which wrap.
    delivered: u32,
    lost: u32,
    bytes_acked: u64,
    // The same totals without wrapping.
    total_delivered: u64,
    total_lost: u64,
    /// Estimated send time of the newest delivered packet.
    newest_sent_at: Nanos,
}

impl AckDriven {
    /// Start the scheme `name`, one of [`NAMES`], on a new flow; `seed` seeds its random decisions.
    pub fn new(name: &str, seed: u64, flow: &Flow) -> Self {
        let context = Context { seed, ..Context::default() };
        assert!(NAMES.contains(&name), "{name} is not one of {NAMES:?}");
        let mut scheme = Scheme::by_name(name, &context).expect("each of NAMES is a scheme");
        scheme.on_start(0, u64::from(flow.srtt_us_8) * NANOS_PER_US / 8);
        Self {
            scheme,
            origin_us: flow.opened_us,
            mss: flow.mss.max(1),
            ca_state: 0,
            delivered: flow.delivered,
            lost: flow.lost,
            bytes_acked: flow.bytes_acked,
            total_delivered: u64::from(flow.delivered),
            total_lost: u64::from(flow.lost),
            newest_sent_at: 0,
        }
    }

    /// Return the scheme's window in packets and its pacing rate in bytes/s (0: unpaced).
    pub fn wanted(&self) -> (u32, u64) {
        // Schemes assume segments of 1,448 bytes.
        let rate = self.scheme.pacing_rate().map_or(0, |rate| {
            (u128::from(rate) * u128::from(self.mss) / u128::from(SEGMENT_BYTES)).max(1) as u64
        });
        (self.scheme.window().max(1), rate)
    }

    /// Return the time at which [`on_time`](Self::on_time) is due, `CLOCK_MONOTONIC` in µs.
    pub fn next_timer_us(&self) -> u64 {
        match self.scheme.next_timer() {
            NEVER => u64::MAX,
            at => self.origin_us.saturating_add(at.div_ceil(NANOS_PER_US)),
        }
    }

    /// Run the scheme's timer if it is due.
    pub fn on_time(&mut self, now_us: u64) {
        let now = self.since_origin(now_us);
        if self.scheme.next_timer() <= now {
            self.scheme.on_timer(now);
        }
    }

    /// Pass a record (an ACK, a change of the congestion state, an undo) to the scheme.
    pub fn hear(&mut self, record: &AckRecord) {
        let now = self.since_origin(record.time_us);
        if record.mss > 0 {
            self.mss = record.mss;
        }
        match record.kind() {
            Kind::Acknowledged => self.on_ack(record, now),
            Kind::StateChanged => self.on_state(record.ca_state, now),
            Kind::Undone => self.scheme.on_undo(now),
        }
    }

    fn since_origin(&self, us: u64) -> Nanos {
        us.saturating_sub(self.origin_us) * NANOS_PER_US
    }

    fn on_state(&mut self, state: u8, now: Nanos) {
        let before = std::mem::replace(&mut self.ca_state, state);
        match state {
            CA_LOSS if before >= CA_RECOVERY => {
                self.scheme.on_congestion(Congestion::RepeatedTimeout, now);
            }
            CA_LOSS => self.scheme.on_congestion(Congestion::Timeout, now),
            CA_RECOVERY if before != CA_RECOVERY => self.scheme.on_congestion(Congestion::Loss, now),
            CA_CWR if before != CA_CWR => self.scheme.on_congestion(Congestion::Ecn, now),
            ..=CA_DISORDER if before > CA_DISORDER => self.scheme.on_recovered(now),
            _ => {}
        }
    }

    fn on_ack(&mut self, record: &AckRecord, now: Nanos) {
        let delivered = record.delivered.wrapping_sub(self.delivered);
        let lost = record.lost.wrapping_sub(self.lost);
        let acked_bytes = record.bytes_acked.saturating_sub(self.bytes_acked);
        (self.delivered, self.lost, self.bytes_acked) = (record.delivered, record.lost, record.bytes_acked);
        self.total_delivered += u64::from(delivered);
        self.total_lost += u64::from(lost);
        let srtt = u64::from(record.srtt_us_8) * NANOS_PER_US / 8;
        let rtt = u64::try_from(record.rtt_us).ok().map(|us| us * NANOS_PER_US);
        // The kernel does not give programs the send time; for a packet sent once, the RTT yields it.
        let sent_at = now.saturating_sub(rtt.unwrap_or(srtt)).max(self.newest_sent_at);
        let at_sending = AtSending {
            delivered: self
                .total_delivered
                .saturating_sub(u64::from(record.delivered.wrapping_sub(record.prior_delivered))),
            lost: self.total_lost - u64::from(lost),
            in_flight: record.prior_in_flight,
            app_limited: record.app_limited != 0,
            sent_at,
        };
        if delivered > 0 {
            self.newest_sent_at = sent_at;
        }
        // Nor does it say which packets are lost: assume those sent just before the newest delivered one.
        for _ in 0..lost {
            self.scheme.on_packet_lost(now, &AtSending { sent_at: self.newest_sent_at, ..at_sending });
        }
        let una = record.bytes_acked / u64::from(self.mss);
        let recovery = match self.ca_state {
            CA_LOSS => Recovery::Loss,
            CA_CWR | CA_RECOVERY => Recovery::Recovery,
            _ => Recovery::Open,
        };
        let rate = match (u64::try_from(record.rate_delivered), u64::try_from(record.rate_interval_us)) {
            (Ok(delivered), Ok(interval_us)) if interval_us > 0 => Some(RateSample {
                delivered,
                interval: interval_us * NANOS_PER_US,
                app_limited: record.app_limited != 0,
            }),
            _ => None,
        };
        self.scheme.on_ack(&Ack {
            now,
            acked: u32::try_from(acked_bytes.div_ceil(u64::from(self.mss))).unwrap_or(u32::MAX),
            delivered,
            lost,
            una,
            next: una + u64::from(record.packets_out),
            rtt,
            min_rtt: if record.min_rtt_us == u32::MAX {
                u64::MAX
            } else {
                u64::from(record.min_rtt_us) * NANOS_PER_US
            },
            srtt,
            prior_in_flight: record.prior_in_flight,
            in_flight: record.in_flight,
            total_delivered: self.total_delivered,
            total_lost: self.total_lost,
            total_sent: u64::from(record.sent),
            rate,
            newest: (delivered > 0).then_some(at_sending),
            window_limited: record.prior_in_flight >= self.scheme.window(),
            may_grow: recovery == Recovery::Open,
            recovery,
            // The record has neither timestamps nor reordering; no scheme that sets a rate uses them.
            ..Ack::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPENED_US: u64 = 7_000_000;
    const RTT_US: u64 = 40_000;

    fn opened() -> Flow {
        Flow {
            opened_us: OPENED_US,
            mss: SEGMENT_BYTES,
            delivered: 1,
            srtt_us_8: 8 * RTT_US as u32,
            ..Flow::default()
        }
    }

    /// Mean rate over a path of `capacity` bytes/s without a queue: it drops everything above its capacity.
    fn rate_after(name: &str, capacity: f64, seconds: u64) -> f64 {
        let mut driven = AckDriven::new(name, 1, &opened());
        let (mut delivered, mut lost, mut carry) = (1_u32, 0_u32, 0.0);
        let mut sum = 0.0;
        for step in 0..seconds * 1_000 {
            let now_us = OPENED_US + RTT_US + step * 1_000;
            let sent = driven.wanted().1 as f64;
            let rate = sent.min(capacity);
            carry += rate / 1_000.0 / f64::from(SEGMENT_BYTES);
            let packets = carry as u32;
            carry -= f64::from(packets);
            delivered += packets;
            lost += ((sent - rate) / 1_000.0 / f64::from(SEGMENT_BYTES)).round() as u32;
            if packets > 0 {
                driven.hear(&AckRecord {
                    time_us: now_us,
                    bytes_acked: u64::from(delivered) * u64::from(SEGMENT_BYTES),
                    rtt_us: RTT_US as i64,
                    delivered,
                    lost,
                    srtt_us_8: 8 * RTT_US as u32,
                    min_rtt_us: RTT_US as u32,
                    mss: SEGMENT_BYTES,
                    ..AckRecord::default()
                });
            }
            driven.on_time(now_us);
            if step >= seconds * 500 {
                sum += rate;
            }
        }
        sum / (seconds * 500) as f64
    }

    #[test]
    fn vivace_finds_the_capacity_of_a_path() {
        for name in ["vivace", "vivace-kernel", "vivace-proteus"] {
            let share = rate_after(name, 5e6, 30) / 5e6;
            assert!(share > 0.8, "{name}: {share}");
        }
    }

    #[test]
    fn every_scheme_paces_and_has_a_window() {
        for name in NAMES {
            let mut driven = AckDriven::new(name, 1, &opened());
            driven.hear(&AckRecord {
                time_us: OPENED_US + RTT_US,
                rtt_us: RTT_US as i64,
                delivered: 11,
                srtt_us_8: 8 * RTT_US as u32,
                min_rtt_us: RTT_US as u32,
                mss: SEGMENT_BYTES,
                ..AckRecord::default()
            });
            let (window, rate) = driven.wanted();
            assert!(window >= 2 && rate > 0, "{name}: {window} {rate}");
            // The daemon relies on this: only the scheme may reduce the window in recovery.
            assert!(!driven.scheme.wants_rate_reduction(), "{name}");
        }
    }

    #[test]
    fn segments_of_another_size_scale_the_rate() {
        let whole = AckDriven::new("vivace", 1, &opened()).wanted();
        let half = AckDriven::new("vivace", 1, &Flow { mss: SEGMENT_BYTES / 2, ..opened() }).wanted();
        assert_eq!((half.0, half.1), (whole.0, whole.1 / 2));
    }

    #[test]
    fn a_timeout_halts_the_kernel_vivaces_measuring_until_it_is_repaired() {
        let mut driven = AckDriven::new("vivace-kernel", 1, &opened());
        let ack = AckRecord {
            time_us: OPENED_US + RTT_US,
            rtt_us: RTT_US as i64,
            delivered: 11,
            mss: SEGMENT_BYTES,
            srtt_us_8: 8 * RTT_US as u32,
            ..AckRecord::default()
        };
        let at = |ms: u64| AckRecord { time_us: OPENED_US + 1_000 * ms, delivered: 11 + ms as u32, ..ack };
        driven.hear(&at(40));
        driven.hear(&at(41));
        assert_ne!(driven.next_timer_us(), u64::MAX);
        driven.hear(&AckRecord { kind: 1, ca_state: CA_LOSS, ..at(400) });
        driven.hear(&at(440));
        driven.hear(&at(441));
        assert_eq!(driven.next_timer_us(), u64::MAX);
        driven.hear(&AckRecord { kind: 1, ca_state: 0, ..at(480) });
        driven.hear(&at(481));
        driven.hear(&at(530));
        assert_ne!(driven.next_timer_us(), u64::MAX);
    }

    fn any_record() -> impl Strategy<Value = AckRecord> {
        prop::collection::vec(any::<u8>(), size_of::<AckRecord>()).prop_map(|bytes| {
            let record = AckRecord::from_bytes(&bytes).expect("long enough");
            // 2^44 µs: half a year since boot.
            AckRecord {
                time_us: record.time_us % (1 << 44),
                rtt_us: record.rtt_us % (1 << 44),
                rate_interval_us: record.rate_interval_us % (1 << 44),
                mss: record.mss % (1 << 16),
                kind: record.kind % 3,
                ca_state: record.ca_state % 5,
                lost: record.lost % 1_000,
                ..record
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_record_whatever_makes_a_scheme_stop(
            records in prop::collection::vec(any_record(), 1..40),
            name in prop::sample::select(&NAMES[..]),
        ) {
            let mut driven = AckDriven::new(name, 1, &opened());
            // The loss total grows in small steps.
            let mut lost = 0_u32;
            for record in records {
                lost = lost.wrapping_add(record.lost);
                driven.hear(&AckRecord { lost, ..record });
                driven.on_time(record.time_us);
                prop_assert!(driven.wanted().0 >= 1);
            }
        }
    }

    #[test]
    fn totals_that_wrap_and_records_that_were_dropped_lose_nothing() {
        let flow = Flow { delivered: u32::MAX - 4, lost: u32::MAX, ..opened() };
        let mut driven = AckDriven::new("vivace", 1, &flow);
        driven.hear(&AckRecord {
            time_us: OPENED_US + 1,
            delivered: 5,
            lost: 1,
            mss: 1_448,
            ..AckRecord::default()
        });
        assert_eq!(driven.total_delivered, u64::from(u32::MAX - 4) + 10);
        assert_eq!(driven.total_lost, u64::from(u32::MAX) + 2);
    }
}
