//! Builds a queue discipline from its specification.

use leo_link::{
    Cake, CakeSettings, Codel, CodelSettings, DropTail, DualPi2, DualPi2Settings, FqCodel, FqCodelSettings,
    FqPie, FqPieSettings, Gateway, HeadDrop, Link, Managed, Nanos, Pie, PieSettings, QueueKind, Sfq,
    SfqSettings,
};
use leo_transport::PACKET_BYTES;

use super::{NANOS_PER_MS, NANOS_PER_S};
use crate::packet::Packet;
use crate::scenario::{QueueSpec, nanos};

/// Return the queue size for a link of `rate_bps` with the largest base RTT `rtt`.
pub fn limit(queue: &QueueSpec, rate_bps: u64, rtt: Nanos) -> DropTail {
    let of_bdp = |bdp: f64| {
        let bits = rate_bps as f64 * rtt as f64 / NANOS_PER_S;
        DropTail::of_packets(((bdp * bits / f64::from(8 * PACKET_BYTES)).round() as u64).max(1))
    };
    match (queue.packets, queue.bytes, queue.bdp) {
        (Some(packets), ..) => DropTail::of_packets(packets),
        (_, Some(bytes), _) => DropTail::of_bytes(bytes),
        (_, _, Some(bdp)) => of_bdp(bdp),
        _ => match (queue.kind, queue.memory_bytes) {
            (QueueKind::Cake, Some(bytes)) => DropTail::of_bytes(bytes),
            _ => queue.kind.default_size().unwrap_or_else(|| of_bdp(1.0)),
        },
    }
}

/// Install the discipline of `queue` on `link`, whose limit is the queue size.
pub fn install(link: Link<Packet>, queue: &QueueSpec, seed: u64) -> Link<Packet> {
    let size = link.limit();
    let packets = size.packets.min(size.bytes / u64::from(PACKET_BYTES)).max(1);
    let bytes = size.bytes.min(size.packets.saturating_mul(u64::from(PACKET_BYTES)));
    let managed = match queue.kind {
        QueueKind::Droptail => return link,
        QueueKind::HeadDrop => Managed::HeadDrop(HeadDrop::new(size)),
        QueueKind::Gateway => return link.behind_gateway(Gateway::new(bytes / 2, seed)),
        QueueKind::Sfq => Managed::Sfq(Sfq::new(sfq(queue, packets), seed)),
        QueueKind::Codel => Managed::Codel(Codel::new(packets, codel(queue, CodelSettings::default()))),
        QueueKind::FqCodel => Managed::FqCodel(FqCodel::new(fq_codel(queue, packets), seed)),
        QueueKind::Pie => Managed::Pie(Pie::new(packets, pie(queue), seed)),
        QueueKind::FqPie => Managed::FqPie(FqPie::new(fq_pie(queue, packets), seed)),
        QueueKind::Cake => Managed::Cake(Cake::new(cake(queue, bytes), seed)),
        QueueKind::DualPi2 => Managed::DualPi2(DualPi2::new(dualpi2(queue, packets), seed)),
    };
    link.managed_by(managed)
}

fn time(given_ms: Option<f64>, default: Nanos) -> Nanos {
    given_ms.map_or(default, |ms| nanos(ms, NANOS_PER_MS))
}

fn codel(queue: &QueueSpec, default: CodelSettings) -> CodelSettings {
    CodelSettings {
        target: time(queue.target_ms, default.target),
        interval: time(queue.interval_ms, default.interval),
        ecn: queue.ecn.unwrap_or(default.ecn),
    }
}

fn pie(queue: &QueueSpec) -> PieSettings {
    let default = PieSettings::default();
    PieSettings {
        target: time(queue.target_ms, default.target),
        update: time(queue.tupdate_ms, default.update),
        alpha: queue.alpha.unwrap_or(default.alpha),
        beta: queue.beta.unwrap_or(default.beta),
        ecn: queue.ecn.unwrap_or(default.ecn),
    }
}

fn dualpi2(queue: &QueueSpec, limit: u64) -> DualPi2Settings {
    let default = DualPi2Settings::default();
    DualPi2Settings {
        limit,
        target: time(queue.target_ms, default.target),
        update: time(queue.tupdate_ms, default.update),
        alpha_hz: queue.alpha_hz.unwrap_or(default.alpha_hz),
        beta_hz: queue.beta_hz.unwrap_or(default.beta_hz),
        coupling: queue.coupling.unwrap_or(default.coupling),
        step: time(queue.step_ms, default.step),
        classic_percent: queue.classic_percent.unwrap_or(default.classic_percent),
        any_ect: queue.any_ect.unwrap_or(default.any_ect),
        drop_overload: queue.drop_overload.unwrap_or(default.drop_overload),
    }
}

fn sfq(queue: &QueueSpec, limit: u64) -> SfqSettings {
    let default = SfqSettings::default();
    SfqSettings {
        limit,
        depth: queue.depth_packets.unwrap_or(default.depth),
        flows: queue.flows.unwrap_or(default.flows),
        quantum: queue.quantum_bytes.unwrap_or(default.quantum),
    }
}

fn fq_codel(queue: &QueueSpec, limit: u64) -> FqCodelSettings {
    let default = FqCodelSettings::default();
    FqCodelSettings {
        limit,
        memory_limit: queue.memory_bytes.unwrap_or(default.memory_limit),
        flows: queue.flows.unwrap_or(default.flows),
        quantum: queue.quantum_bytes.unwrap_or(default.quantum),
        codel: codel(queue, default.codel),
    }
}

fn fq_pie(queue: &QueueSpec, limit: u64) -> FqPieSettings {
    let default = FqPieSettings::default();
    FqPieSettings {
        limit,
        memory_limit: queue.memory_bytes.unwrap_or(default.memory_limit),
        flows: queue.flows.unwrap_or(default.flows),
        quantum: queue.quantum_bytes.unwrap_or(default.quantum),
        pie: pie(queue),
    }
}

fn cake(queue: &QueueSpec, bytes: u64) -> CakeSettings {
    let sized = queue.bdp.is_some() || queue.packets.is_some() || queue.bytes.is_some();
    CakeSettings {
        bandwidth_bps: queue.bandwidth_mbps.map(|rate| (rate * 1e6).round() as u64),
        rtt: time(queue.rtt_ms, CakeSettings::default().rtt),
        memory_limit: queue.memory_bytes.or_else(|| sized.then_some(bytes)),
    }
}
