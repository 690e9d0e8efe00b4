//! A burst does what its packets do one by one.

use super::*;

/// Offer bursts of up to twelve packets, by `offer`, and return what comes out with the link's counters.
fn drive_bursts(
    mut link: Link<Probe>,
    bursts: &[(Nanos, u32)],
    offer: impl Fn(&mut Link<Probe>, u32, Probe, Nanos),
) -> (Vec<(Nanos, Probe)>, LinkStats) {
    let (mut now, mut id, mut out) = (0, 1, Vec::new());
    for &(gap, bytes) in bursts {
        now += gap;
        take_until(&mut link, now, &mut out);
        let count = 1 + bytes % 12;
        offer(&mut link, count, Probe::new(id, bytes, now), now);
        assert_conserved(&mut link, now);
        id += 3 * count as usize;
    }
    take_until(&mut link, NEVER - 1, &mut out);
    let stats = link.stats(NEVER);
    (out, stats)
}

/// No number is one of those that the probe stores apart.
const fn number(probe: &mut Probe, place: u32) {
    probe.id += 3 * place as usize;
}

proptest! {
    #[test]
    fn a_burst_does_what_its_packets_do_one_by_one(
        parts in parts(),
        constant in prop::option::of((0_u64..30_000_000, 1_000_u64..1_000_000_000)),
        offset in 0_u64..30_000_000,
        losses in [prop_oneof![3 => Just(0.0), 1 => 0.0..0.3_f64], prop_oneof![3 => Just(0.0), 1 => 0.0..0.3_f64]],
        jitter in prop_oneof![3 => Just(0), 1 => 0_u64..50_000],
        (discards, observed) in (any::<bool>(), prop::bool::weighted(0.1)),
        limit in limits(),
        bursts in offers(),
    ) {
        let link = || {
            let schedule = match constant {
                Some((delay, rate)) => Schedule::constant(delay, rate),
                None => Schedule::traced(trace(&parts, losses[0]), Direction::Uplink, None, offset),
            };
            let link = Link::new(schedule, limit, Loss::new(losses[1], 1), Jitter::new(jitter, 2));
            let link = if discards { link.discarding_in_outages() } else { link };
            if observed { link.observed() } else { link }
        };
        let together = drive_bursts(link(), &bursts, |link, count, first, now| link.offer_burst(count, first, now, number));
        let singly = drive_bursts(link(), &bursts, |link, count, first, now| {
            for place in 0..count {
                let mut probe = first;
                number(&mut probe, place);
                link.offer(probe, now);
            }
        });
        prop_assert_eq!(together, singly);
    }

    #[test]
    fn behind_every_discipline_bursts_leave_as_single_packets_do_from_a_link_that_catches_up_at_each_poll(
        parts in parts(),
        offset in 0_u64..30_000_000,
        kind in 0_usize..8,
        losses in [prop_oneof![3 => Just(0.0), 1 => 0.0..0.3_f64], prop_oneof![3 => Just(0.0), 1 => 0.0..0.3_f64]],
        jitter in prop_oneof![3 => Just(0), 1 => 0_u64..50_000],
        discards in any::<bool>(),
        bursts in offers(),
    ) {
        // At very low rates a packet takes hours, during which controllers update every 15 ms.
        let parts: Vec<Part> =
            parts.iter().map(|&part| (part.0, part.1, if part.2 < 100_000 { 0 } else { part.2 }, part.3)).collect();
        let link = || {
            let schedule = Schedule::traced(trace(&parts, losses[0]), Direction::Uplink, None, offset);
            let link = Link::new(schedule, DropTail::INFINITE, Loss::new(losses[1], 1), Jitter::new(jitter, 2));
            let link = if discards { link.discarding_in_outages() } else { link };
            link.managed_by(managed(kind))
        };
        let together = drive_bursts(link(), &bursts, |link, count, first, now| link.offer_burst(count, first, now, number));
        let singly = drive_bursts(link().with_changing_delay(), &bursts, |link, count, first, now| {
            for place in 0..count {
                let mut probe = first;
                number(&mut probe, place);
                link.offer(probe, now);
            }
        });
        prop_assert_eq!(together, singly);
    }
}
